import { expect, test } from 'vitest'
import { CallBudget, decodeBudget } from '../../src/limits/polling/call-budget.ts'
import { readWatch } from '../../src/limits/watch/read-watch.ts'
import { pollBudgetText } from '../../src/redis/steps.ts'
import { HUB } from '../accounts/connected.ts'
import { associations, properties } from '../limits/reports.ts'
import { seedAccount } from '../support/accounts.ts'
import { pollClaimed } from '../support/committed-poll.ts'
import { failure, tokens } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { redisOfFile } from '../support/of-file.ts'
import { EVERY_MS, pollSettings, pollWork } from './poll-work.ts'

const redis = redisOfFile()
const DAY = 86_400_000
const WINDOW_MS = 10_000

test('a poll that asks again with a new token counts all of its calls, those that were refused among them', async () => {
  const keys = redis.freshKeys()
  const calledAt: number[] = []
  let isRefreshed = false
  const answer = (value: object) => async () => {
    calledAt.push(clock.now())
    return isRefreshed ? { ok: true as const, value } : failure('unauthorized', { status: 401 })
  }
  const does = {
    customProperties: answer(properties(10)),
    associations: answer(associations(100)),
    refresh: async () => {
      isRefreshed = true
      return tokens('access-2', 'refresh-2', 365 * DAY)
    },
  }
  const { work, clock, logged } = pollWork(redis.store, keys, does, {
    polling: pollSettings({ associations: [{ from: '0-1', to: '0-2' }] }),
    share: { requests: 3, perMs: WINDOW_MS },
  })
  await seedAccount(redis.store, keys, { obtainedAt: clock.now(), lifeMs: 365 * DAY })
  clock.move(DAY)
  const began = clock.now()
  const answered: number[][] = []
  work.endpoint.noteOthers = (...each) => void answered.push(each)
  const text = pollBudgetText(redis.store, keys)
  work.callBudget = new CallBudget({ text, callsPerHour: 1_000, clock, log: logged.log })
  const stored = async () => decodeBudget((await redis.store.get(keys.pollBudget)) ?? '', 0)
  const poll = async () => {
    const polling = pollClaimed(work, [HUB])
    await Promise.race([polling, clock.sleeper(WINDOW_MS)])
    clock.move(WINDOW_MS)
    await polling
  }
  await poll()
  // Two that were refused, one with the new token, and the last one once the window is over.
  expect(calledAt.map((at) => at - began)).toEqual([0, 0, 0, WINDOW_MS])
  const kept = await readWatch(redis.store, keys, HUB)
  expect(kept).toMatchObject({ watch: { calls: [[began + WINDOW_MS, 1]], failing: undefined } })
  // By the fleet's budget, which was empty and filled by 907 an hour meanwhile, and among those that worked and that failed.
  await eventually(
    'all that was called',
    async () => Math.round((await stored()).level) === Math.round((907 * 10) / 3_600 - 4),
  )
  // Where nothing of what was read is new, too.
  for (const refreshed of [true, false]) {
    clock.move(EVERY_MS)
    isRefreshed = refreshed
    await poll()
  }
  expect(answered).toEqual([
    [2, 2],
    [2, 0],
    [2, 2],
  ])
})
