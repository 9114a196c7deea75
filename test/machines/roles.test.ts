import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plimsoll } from '../support/command.ts'
import type { Daemon } from '../support/daemon.ts'
import { ask, connectAll, eventually, getJson, hubIdsOf } from '../support/fleet.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { say } from '../support/say.ts'
import { allRefreshedSince, type Fleet, openFleet, statesOf, whatProviderSaw } from './open-fleet.ts'

/** One machine that ticks, one that serves pages, two that work; then one of these dies and two more come. */
const ACCOUNTS = 1_200
/** A token is refreshed half of it ahead: as long as a machine that starts two daemons beside may keep another waiting. */
const LIFE_MS = 36_000
/** Watched for so long that most accounts are refreshed in it: hundreds for each worker. */
const WATCH_MS = 24_000
/**
 * Of a fair share, while a machine of two cores runs all of them and the provider too: who asks for a job first has it, with
 * up to 200 accounts at once, and one that has just started asks less often.
 */
const [LEAST, MOST] = [0.4, 1.8]
const SETTINGS = { limits: { every: '2m' }, schedule: { refreshTokens: '* * * * * *', pollLimits: '*/5 * * * * *' } }

let redis: RedisServer
let fleet: Fleet
let clock: Daemon
let web: Daemon
const workers: Daemon[] = []
let hubIds: number[]

const start = (roles: string) => fleet.daemon({ roles, settings: SETTINGS })

beforeAll(async () => {
  redis = await startRedis()
  fleet = await openFleet(
    { url: redis.url },
    { accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS, rotateRefreshTokens: true },
  )
  clock = await start('clock')
  web = await start('web')
  workers.push(await start('worker'), await start('worker'))
  hubIds = await hubIdsOf(fleet.sandbox.url)
  await connectAll(web.url, hubIds)
})
afterAll(async () => {
  await fleet?.close()
  await redis?.stop()
})

/** How many tokens each worker refreshed while it was watched. */
async function refreshedWhile(watched: readonly Daemon[], ms: number): Promise<number[]> {
  const before = await Promise.all(watched.map(refreshedBy))
  await pause(ms) // The subject itself: who does how much meanwhile.
  const after = await Promise.all(watched.map(refreshedBy))
  return after.map((count, n) => count - (before[n] ?? 0))
}

async function refreshedBy({ url }: Daemon): Promise<number> {
  const text = await (await ask(`${url}/metrics`)).text()
  return Number(/^plimsoll_token_refreshes_total\{outcome="refreshed"\} (\d+)/m.exec(text)?.[1] ?? 0)
}

function expectAllAtWork(counts: readonly number[], says: string): void {
  const fair = counts.reduce((sum, count) => sum + count, 0) / counts.length
  say(`${says}: ${counts.map((count) => `${Math.round((count / fair) * 100)} %`).join(', ')} of a fair share`)
  expect(fair).toBeGreaterThan((ACCOUNTS / counts.length) * 0.7)
  for (const count of counts) {
    expect(count / fair).toBeGreaterThan(LEAST)
    expect(count / fair).toBeLessThan(MOST)
  }
}

test('two workers share the refreshes, and no token expires', async () => {
  // From the first refresh of the last one on: before it they do what connecting them left.
  await allRefreshedSince(fleet, hubIds, Date.now())
  expectAllAtWork(await refreshedWhile(workers, WATCH_MS), 'two workers')
  expect(await whatProviderSaw(fleet.sandbox)).toMatchObject({ refused: [], expired: 0 })
  expect(await statesOf(web.url)).toEqual({ active: ACCOUNTS })
})

test('one worker is killed and two are added under load: all of them work, no token expires, none is redeemed twice', async () => {
  const [victim] = workers.splice(0, 1)
  const killedAt = Date.now()
  await victim?.kill()
  workers.push(...(await Promise.all([start('worker'), start('worker')])))
  await allRefreshedSince(fleet, hubIds, killedAt)
  expectAllAtWork(await refreshedWhile(workers, WATCH_MS), 'three workers')
  const { refused, expired, shortest, longest } = await whatProviderSaw(fleet.sandbox)
  say(`three workers: at most ${(longest / 1_000).toFixed(1)} s between two refreshes of an account`)
  expect({ refused, expired }).toEqual({ refused: [], expired: 0 })
  expect(longest).toBeLessThan(LIFE_MS)
  expect(shortest).toBeGreaterThan(LIFE_MS * 0.5 - 500)
})

test('each serves its probes, is judged by what it does, and only the one for pages has pages', async () => {
  const judgedBy = async ({ url }: Daemon) => {
    const { checks } = await getJson<{ checks: { name: string }[] }>(`${url}/healthz`)
    return [...new Set(checks.flatMap(({ name }) => /^(tick|sweep|queue|worker):/.exec(name)?.[1] ?? []))]
  }
  expect(await judgedBy(clock)).toEqual(['tick'])
  expect(await judgedBy(web)).toEqual([])
  expect(await judgedBy(workers[0] as Daemon)).toEqual(['queue', 'worker'])
  for (const { url } of [clock, ...workers]) {
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    expect((await fetch(url)).status).toBe(404)
    expect((await fetch(`${url}/install`, { redirect: 'manual' })).status).toBe(404)
  }
})

test('where the last worker, or the clock, is gone, status, page and doctor say so loudly', async () => {
  const config = await fleet.configFile(SETTINGS)
  // Each in a process of its own: this one is busy being the provider.
  const status = async () => {
    const { out, err } = await plimsoll(['status', '--config', config], fleet.folder)
    return out + err
  }
  expect(await status()).toMatch(/pid \d+: clock/)
  for (const worker of workers) await worker.stop()
  await eventually('the word of it', async () => (await status()).includes('NO WORKER is running'))
  expect(await (await ask(web.url)).text()).toContain('NO WORKER is running')
  await clock.stop()
  await eventually('the word of it', async () => (await status()).includes('NO CLOCK is running'))
  const { out } = await plimsoll(['doctor', '--config', config], fleet.folder)
  expect(out).toMatch(/daemon.*NO CLOCK is running/)
})
