import { describe, expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import {
  ask,
  connectAccount,
  connectAll,
  eventually,
  getJson,
  hooksOf,
  hubIdsOf,
  journalOf,
  send,
} from '../support/fleet.ts'
import { refreshTimes, type Scene, sceneFor } from '../support/scene.ts'

describe('an uninstall', () => {
  interface Told {
    state: string
    uninstall: { attempts: number; failure: string | null; ending: string | null; purgeAt: string | null } | null
    story: { at: string; event: string; detail?: string }[]
  }

  const accountOf = (url: string, hubId: number) => getJson<Told>(`${url}/api/v1/accounts/${hubId}`)
  const uninstall = (url: string, hubId: number) => ask(`${url}/api/v1/accounts/${hubId}/uninstall`, { method: 'POST' })
  const addFault = (scene: Scene, fault: object) => send(`${scene.sandbox.url}/sandbox/faults`, 'POST', fault)

  /** Until the standing faults have met the calls they were for. */
  const faultsMet = (scene: Scene) =>
    eventually('the fault', async () => (await getJson<[]>(`${scene.sandbox.url}/sandbox/faults`)).length === 0)

  /** A lease and a claim of a daemon that was killed end by themselves, within a minute. */
  const isUninstalled = (url: string, hubId: number) =>
    eventually(
      'the end of the uninstall',
      async () => {
        const account = await accountOf(url, hubId)
        return account.state === 'uninstalled' && account
      },
      60_000,
    )

  async function deletionsOf(scene: Scene, hubId: number): Promise<number[]> {
    const entries = (await journalOf(scene.sandbox.url)).filter(({ endpoint }) => endpoint === 'delete')
    return entries.filter((entry) => entry.hubId === hubId || entry.hubId === null).map(({ status }) => status)
  }

  test.concurrent('a daemon that is killed between the deletion and its record leaves an uninstall that the next one ends', async (context) => {
    const scene = await sceneFor(context, { accounts: 1 })
    const [hubId = 0] = await hubIdsOf(scene.sandbox.url)
    const daemon = await scene.daemon()
    await connectAccount(daemon.url, hubId)
    await addFault(scene, { endpoint: 'delete', after: true, delayMs: 60_000, times: 1 })
    await uninstall(daemon.url, hubId)
    await faultsMet(scene)
    await daemon.kill()

    const next = await scene.daemon()
    const account = await isUninstalled(next.url, hubId)
    expect(account.uninstall).toMatchObject({ attempts: 1, failure: null, ending: 'was-gone' })
    expect(account.story.map(({ event }) => event).slice(-3)).toEqual([
      'uninstall requested',
      'refresh token deleted',
      'record deleted',
    ])
  })

  test.concurrent('an account that is connected again while its deletion fails stays, with tokens that work', async (context) => {
    const scene = await sceneFor(context, { accounts: 1 })
    const [hubId = 0] = await hubIdsOf(scene.sandbox.url)
    const daemon = await scene.daemon()
    await connectAccount(daemon.url, hubId)
    await addFault(scene, { endpoint: 'delete', status: 500 })
    await uninstall(daemon.url, hubId)
    await eventually('a failed attempt', async () => {
      const { story } = await accountOf(daemon.url, hubId)
      return story.some(({ event, detail = '' }) => event === 'deletion failed' && detail.includes('500'))
    })
    expect((await connectAccount(daemon.url, hubId)).status).toBe(200)
    await send(`${scene.sandbox.url}/sandbox/faults`, 'DELETE')
    const since = Date.now()
    await eventually('two refreshes', async () => {
      const times = refreshTimes(await journalOf(scene.sandbox.url)).get(hubId) ?? []
      return times.filter((time) => time > since).length >= 2
    })
    expect(await accountOf(daemon.url, hubId)).toMatchObject({ state: 'active', uninstall: null })
    expect((await deletionsOf(scene, hubId)).filter((status) => status === 204)).toEqual([])
  })

  test.concurrent('a refresh under way is waited for, and the token that it brought is the one that is deleted', async (context) => {
    const scene = await sceneFor(context, { accounts: 1 })
    const [hubId = 0] = await hubIdsOf(scene.sandbox.url)
    const daemon = await scene.daemon()
    await connectAccount(daemon.url, hubId)
    await addFault(scene, { endpoint: 'token', hubId, after: true, delayMs: 2_000, times: 1 })
    await faultsMet(scene)
    await uninstall(daemon.url, hubId)
    const { uninstall: ended } = await isUninstalled(daemon.url, hubId)
    // The token before it was ended by the rotation: deleting that one alone would have been a 404.
    expect(ended).toMatchObject({ ending: 'deleted' })
    expect((await deletionsOf(scene, hubId)).at(-1)).toBe(204)
  })

  test.concurrent('a refresh token that has been refused for as long as the config says is an uninstall', async (context) => {
    const scene = await sceneFor(context, { accounts: 1 })
    const [hubId = 0] = await hubIdsOf(scene.sandbox.url)
    const daemon = await scene.daemon({ uninstall: { afterRefused: '1h' } })
    await connectAccount(daemon.url, hubId)
    await send(`${scene.sandbox.url}/sandbox/accounts/${hubId}`, 'DELETE')
    await eventually('reauthorize', async () => (await accountOf(daemon.url, hubId)).state === 'reauthorize')

    // As if that had been long ago, and the daily probe were due now.
    const keys = createKeys('plimsoll')
    const store = scene.redis.connect()
    const longAgo = Date.now() - 2 * 3_600_000
    await store.hset(keys.account(hubId).account, { rejectedAt: longAgo, retryAt: longAgo })
    await store.zadd(keys.partition(keys.partitionOf(hubId)).due.refresh, longAgo, hubId)
    expect(await isUninstalled(daemon.url, hubId)).toMatchObject({
      uninstall: {
        by: 'evidence',
        reason: expect.stringMatching(/^refresh token refused since 20/),
        ending: 'was-gone',
      },
    })
  })

  test.concurrent('where nothing is kept an uninstalled account is unknown as soon as its token is deleted', async (context) => {
    const scene = await sceneFor(context, { accounts: 2 })
    const hubIds = await hubIdsOf(scene.sandbox.url)
    const [leaving = 0, staying = 0] = hubIds
    const daemon = await scene.daemon({ uninstall: { keep: 0 } })
    await connectAll(daemon.url, hubIds)
    await uninstall(daemon.url, leaving)
    await eventually('nothing left', async () => {
      const { status } = await ask(`${daemon.url}/api/v1/accounts/${leaving}`)
      return status === 404
    })
    expect(await deletionsOf(scene, leaving)).toEqual([204])
    expect(await accountOf(daemon.url, staying)).toMatchObject({ state: 'active' })
  })
})

describe('an account that is deleted', () => {
  const stateOf = async (url: string, hubId: number) =>
    (await getJson<{ state: string }>(`${url}/api/v1/accounts/${hubId}`)).state

  const alertsOf = async ({ sandbox }: Scene) => (await hooksOf(sandbox.url)).flatMap(({ body }) => body.data.alerts)

  const deleteAtTheProvider = ({ sandbox }: Scene, hubId: number) =>
    send(`${sandbox.url}/sandbox/accounts/${hubId}?hub=deleted`, 'DELETE')

  const breakerOf = async (url: string) =>
    (await getJson<{ tokenEndpoint: { breaker: string; cause: string | null } | null }>(`${url}/api/v1/status`))
      .tokenEndpoint

  test("an account that was deleted at the provider must be connected again, and is nobody else's trouble", {
    timeout: 120_000,
  }, async (context) => {
    const scene = await sceneFor(context, { accounts: 4 })
    const daemon = await scene.daemon()
    const hubIds = await hubIdsOf(scene.sandbox.url)
    await connectAll(daemon.url, hubIds)
    const [gone = 0, ...others] = hubIds
    await deleteAtTheProvider(scene, gone)

    await eventually('the refusal confirmed', async () => (await stateOf(daemon.url, gone)) === 'reauthorize', 60_000)
    const told = await eventually('its alert', async () =>
      (await alertsOf(scene)).find(({ kind, account }) => kind === 'token' && account?.hubId === gone),
    )
    expect(told).toMatchObject({ status: 'firing', level: 'critical' })
    expect(told.message).toContain('hub is deleted or disconnected')
    const codes = daemon.lines.flatMap((line) => /"code":"(token\.\w+)"/.exec(line)?.[1] ?? [])
    expect(codes[0]).toBe('token.rejected')
    expect(codes).not.toContain('token.client')
    expect(await Promise.all(others.map((hubId) => stateOf(daemon.url, hubId)))).toEqual(['active', 'active', 'active'])
    expect(await breakerOf(daemon.url)).toMatchObject({ breaker: 'closed' })
    expect((await alertsOf(scene)).map(({ kind }) => kind)).not.toContain('fleet')
  })

  test('all accounts deleted at once are one trouble of the fleet, and none is given up', {
    timeout: 120_000,
  }, async (context) => {
    const scene = await sceneFor(context, { accounts: 12 })
    const daemon = await scene.daemon()
    const hubIds = await hubIdsOf(scene.sandbox.url)
    await connectAll(daemon.url, hubIds)
    await Promise.all(hubIds.map((hubId) => deleteAtTheProvider(scene, hubId)))

    const told = await eventually('the fleet alert', async () =>
      (await alertsOf(scene)).find(({ kind }) => kind === 'fleet'),
    )
    expect(told.message).toContain('refresh tokens of many accounts refused at once')
    expect(await breakerOf(daemon.url)).toMatchObject({ breaker: 'open', cause: 'refused' })
    expect((await alertsOf(scene)).filter(({ kind }) => kind === 'token')).toEqual([])
    const states = new Set(await Promise.all(hubIds.map((hubId) => stateOf(daemon.url, hubId))))
    expect([...states].filter((state) => !['active', 'failing'].includes(state))).toEqual([])
  })
})
