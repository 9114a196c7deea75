import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectWithCode, connectWithRefreshToken } from '../../src/accounts/connect-account.ts'
import { accountJobs, refreshNow } from '../../src/app/account-jobs.ts'
import { createProviderClient } from '../../src/provider/client.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { keepUnread, storeSealed } from '../../src/tokens/sealed-tokens.ts'
import { CUSTOM_PROPERTIES } from '../provider/connect-client.ts'
import { type Answer, type FarSide, json, raw, type SeenRequest, startFarSide } from '../support/far-side.ts'
import { live } from '../support/fleet-by-hand.ts'
import { HandClock } from '../support/hand-clock.ts'
import { runs } from '../support/runs.ts'
import { say } from '../support/say.ts'
import { type World, worldOfFile } from '../support/world.ts'

const world = worldOfFile()
const SECOND = 1_000
const MINUTE = 60 * SECOND
const LIFE = 60 * SECOND

/** Who is in the way, or not: what is answered instead of the provider's own. */
type Stranger = (request: SeenRequest, hubId: number) => Answer | undefined

interface Fleet {
  w: World
  accounts: number
  far: FarSide
  /** When each account got tokens, ms. */
  refreshed: Map<number, number[]>
  stranger: Stranger
}

/** Accounts whose calls go over HTTP to a provider that knows their tokens, each with its account's id in it. */
async function fleetOf(
  accounts: number,
  settings: Record<string, object> = {},
  secrets = ['hush-hush'],
): Promise<Fleet> {
  const far = await startFarSide()
  const clock = new HandClock()
  const client = createProviderClient({
    dialect: 'v1',
    baseUrl: far.url,
    clientId: 'my-app',
    clientSecrets: secrets.map((secret) => new Secret(secret)),
    redirectUri: 'https://plimsoll.example.com/oauth/callback',
    timeoutMs: 10_000,
    connections: 16,
    clock,
  })
  onTestFinished(async () => {
    await client.close()
    await far.stop()
  })
  const w = await world({ clock, settings, change: () => ({ provider: client }) })
  const fleet: Fleet = { w, accounts, far, refreshed: new Map(), stranger: () => undefined }
  far.answer = (request, response) => {
    const hubId = Number(/-(\d+)\b/.exec(`${request.headers.authorization ?? ''}${request.body}`)?.[1])
    const answer = fleet.stranger(request, hubId) ?? ownAnswer(fleet, request, hubId)
    answer(request, response)
  }
  for (let hubId = 1; hubId <= accounts; hubId++) {
    const tokens = { accessToken: `access-${hubId}`, refreshToken: `refresh-${hubId}` }
    // Spread, as a fleet is that has run for a while.
    const obtainedAt = clock.now() - Math.floor((LIFE * 0.5 * hubId) / accounts)
    await w.account({ hubId, hubDomain: `acme-${hubId}.example.com`, lifeMs: LIFE, obtainedAt, ...tokens })
  }
  return fleet
}

function ownAnswer({ w, refreshed }: Fleet, { path }: SeenRequest, hubId: number): Answer {
  if (!path.includes('/token')) return json(200, CUSTOM_PROPERTIES)
  refreshed.set(hubId, [...(refreshed.get(hubId) ?? []), w.clock.now()])
  return json(200, { access_token: `access-${hubId}`, refresh_token: `refresh-${hubId}`, expires_in: LIFE / SECOND })
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n)

describe('accounts in another data center', () => {
  const message = 'Hub N is unknown to this Hublet, but it appears to exist in Hublet eu1'
  const moved = json(488, { status: 'error', message, correlationId: 'c', correctHublet: 'eu1' })

  test('five of 25 make none of the other 20 late, and each is told once to be connected again', async () => {
    const fleet = await fleetOf(25)
    const { w } = fleet
    fleet.stranger = (_, hubId) => (hubId <= 5 ? moved : undefined)
    await live(w, 10 * MINUTE)

    const gaps = range(6, 25).map((hubId) => longestGap(fleet.refreshed.get(hubId) ?? [], w.clock.now()))
    expect(Math.max(...gaps)).toBeLessThan(LIFE)
    expect(w.codes()).not.toContain('token.expired')
    expect(w.codes()).not.toContain('endpoint.open')
    for (const hubId of range(6, 25)) expect(await w.of(hubId).record()).toMatchObject({ state: 'active' })

    const where = 'the account is in data center eu1: connect it again'
    for (const hubId of range(1, 5)) {
      expect(await w.of(hubId).record()).toMatchObject({ state: 'reauthorize', failureReason: where })
      const alerts = (await w.of(hubId).outbox()).filter(({ account }) => isOf(account, hubId))
      expect(alerts.map(({ message }) => message)).toEqual([expect.stringContaining(where)])
      // A few to be sure; the API as long as the access token is taken for good.
      expect(callsOf(fleet, '/token', hubId)).toBeLessThanOrEqual(5)
      expect(callsOf(fleet, '/limits', hubId)).toBeLessThanOrEqual(3)
    }
    const [alert] = await w.of(1).outbox()
    say(`alert: ${alert?.message}`)
    say(`account: ${(await w.of(1).record()).failureReason}`)
    say(`log: ${w.logged.lines().find(({ code }) => code === 'token.reauthorize')?.msg}`)
    say(`at most ${Math.max(...gaps) / SECOND} s between two refreshes of the other 20, of tokens that live 60 s`)
  })
})

describe('a client secret that is being changed', () => {
  const SECRETS = ['the-new-secret', 'the-old-secret']
  const message = 'missing or invalid client secret'
  const takes = (known: string | undefined) => (request: SeenRequest) => {
    if (!request.path.includes('/token')) return undefined
    const given = new URLSearchParams(request.body).get('client_secret') ?? ''
    if (given === known) return undefined
    return json(400, { status: 'BAD_CLIENT_SECRET', message: `${message} ${given}, not ${SECRETS.join(' or ')}` })
  }

  test('is tried after the other, and no log and no alert says a word', async () => {
    const fleet = await fleetOf(20, {}, SECRETS)
    const { w } = fleet
    // The one that works changes, and back.
    for (const known of ['the-old-secret', 'the-new-secret', 'the-old-secret']) {
      const before = fleet.far.seen.length
      fleet.stranger = takes(known)
      await live(w, 2 * MINUTE)
      const refused = fleet.far.seen
        .slice(before)
        .filter(({ path, body }) => path.includes('/token') && !body.includes(known))
      // At most one of each account: those under way until one had worked.
      expect(refused.length).toBeLessThanOrEqual(20)
    }
    const gaps = range(1, 20).map((hubId) => longestGap(fleet.refreshed.get(hubId) ?? [], w.clock.now()))
    expect(Math.max(...gaps)).toBeLessThan(LIFE)
    expect(w.codes()).not.toContain('endpoint.open')
    expect(JSON.stringify(w.logged.lines())).not.toMatch(/client.secret|-secret/i)
    expect((await alertsOf(fleet)).filter(({ kind }) => kind !== 'limit')).toEqual([])
  })

  test('where both are wrong, there is one alert of the fleet, without either', async () => {
    const fleet = await fleetOf(20, {}, SECRETS)
    const { w } = fleet
    fleet.stranger = takes(undefined)
    await live(w, 2 * MINUTE)
    const alerts = (await alertsOf(fleet)).filter(({ kind }) => kind === 'fleet')
    expect(alerts).toEqual([expect.objectContaining({ cause: 'credentials', status: 'firing' })])
    expect(alerts[0]?.message).toContain(message)
    expect(JSON.stringify([alerts, w.logged.lines()])).not.toMatch(/the-(new|old)-secret/)
    fleet.stranger = takes('the-old-secret')
    await live(w, 2 * MINUTE)
    expect(new Set(await statesOf(fleet))).toEqual(new Set(['active']))
    expect(w.codes()).toContain('endpoint.closed')
  })
})

describe('a firewall', () => {
  const title = 'Attention Required! | Cloudflare'
  const page = raw(403, `<!DOCTYPE html><title>${title}</title>`, { 'content-type': 'text/html' })

  test('that answers all accounts with 403 pages for ten minutes is one fleet alert, and nobody must connect again', async () => {
    const accounts = runs(40, 200)
    const fleet = await fleetOf(accounts, { limits: { every: '1m' } })
    const { w } = fleet
    await live(w, MINUTE)
    fleet.stranger = () => page
    await live(w, 10 * MINUTE)
    fleet.stranger = () => undefined
    const over = w.clock.now()
    const open = await alertsOf(fleet)
    expect(open.filter(({ kind }) => kind === 'token')).toEqual([])
    expect(open.filter(({ cause }) => cause === 'scopes' || cause === 'unauthorized')).toEqual([])
    const fleetAlerts = open.filter(({ kind }) => kind === 'fleet')
    expect(fleetAlerts).toHaveLength(1)
    expect(fleetAlerts[0]?.message).toContain(`A page of a firewall or proxy (403): ${title}`)
    for (const state of ['reauthorize', 'uninstalling']) expect(await statesOf(fleet)).not.toContain(state)

    const lastRefreshed = () => {
      const first = (hubId: number) => fleet.refreshed.get(hubId)?.find((at) => at > over)
      return Math.max(...range(1, accounts).map((hubId) => first(hubId) ?? Number.POSITIVE_INFINITY))
    }
    // The clock goes on while a call is waited for: on a busy machine a minute of it has fewer calls.
    for (let n = 0; n < 10 && lastRefreshed() === Number.POSITIVE_INFINITY; n++) await live(w, MINUTE)
    expect(lastRefreshed()).toBeLessThan(Number.POSITIVE_INFINITY)
    expect(new Set(await statesOf(fleet))).toEqual(new Set(['active']))
    say(`${accounts} accounts, ${fleetAlerts.length} fleet alert: ${fleetAlerts[0]?.message}`)
    say(`all refreshed ${(lastRefreshed() - over) / SECOND} s after its end`)
  })
})

describe('an answer with new tokens that can not be read', () => {
  const HUB = 1
  const who = { name: 'ann', via: 'token' } as const
  const tokensOf = (n: number) => ({ access_token: `access-1-${n}`, refresh_token: `refresh-1-${n}`, expires_in: 60 })
  const unreadable = (n: number) => Buffer.from(JSON.stringify(tokensOf(n))).toString('base64')

  /** One account; `answers` has what the token endpoint says to each refresh in turn, and the refresh tokens it saw. */
  async function accountWith(...answers: (string | object | Answer)[]) {
    const fleet = await fleetOf(1)
    const { w } = fleet
    const sent: (string | null)[] = []
    fleet.stranger = ({ path, body }) => {
      if (!path.includes('/token')) return undefined
      const answer = answers[sent.push(new URLSearchParams(body).get('refresh_token')) - 1]
      if (typeof answer === 'function') return answer as Answer
      return typeof answer === 'string' ? raw(200, answer) : json(200, answer ?? tokensOf(sent.length))
    }
    const refresh = () =>
      refreshNow(
        accountJobs(() => w.services, new AbortController().signal),
        w.services,
        HUB,
        who,
      )
    const alerts = async () => (await w.of(HUB).outbox()).filter(({ kind }) => kind === 'token')
    return { w, sent, refresh, alerts }
  }

  test('is kept sealed and told at once, and the refresh token is not sent again before an operator says so', async () => {
    const { w, sent, refresh, alerts } = await accountWith(tokensOf(1), unreadable(2))
    await live(w, 12 * MINUTE)
    const [file = ''] = sealedFiles(w)

    expect(sent).toEqual(['refresh-1', 'refresh-1-1'])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'latin1')).not.toMatch(new RegExp(`refresh-1|access-1|${unreadable(2).slice(0, 20)}`))
    expect(w.logged.text()).not.toMatch(/refresh-1-2|access-1-2/)
    expect(await w.of(HUB).record()).toMatchObject({ state: 'failing', failureClass: 'unreadable-answer' })
    const [alert, ...others] = await alerts()
    expect(others).toEqual([])
    expect(alert).toMatchObject({ status: 'firing', level: 'critical', cause: 'unreadable-answer' })
    expect(alert?.message).toContain(
      `it is kept sealed in ${file}. The refresh token is not used again until an operator`,
    )
    say(`alert: ${alert?.message}`)

    expect(await refresh()).toMatchObject({ is: 'refreshed' })
    expect(sent).toEqual(['refresh-1', 'refresh-1-1', 'refresh-1-1'])
    expect(await w.of(HUB).record()).toMatchObject({ state: 'active' })
    expect((await alerts()).at(-1)).toMatchObject({ status: 'resolved' })
    await storeSealed(w.services, w.config.dataDir)
    expect(sealedFiles(w)).toEqual([])
  })

  test('that a newer version can read is stored by its start, and the next refresh, at once, ends the alert', async () => {
    const { w, sent, alerts } = await accountWith(tokensOf(1), unreadable(2))
    await live(w, 2 * MINUTE)
    await storeSealed(w.services, w.config.dataDir)
    expect(sealedFiles(w)).toHaveLength(1)

    await keepReadable(w, HUB, JSON.stringify({ ...tokensOf(2), expires_in: 1_800 }))
    await storeSealed(w.services, w.config.dataDir)
    expect((await w.of(HUB).tokens()).refresh).toBe('refresh-1-2')
    expect(await w.of(HUB).record()).toMatchObject({ state: 'active' })
    await storeSealed(w.services, w.config.dataDir)
    expect(sealedFiles(w)).toEqual([])
    await live(w, SECOND)
    expect(sent).toEqual(['refresh-1', 'refresh-1-1', 'refresh-1-2'])
    expect((await alerts()).at(-1)).toMatchObject({ status: 'resolved' })
  })

  test('is tried again at once where refresh tokens are known to stay the same', async () => {
    const same = { ...tokensOf(1), refresh_token: 'refresh-1' }
    const { w, sent, alerts } = await accountWith(same, unreadable(2), same, same)
    await live(w, 2 * MINUTE)
    expect(sent.length).toBeGreaterThan(2)
    expect(await alerts()).toEqual([])
    expect(sealedFiles(w)).toEqual([])
  })

  test('whose refresh token is refused after that is one more message: its customer must connect it again', async () => {
    const refused = json(400, { status: 'BAD_REFRESH_TOKEN', message: 'not the newest' })
    const { w, refresh, alerts } = await accountWith(tokensOf(1), unreadable(2), ...Array(10).fill(refused))
    await live(w, 2 * MINUTE)
    expect(await refresh()).toMatchObject({ is: 'failed' })
    await live(w, MINUTE)
    expect(await w.of(HUB).record()).toMatchObject({ state: 'reauthorize' })
    const [first, second, ...others] = await alerts()
    expect([first?.cause, second?.cause, others]).toEqual(['unreadable-answer', undefined, []])
    expect(second).toMatchObject({ status: 'firing', level: 'critical' })
    expect(second?.message).toContain('Only a new connection helps')
  })
})

test.each([
  ['a code', (w: World) => connectWithCode(w.services, new Secret('code-1'))],
  ['a refresh token that is brought in', (w: World) => connectWithRefreshToken(w.services, new Secret('old-1'))],
])(
  'an answer to %s that can not be read is kept sealed, and a version that can read it goes on with it',
  async (_, connect) => {
    const { w, far } = await fleetOf(0)
    const tokens = JSON.stringify({ access_token: 'access-9', refresh_token: 'refresh-9', expires_in: 1_800 })
    far.answer = raw(200, Buffer.from(tokens).toString('base64'))
    expect(await connect(w)).toMatchObject({ is: 'failed', step: 'token', failure: { class: 'transient' } })
    const [file = ''] = sealedFiles(w)
    const line = w.logged.lines().find(({ code }) => code === 'install.unreadable')
    expect(line?.msg).toContain(`it is kept sealed in ${file}`)
    expect(`${readFileSync(file, 'latin1')}${w.logged.text()}`).not.toMatch(/refresh-9|access-9|code-1|old-1/)

    await keepReadable(w, 'the-grant', tokens)
    await storeSealed(w.services, w.config.dataDir)
    expect(await w.store.zrange(w.keys.grants.due, 0, '-1')).toEqual(['the-grant'])
    expect(sealedFiles(w)).toEqual([file])
  },
)

function sealedFiles({ config }: World): string[] {
  const folder = join(config.dataDir, 'answers')
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
}

/** As an earlier version kept it, which could not read it. */
async function keepReadable({ services, config, store, keys, clock }: World, holder: number | string, answer: string) {
  const version = (typeof holder === 'number' && (await store.hget(keys.own(holder), 'version'))) || '1000000'
  const body = new Secret(gzipSync(answer).toString('base64'))
  const sent = new Secret('refresh-1-1')
  keepUnread(services, config.dataDir, { holder, version, body, sent, sentAt: clock.now() })
}

/** Alerts of all accounts and of the fleet, in the order of their commits. */
async function alertsOf({ w: { store, keys } }: Fleet): Promise<Record<string, unknown>[]> {
  const entries = await store.xrange(keys.transitions, '-', '+')
  return entries.map(([, fields]) => JSON.parse(fields[1] ?? '').alert)
}

async function statesOf({ w, accounts }: Fleet): Promise<unknown[]> {
  const records = await Promise.all(range(1, accounts).map((hubId) => w.of(hubId).record()))
  return records.map(({ state }) => state)
}

function longestGap(times: readonly number[], until: number): number {
  return Math.max(...times.map((at, n) => (times[n + 1] ?? until) - at))
}

function isOf(account: unknown, hubId: number): boolean {
  return (account as { hubId?: number } | null)?.hubId === hubId
}

function callsOf({ far }: Fleet, path: string, hubId: number): number {
  const token = new RegExp(`-${hubId}\\b`)
  return far.seen.filter((one) => one.path.includes(path) && token.test(`${one.headers.authorization}${one.body}`))
    .length
}
