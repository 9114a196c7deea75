import { beforeAll, expect, test } from 'vitest'
import { connectAll, eventually, hubIdsOf, type JournalEntry, journalOf } from '../support/fleet.ts'
import { startRedis } from '../support/redis-server.ts'
import { say } from '../support/say.ts'
import { type Fleet, openFleet } from './open-fleet.ts'

/** Two daemons are started anew over a fleet that was polled before, with a period that is shorter than a poll may take. */
const ACCOUNTS = 40
const [CALLS, PER_MS] = [6, 4_000]
const BEFORE = { limits: { every: '2s', associations: pairsTo('0-2') } }
const AFTER = {
  limits: { every: '1s', associations: pairsTo('0-1', '0-2', '0-3', '0-5') },
  provider: { accountRate: { requests: CALLS, per: `${PER_MS / 1_000}s` } },
}
/** Watched until one account has made so many calls. */
const WATCHED = 60
/** Counted in calls, because all are slow on a busy machine: 20 s of one that is polled all the time, where a claim lasts for 60. */
const MOST_MEANWHILE = 30

let calls: Map<number, number[]>

function pairsTo(...types: string[]) {
  return types.map((to) => ({ from: '0-1', to }))
}

function callTimes(journal: readonly JournalEntry[]): Map<number, number[]> {
  const times = new Map<number, number[]>()
  for (const { endpoint, hubId, time } of journal) {
    if (hubId === null || (endpoint !== 'customProperties' && endpoint !== 'associations')) continue
    times.set(hubId, [...(times.get(hubId) ?? []), Date.parse(time)])
  }
  return times
}

beforeAll(async () => {
  const redis = await startRedis()
  const fleet: Fleet = await openFleet({ url: redis.url }, { accounts: ACCOUNTS, tokenLifetimeMs: 1_800_000 })
  try {
    const { url } = fleet.sandbox
    const seen = async (since = 0) => callTimes((await journalOf(url)).filter(({ time }) => Date.parse(time) >= since))
    const hubIds = await hubIdsOf(url)
    const before = [await fleet.daemon({ settings: BEFORE }), await fleet.daemon({ settings: BEFORE })]
    await connectAll(before[0]?.url ?? '', hubIds)
    await eventually('some polls of every account', async () => {
      const times = await seen()
      return hubIds.every((hubId) => (times.get(hubId)?.length ?? 0) > 4)
    })
    await Promise.all(before.map((daemon) => daemon.stop()))
    const restartedAt = Date.now()
    // The second one finds the first at work.
    await fleet.daemon({ settings: AFTER })
    await fleet.daemon({ settings: AFTER })
    await eventually(
      'an account with many calls',
      async () => [...(await seen(restartedAt)).values()].some((times) => times.length >= WATCHED),
      180_000,
    )
    calls = await seen(restartedAt)
  } finally {
    await fleet.close()
    await redis.stop()
  }
})

test('each account is polled: none waits for a claim to end that nobody works on', () => {
  expect(calls.size).toBe(ACCOUNTS)
  const all = [...calls.values()]
  const first = Math.min(...all.flat())
  const last = Math.max(...all.flat())
  let longest = 0
  for (const times of all) {
    for (const [n, until] of [...times, last].entries()) {
      const from = times[n - 1] ?? first
      longest = Math.max(longest, until - from)
      const meanwhile = Math.max(...all.map((others) => others.filter((at) => at > from && at < until).length))
      expect(meanwhile).toBeLessThanOrEqual(MOST_MEANWHILE)
    }
  }
  say(`the longest that an account was not polled: ${longest} ms`)
})

test('no account is asked more often than its share within any window, as the provider sees it', () => {
  const within = [...calls.values()].flatMap((times) =>
    times.map((from) => times.filter((at) => at >= from && at < from + PER_MS).length),
  )
  say(`at most ${Math.max(...within)} calls of an account in ${PER_MS} ms, where ${CALLS} are allowed`)
  expect(Math.max(...within)).toBeLessThanOrEqual(CALLS)
})
