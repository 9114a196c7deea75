import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import {
  ask,
  connectAccount,
  connectAll,
  type JournalEntry as Entry,
  eventually,
  hubIdsOf,
  journalOf,
} from '../support/fleet.ts'
import { at, type JournalEntry, lookInto } from '../support/look-into.ts'
import { openScene, pauses, type Scene, sceneFor } from '../support/scene.ts'

// What the whole fleet suffers from; pains.test.ts lists which test shows what.

let scene: Scene
const { accountOf, control, addFault, faultMet, refreshesOf, told, statesOf, refreshedSince } = lookInto(() => scene)

describe('the whole fleet, lives of 12 seconds', () => {
  const LIFE_MS = 12_000
  const ACCOUNTS = 30
  let daemon: Daemon
  let hubIds: number[]
  beforeAll(async () => {
    scene = await openScene({ accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS })
    daemon = await scene.daemon({ limits: { every: '5s' } })
    hubIds = await hubIdsOf(scene.sandbox.url)
    await connectAll(daemon.url, hubIds)
  })
  afterAll(() => scene.close())

  const refusesWrites = async (during: () => Promise<void>) => {
    const store = scene.redis.connect()
    await store.config('SET', 'min-replicas-to-write', '1')
    try {
      await during()
    } finally {
      await store.config('SET', 'min-replicas-to-write', '0')
    }
  }

  test('a new token was obtained and could not be saved: it is kept until it can be', async () => {
    const [hubId = 0] = hubIds
    await addFault({ endpoint: 'token', hubId, after: true, delayMs: 1_500, times: 1 })
    await faultMet(hubId)
    await refusesWrites(async () => {
      await daemon.line(new RegExp(`"token\\.not-stored","hubId":${hubId}\\b`), 0)
    })
    await refreshedSince(hubIds, Date.now())
    expect((await journalOf(scene.sandbox.url)).filter(({ status }) => status >= 400)).toEqual([])
    expect(await statesOf(daemon)).toEqual({ active: ACCOUNTS })
    expect(await told()).toEqual([])
  })

  test('a new token was obtained and Redis was gone: it is stored once Redis is back', async () => {
    const [, hubId = 0] = hubIds
    await addFault({ endpoint: 'token', hubId, after: true, delayMs: 1_500, times: 1 })
    await faultMet(hubId)
    const asked = Date.now()
    await scene.redis.end('SIGKILL')
    await eventually('the answer', async () => (await refreshesOf(hubId)).some((entry) => at(entry) > asked - 1_000))
    await scene.redis.again()
    await refreshedSince(hubIds, Date.now())
    expect((await journalOf(scene.sandbox.url)).filter(({ status }) => status >= 400)).toEqual([])
    expect(await statesOf(daemon)).toEqual({ active: ACCOUNTS })
  })

  test('the lifetime follows expires_in also when the provider changes it', async () => {
    const changed = Date.now()
    const lifeMs = 8_000
    await control('PUT', 'token-lifetime', { ms: lifeMs })
    await refreshedSince(hubIds, changed)
    const since = Date.now()
    await refreshedSince(hubIds, since, 2)
    const journal = (await journalOf(scene.sandbox.url)).filter((entry) => at(entry) > since)
    expect(pauses(journal, Date.now()).shortest).toBeGreaterThan(lifeMs * 0.25)
    expect(journal.filter(({ status }) => status === 401)).toEqual([])
    const { obtainedAt, expiresAt, nextRefreshAt } = (await accountOf(daemon, hubIds[0] as number)).token
    expect(Date.parse(expiresAt) - Date.parse(obtainedAt)).toBe(lifeMs)
    expect(Date.parse(expiresAt) - Date.parse(nextRefreshAt)).toBeGreaterThan(0)
    await control('PUT', 'token-lifetime', { ms: LIFE_MS })
  })

  test('a 429 of the token endpoint: all stay away for as long as it says, and no account is blamed', async () => {
    const since = Date.now()
    await addFault({ endpoint: 'token', status: 429, headers: { 'Retry-After': 2 }, times: 1 })
    await refreshedSince(hubIds, since)
    const asked = (await journalOf(scene.sandbox.url)).filter((e) => e.endpoint === 'token' && at(e) >= since)
    const refused = asked.filter(({ status }) => status !== 200)
    expect(refused).toMatchObject([{ status: 429 }])
    const after = asked.map((entry) => at(entry) - at(refused[0] as Entry)).filter((ms) => ms > 0)
    // Those that were on their way at that moment are no disobedience.
    expect(after.filter((ms) => ms > 300 && ms < 1_900)).toEqual([])
    expect(await statesOf(daemon)).toEqual({ active: ACCOUNTS })
    expect(await told()).toEqual([])
  })

  test('a token endpoint that allows less than the fleet would ask at once: the pace is learnt', async () => {
    const since = Date.now()
    await control('PUT', 'token-limit', { requests: 6, perMs: 1_000 })
    await refreshedSince(hubIds, since, 2)
    await control('DELETE', 'token-limit')
    const asked = (await journalOf(scene.sandbox.url)).filter((e) => e.endpoint === 'token' && at(e) >= since)
    const refused = asked.filter(({ status }) => status === 429)
    expect(asked.filter(({ status }) => status !== 200 && status !== 429)).toEqual([])
    expect(refused.length / asked.length).toBeLessThan(0.2)
    expect(await statesOf(daemon)).toEqual({ active: ACCOUNTS })
    expect(await told()).toEqual([])
  })

  test('a mass failure is not mistaken for mass uninstall: all refresh tokens refused for longer than they live', async () => {
    await addFault({ endpoint: 'token', status: 400 })
    // On a slow machine there may be others: of tokens that expired before their refresh.
    const fleetAlerts = async () => (await told()).filter(({ cause }) => cause === 'refused')
    await eventually('the alert', async () => (await fleetAlerts()).length > 0)
    // The subject itself: for longer than a single account would be believed.
    await pause(LIFE_MS + 2_000)
    const [alert] = await fleetAlerts()
    const opened = Date.parse(alert?.measuredAt ?? '') + 500
    const asked = (await journalOf(scene.sandbox.url)).filter(({ endpoint }) => endpoint === 'token')
    // Those that were on their way at that moment have arrived by then; what comes now is a probe.
    expect(asked.filter((entry) => at(entry) > opened).length).toBeLessThanOrEqual(ACCOUNTS / 2)
    const states = await statesOf(daemon)
    expect(Object.keys(states).filter((state) => !['active', 'failing'].includes(state))).toEqual([])
    expect(states.failing ?? 0).toBeLessThanOrEqual(10)
    expect(await fleetAlerts()).toMatchObject([
      { level: 'critical', message: expect.stringContaining('refresh tokens of many accounts refused at once') },
    ])

    await control('DELETE', 'faults')
    await refreshedSince(hubIds, Date.now())
    await eventually('all active', async () => (await statesOf(daemon)).active === ACCOUNTS)
    await eventually('told that it is over', async () => (await fleetAlerts()).at(-1)?.status === 'resolved')
    expect((await told()).filter(({ kind }) => kind === 'token')).toEqual([])
    expect((await journalOf(scene.sandbox.url)).filter(({ endpoint }) => endpoint === 'delete')).toEqual([])
  })
})

test.concurrent.for(['v1', '2026-03'] as const)(
  '%s ends: the API version is changed by SIGHUP under load, and no token is lost or late',
  async (api, context) => {
    const ACCOUNTS = 40
    const scene = await sceneFor(context, { accounts: ACCOUNTS, tokenLifetimeMs: 20_000 })
    const { control, inState, refreshedSince } = lookInto(() => scene)
    const [leaving = 0, dead = 0, newcomer = 0, ...staying] = await hubIdsOf(scene.sandbox.url)
    const file = await scene.configFile({ provider: { api }, limits: { every: '2s' } })
    const daemon = await startDaemon(file)
    context.onTestFinished(() => daemon.stop().then(() => undefined))
    await connectAll(daemon.url, [leaving, dead, ...staying])
    await control('DELETE', `accounts/${dead}`)
    await inState(daemon, dead, 'reauthorize')
    await refreshedSince([leaving, ...staying], Date.now())

    const since = Date.now()
    writeFileSync(file, readFileSync(file, 'utf8').replace(`"api": "${api}"`, '"api": "2026-09"'))
    daemon.child.kill('SIGHUP')
    const reloaded = JSON.parse(await daemon.line(/"config\.(reloaded|refused)"/, 0))
    expect(reloaded).toMatchObject({ applied: ['provider.api'], restart: [] })
    await refreshedSince([leaving, ...staying], since, 2)
    await connectAccount(daemon.url, newcomer)
    await ask(`${daemon.url}/api/v1/accounts/${leaving}/uninstall`, { method: 'POST' })
    await inState(daemon, leaving, 'uninstalled')
    await eventually('a poll of the newcomer', async () =>
      (await journalOf(scene.sandbox.url)).some(
        ({ hubId, endpoint }) => hubId === newcomer && endpoint === 'associations',
      ),
    )
    const journal = (await journalOf(scene.sandbox.url)).filter(({ hubId }) => hubId !== dead) as JournalEntry[]
    // An expired token answers 401, a refused one 400.
    expect(journal.filter(({ status }) => status >= 400)).toEqual([])
    // What is asked a moment later is asked in the new version.
    const later = journal.filter((entry) => entry.api !== undefined && at(entry) > Date.parse(reloaded.time) + 1_000)
    expect([...new Set(later.map((entry) => entry.api))]).toEqual(['2026-09'])
    const deleted = journal
      .filter(({ endpoint }) => endpoint === 'delete')
      .map(({ hubId, ...entry }) => [hubId, entry.api])
    expect(new Set(deleted.map(String))).toEqual(new Set([`${leaving},2026-09`]))
    // A changed version is no reason to ask for the dead one again.
    expect((await journalOf(scene.sandbox.url)).filter((entry) => entry.hubId === dead && at(entry) > since)).toEqual(
      [],
    )
  },
)

test.concurrent('accounts that hang, fail or are dead do not starve the others', async (context) => {
  const LIFE_MS = 30_000
  const scene = await sceneFor(context, { accounts: 60, tokenLifetimeMs: LIFE_MS })
  const { control, addFault, told, statesOf, refreshedSince } = lookInto(() => scene)
  const daemon = await scene.daemon({ limits: { every: '1h' } })
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  // Fewer of each kind than would be a trouble of the whole fleet.
  const [hanging, failing, dead, well] = [[0, 4], [4, 8], [8, 14], [14]].map(([from, to]) => hubIds.slice(from, to))
  for (const hubId of hanging ?? []) await addFault({ endpoint: 'token', hubId, delayMs: 60_000 })
  for (const hubId of failing ?? []) await addFault({ endpoint: 'token', hubId, status: 500 })
  for (const hubId of dead ?? []) await control('DELETE', `accounts/${hubId}`)
  await refreshedSince(well ?? [], Date.now(), 2)
  const ofWell = (await journalOf(scene.sandbox.url)).filter(({ hubId }) => well?.includes(hubId ?? 0))
  expect(pauses(ofWell, Date.now()).longest).toBeLessThan(LIFE_MS)
  expect(await statesOf(daemon)).toEqual({ active: 46, failing: 8, reauthorize: 6 })
  expect((await told()).filter(({ kind }) => kind === 'fleet')).toEqual([])
})
