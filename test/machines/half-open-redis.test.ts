import { afterAll, beforeAll, expect, test } from 'vitest'
import { SILENT_MS } from '../../src/redis/connect.ts'
import type { Daemon } from '../support/daemon.ts'
import { ask, connectAll, eventually, getJson, hubIdsOf, journalOf } from '../support/fleet.ts'
import { type HalfOpenProxy, type Silence, startHalfOpenProxy } from '../support/half-open-proxy.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { say } from '../support/say.ts'
import { allRefreshedSince, type Fleet, openFleet, statesOf, whatProviderSaw } from './open-fleet.ts'

const ACCOUNTS = 60
const LIFE_MS = 30_000

let redis: RedisServer
let proxy: HalfOpenProxy
let fleet: Fleet
let daemon: Daemon
let hubIds: number[]

beforeAll(async () => {
  redis = await startRedis()
  proxy = await startHalfOpenProxy(redis.port)
  const url = `redis://127.0.0.1:${proxy.port}`
  fleet = await openFleet({ url }, { accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS, rotateRefreshTokens: true })
  daemon = await fleet.daemon()
  hubIds = await hubIdsOf(fleet.sandbox.url)
  await connectAll(daemon.url, hubIds)
})
afterAll(async () => {
  await fleet?.close()
  await proxy?.stop()
  await redis?.stop()
})

/** Of those that polls make: one from each account every 2 s. */
async function firstPollAfter(since: number): Promise<number> {
  const poll = await eventually('a poll', async () =>
    (await journalOf(fleet.sandbox.url)).find(
      ({ time, endpoint }) => endpoint === 'customProperties' && Date.parse(time) > since,
    ),
  )
  return Date.parse(poll.time) - since
}

test.for<Silence>(['both ways', 'to the server', 'to the client'])(
  'every connection to Redis is forgotten on the way, %s: each is replaced, and no token is lost or late',
  async (silence) => {
    const connections = proxy.forgetOpen(silence)
    const since = Date.now()
    // What the daemon has in its hands at that moment goes on for a moment; then nothing does.
    const polls = firstPollAfter(since + 2_500)
    await eventually('a page', async () => (await ask(`${daemon.url}/api/v1/status`)).ok)
    const pageMs = Date.now() - since
    const pollMs = 2_500 + (await polls)
    say(
      `${connections} connections, nothing comes through ${silence}: pages after ${(pageMs / 1_000).toFixed(1)} s, ` +
        `polls after ${(pollMs / 1_000).toFixed(1)} s`,
    )
    expect(pageMs).toBeLessThan(SILENT_MS.pages + 2_500)
    expect(pollMs).toBeLessThan(SILENT_MS.waiting + 3_000)
    await allRefreshedSince(fleet, hubIds, since)
    expect(await statesOf(daemon.url)).toEqual({ active: ACCOUNTS })
    const { refused, expired, shortest, longest } = await whatProviderSaw(fleet.sandbox)
    expect({ refused, expired }).toEqual({ refused: [], expired: 0 })
    expect(longest).toBeLessThan(LIFE_MS)
    // Half a life is the beginning of the window: before that a token would be redeemed twice.
    expect(shortest).toBeGreaterThan(LIFE_MS * 0.5 - 500)
    const { alive } = await getJson<{ alive: boolean }>(`${daemon.url}/healthz`)
    expect(alive).toBe(true)
  },
)
