import { expect, test } from 'vitest'
import { associations, properties } from '../limits/reports.ts'
import { failure, tokens } from '../support/fake-provider.ts'
import { HandClock } from '../support/hand-clock.ts'
import { DAY, PAIR, pollsOfFile } from './polled.ts'

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
  const { pollState, ...one } = await polled({
    clock,
    settings: {
      limits: { associations: [PAIR] },
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
  const poll = async () => {
    const polling = one.poll()
    await Promise.race([polling, clock.sleeper(WINDOW_MS)])
    clock.move(WINDOW_MS)
    await polling
  }
  await poll()
  // Two that were refused, one with the new token, and the last one once the window is over.
  expect(calledAt.map((at) => at - began)).toEqual([0, 0, 0, WINDOW_MS])
  expect(await pollState()).toMatchObject({ calls: [[began + WINDOW_MS, 1]], failing: undefined })
})
