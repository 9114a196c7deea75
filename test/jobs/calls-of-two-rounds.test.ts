import { expect, test } from 'vitest'
import { decodeBudget } from '../../src/limits/polling/call-budget.ts'
import { associations, properties } from '../limits/reports.ts'
import { failure, tokens } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { DAY, EVERY_MS, PAIR, pollsOfFile } from './polled.ts'

const polled = pollsOfFile()
const WINDOW_MS = 10_000

test('a poll that asks again with a new token counts all of its calls, those that were refused among them', async () => {
  const calledAt: number[] = []
  const clock = new HandClock()
  let isRefreshed = false
  const answer = (value: object) => async () => {
    calledAt.push(clock.now())
    return isRefreshed ? { ok: true as const, value } : failure('unauthorized', { status: 401 })
  }
  const { services, store, keys, watch, ...one } = await polled({
    clock,
    settings: {
      limits: { associations: [PAIR], callsPerHour: 1_000 },
      provider: { accountRate: { requests: 3, per: '10s' } },
    },
    provider: {
      customProperties: answer(properties(10)),
      associations: answer(associations(100)),
      refresh: async () => {
        isRefreshed = true
        return tokens('access-2', 'refresh-2', 365 * DAY)
      },
    },
  })
  clock.move(DAY)
  const began = clock.now()
  const answered: number[][] = []
  services.endpoint.noteOthers = (...each) => void answered.push(each)
  const stored = async () => decodeBudget((await store.get(keys.pollBudget)) ?? '', 0)
  const poll = async () => {
    const polling = one.poll()
    await Promise.race([polling, clock.sleeper(WINDOW_MS)])
    clock.move(WINDOW_MS)
    await polling
  }
  await poll()
  // Two that were refused, one with the new token, and the last one once the window is over.
  expect(calledAt.map((at) => at - began)).toEqual([0, 0, 0, WINDOW_MS])
  expect(await watch()).toMatchObject({ calls: [[began + WINDOW_MS, 1]], failing: undefined })
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
