import { expect, test } from 'vitest'
import type { Rule } from '../../src/alerts/evaluation/rules.ts'
import { readOpenAlerts } from '../../src/alerts/open-alerts.ts'
import { type PollResult, PollStore } from '../../src/limits/poll-store.ts'
import type { Watch } from '../../src/limits/watch/watch.ts'
import { HUB } from '../accounts/connected.ts'
import { properties } from '../limits/reports.ts'
import { outboxOf, seedAccount } from '../support/accounts.ts'
import { pollClaimed } from '../support/committed-poll.ts'
import { failure } from '../support/fake-provider.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'
import { alertSettings, EVERY_MS, pollWork } from './poll-work.ts'

const redis = redisOfFile()
const REPORT = properties(10, 100, { '0-1': [1, 9] })
const RULE: Rule = { name: 'api', on: 'api.bucket', warning: { percent: 80 }, critical: { remaining: 5 } }

/** An account whose bucket the test fills; a poll tells whether it took the fast path, and what is to be sent. */
/** `REFUSED USED/OF/INTERVAL/AT`. */
function keptText(kept: Watch['bucket']): string | null {
  if (kept === undefined) return null
  const { lastSeen: seen, refused } = kept
  return seen === undefined ? `${refused}` : `${refused} ${seen.used}/${seen.of}/${seen.intervalMs}/${seen.at}`
}

async function account(rules: Rule[]) {
  const keys = redis.freshKeys()
  const clock = new HandClock()
  let next: { used?: number; status?: number } = {}
  const bucket = () =>
    next.used === undefined ? {} : { bucket: { intervalMs: 10_000, max: 110, remaining: 110 - next.used } }
  const customProperties = async () =>
    next.status === undefined
      ? { ok: true as const, value: REPORT, ...bucket() }
      : { ...failure('transient', { status: next.status }), ...bucket() }
  let fast: boolean | undefined
  class SeenPolls extends PollStore {
    override commit(results: readonly PollResult[]) {
      fast = results[0]?.watch.seen !== undefined && results[0].more?.nearness === undefined
      return super.commit(results)
    }
  }
  const polls = new SeenPolls(redis.store, keys)
  const settings = { clock, polls }
  const own = keys.account(HUB)
  await seedAccount(redis.store, keys, { obtainedAt: clock.now(), lifeMs: 400 * 86_400_000 })
  return {
    clock,
    poll: async (provider: typeof next, asked = rules) => {
      clock.move(EVERY_MS)
      next = provider
      const { work } = pollWork(
        redis.store,
        keys,
        { customProperties },
        { ...settings, alerts: alertSettings({ rules: asked }) },
      )
      await pollClaimed(work, [HUB])
      return fast
    },
    told: async () =>
      (await outboxOf(redis.store, keys, HUB)).map(({ level, reason, usage, limit, series }) => {
        return `${level} ${reason} ${usage}/${limit} ${(series as { metric: string }).metric}`
      }),
    open: () => readOpenAlerts(redis.store, keys, [HUB]),
    kept: async () => keptText((await polls.read(HUB))?.watch.bucket),
    records: () => redis.store.llen(own.history),
  }
}

test('a bucket that moves at each poll is kept, is no change, and is judged by no rule that does not name it', async () => {
  const all: Rule = { name: 'all', on: '*', warning: { percent: 80 } }
  const one = await account([all])
  expect(await one.poll({ used: 12 })).toBe(false)
  const records = await one.records()
  expect(await one.poll({ used: 109 })).toBe(true)
  expect(await one.poll({ used: 3 })).toBe(true)
  expect(await one.kept()).toBe(`0 3/110/10000/${one.clock.now()}`)
  expect(await one.records()).toBe(records)
  expect(await one.told()).toEqual([])
})

test('a rule that names it has its warning, and its end, and the fast path stays', async () => {
  const one = await account([RULE])
  await one.poll({ used: 12 })
  expect(await one.poll({ used: 88 })).toBe(true)
  expect(await one.open()).toMatchObject([{ series: { metric: 'api.bucket' }, usage: 88, limit: 110, percent: 80 }])
  await one.poll({ used: 107 })
  await one.poll({ used: 2 })
  expect(await one.told()).toEqual([
    'warning entered 88/110 api.bucket',
    'critical escalated 107/110 api.bucket',
    'critical recovered 2/110 api.bucket',
  ])
  // Its state moved: judged anew once, and then no more.
  await one.poll({ used: 5 })
  expect(await one.poll({ used: 6 })).toBe(true)
})

test('a poll that sees nothing of it is no news, and an alert of a rule that is gone is over', async () => {
  const one = await account([RULE])
  await one.poll({ used: 100 })
  const at = one.clock.now()
  await one.poll({})
  expect(await one.kept()).toBe(`0 100/110/10000/${at}`)
  expect(await one.told()).toEqual(['warning entered 100/110 api.bucket'])
  await one.poll({ used: 101 }, [])
  expect(await one.told()).toEqual(['warning entered 100/110 api.bucket', 'warning recovered 101/110 api.bucket'])
})

test('calls that are refused are counted from one poll to the next', async () => {
  const one = await account([])
  await one.poll({ status: 429 })
  expect(await one.kept()).toBe('1')
  await one.poll({ used: 110, status: 429 })
  expect(await one.kept()).toBe(`1 110/110/10000/${one.clock.now()}`)
  await one.poll({ used: 4 })
  expect(await one.kept()).toBe(`0 4/110/10000/${one.clock.now()}`)
})
