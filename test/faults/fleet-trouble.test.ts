import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  connectAll,
  eventually,
  getJson,
  hooksOf,
  hubIdsOf,
  type JournalEntry,
  journalOf,
  send,
} from '../support/fleet.ts'
import { say } from '../support/say.ts'
import { refreshTimes, type Scene, sceneFor } from '../support/scene.ts'

/** Side by side: each mostly waits for tokens to be due. PLIMSOLL_FULL=1 runs these at full size: 1,000 and 5,000 accounts, troubles of a minute and of ten. */
const FULL = process.env.PLIMSOLL_FULL === '1'

const tokenRequests = (journal: readonly JournalEntry[], since: number) =>
  journal.filter(({ endpoint, time }) => endpoint === 'token' && Date.parse(time) >= since)

/** The most requests within any minute. */
function mostInAMinute(requests: readonly JournalEntry[]): number {
  const times = requests.map(({ time }) => Date.parse(time))
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + 60_000).length))
}

const fleetAlerts = async (scene: Scene) =>
  (await hooksOf(scene.sandbox.url)).flatMap(({ body }) => body.data.alerts).filter(({ kind }) => kind === 'fleet')

async function statesOf(url: string): Promise<Record<string, number>> {
  const { accounts } = await getJson<{ accounts: { byState: Record<string, number> } }>(`${url}/api/v1/status`)
  return Object.fromEntries(Object.entries(accounts.byState).filter(([, count]) => count > 0))
}

async function trouble(scene: Scene, fault: object, lastsMs: number): Promise<{ since: number; until: number }> {
  const since = Date.now()
  await send(`${scene.sandbox.url}/sandbox/faults`, 'POST', { endpoint: 'token', ...fault })
  // The subject itself: how the fleet fares for so long.
  await pause(lastsMs)
  await send(`${scene.sandbox.url}/sandbox/faults`, 'DELETE')
  return { since, until: Date.now() }
}

const refreshedSince = (scene: Scene, hubIds: readonly number[], since: number) => async () => {
  const times = refreshTimes(await journalOf(scene.sandbox.url))
  return hubIds.every((hubId) => times.get(hubId)?.some((at) => at > since))
}

test.concurrent('a wrong client secret is one alert and a trickle of requests, and all accounts are well soon after the fix', async (context) => {
  const accounts = FULL ? 1_000 : 300
  const scene = await sceneFor(context, { accounts, tokenLifetimeMs: 30_000 })
  const daemon = await scene.daemon()
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  await eventually('refreshes under way', async () => refreshTimes(await journalOf(scene.sandbox.url)).size > 20)

  const refused = {
    error: 'invalid_client',
    error_description: 'missing or invalid client secret',
    status: 'BAD_CLIENT_SECRET',
    message: 'missing or invalid client secret',
  }
  const { since, until } = await trouble(scene, { status: 400, body: refused }, FULL ? 90_000 : 25_000)
  const [alert, ...others] = await fleetAlerts(scene)
  expect(others).toEqual([])
  expect(alert).toMatchObject({ status: 'firing', level: 'critical', reason: 'entered' })
  expect(alert?.message).toMatch(/provider\.clientSecret/)
  expect(Date.parse(alert?.measuredAt ?? '') - since).toBeLessThan(20_000)
  const asked = tokenRequests(await journalOf(scene.sandbox.url), since).filter(({ time }) => Date.parse(time) <= until)
  expect(mostInAMinute(asked)).toBeLessThan(60)
  expect(await statesOf(daemon.url)).toEqual({ active: accounts })

  await eventually('all refreshed', refreshedSince(scene, hubIds, until))
  say(
    `${accounts} accounts: ${asked.length} token requests in ${Math.round((until - since) / 1000)} s of trouble, at most ` +
      `${mostInAMinute(asked)} in a minute; all refreshed ${((Date.now() - until) / 1000).toFixed(1)} s after the fix`,
  )
  expect(await statesOf(daemon.url)).toEqual({ active: accounts })
  await eventually('told that it is over', async () =>
    (await fleetAlerts(scene)).some(({ status }) => status === 'resolved'),
  )
  expect(
    (await hooksOf(scene.sandbox.url)).flatMap(({ body }) => body.data.alerts).map(({ kind }) => kind),
  ).not.toContain('token')
})

test.concurrent('a provider that is down changes no account for good; when it is back, those nearest to expiry come first', {
  timeout: 1_200_000,
}, async (context) => {
  const accounts = FULL ? 5_000 : 300
  const lifeMs = FULL ? 720_000 : 32_000
  const scene = await sceneFor(context, { accounts, tokenLifetimeMs: lifeMs })
  const limit = FULL ? 100 : 40
  const daemon = await scene.daemon({ limits: { every: '7d' } })
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  const connectedAt = Date.now()
  await send(`${scene.sandbox.url}/sandbox/token-limit`, 'PUT', { requests: limit, perMs: 1_000 })
  // Down from before the first is due until after the last was.
  const { since, until } = await trouble(scene, { status: 503, body: '<html>down</html>' }, FULL ? 600_000 : 27_000)
  expect(Date.now() - connectedAt).toBeGreaterThan(lifeMs * 0.8)
  const states = await statesOf(daemon.url)
  expect(Object.keys(states).filter((state) => !['active', 'failing'].includes(state))).toEqual([])

  await eventually('all refreshed', refreshedSince(scene, hubIds, until), (accounts / limit) * 1_000 * 3 + 75_000)
  const journal = await journalOf(scene.sandbox.url)
  const after = tokenRequests(journal, until)
  const obtained = new Map<number, number>()
  for (const { endpoint, hubId, time, status } of journal) {
    const at = Date.parse(time)
    if (endpoint === 'token' && status === 200 && hubId !== null && at < until) obtained.set(hubId, at)
  }
  // First attempts, not successes: who is refused with 429 comes again later, whatever its turn was. And healthy ones:
  // who had failed before the breaker opened, or was a probe, gives way to those.
  const tried = new Set(
    tokenRequests(journal, since).flatMap(({ hubId, time }) => (Date.parse(time) < until ? [hubId] : [])),
  )
  // A set keeps the order in which each came first.
  const order = [...new Set(after.map(({ hubId }) => hubId))].flatMap((hubId) =>
    hubId === null || tried.has(hubId) ? [] : [obtained.get(hubId) ?? 0],
  )
  // Everybody lives equally long, so nearest to expiry is obtained first. How far from the sorted order, on average?
  const sorted = [...order].sort((a, b) => a - b)
  const rank = new Map(sorted.map((at, n) => [at, n]))
  const off = order.reduce((sum, at, n) => sum + Math.abs((rank.get(at) ?? 0) - n), 0) / order.length / order.length
  const refused = after.filter(({ status }) => status === 429).map(({ time }) => Date.parse(time))
  const learntAt = (refused[0] ?? 0) + 1_000
  const later = refused.filter((at) => at > learntAt).length
  const seconds = (Math.max(...after.map(({ time }) => Date.parse(time))) - until) / 1000
  say(
    `${accounts} accounts, ${limit} requests a second allowed: all refreshed ${seconds.toFixed(1)} s after the provider was ` +
      `back, ${refused.length - later} answers 429 to learn the limit and ${later} later, ` +
      `mean distance from the order of expiry ${(off * 100).toFixed(1)} %`,
  )
  // Chance alone would give 33 %, two chunks that mix 18 %; seen: 1 %, and 11 % once on a machine with 20 jobs waiting.
  expect(off).toBeLessThan(0.15)
  // Those that were under way when the first was refused; 64 may be.
  expect(refused.length - later).toBeLessThanOrEqual(2 * limit)
  expect(later / after.length).toBeLessThan(0.1)
  expect(await statesOf(daemon.url)).toEqual({ active: accounts })
})
