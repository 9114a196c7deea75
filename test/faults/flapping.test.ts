import { expect, test } from 'vitest'
import type { Alert, Message } from '../../src/alerts/alert.ts'
import { openAlertPath } from '../support/alert-path.ts'
import { redisOfFile } from '../support/of-file.ts'
import { say } from '../support/say.ts'

const redis = redisOfFile()
const MINUTE = 60_000
const FLAPS = 100
const INTERVAL = 5 * MINUTE

/** One account whose usage (of 1,000) goes up and down, poll by poll, a minute apart; and what a receiver gets of it. */
async function flapping(level: object, up: number, down: number) {
  const messages: Message[] = []
  const { store, keys, clock, ...path } = await openAlertPath(redis, level, {
    'ops-hook': ({ message }) => {
      messages.push(message)
      return { outcome: 'delivered' }
    },
  })
  await path.poll(500)
  const begun = clock.now()
  for (let flap = 0; flap < FLAPS; flap++) {
    for (const usage of [up, down]) {
      await path.live(MINUTE)
      await path.poll(usage)
    }
  }
  const lastedMs = clock.now() - begun
  await path.live(2 * INTERVAL)
  const entries = await store.xrange(keys.transitions, '-', '+')
  const committed = entries.map(([, fields]) => (JSON.parse(fields[1] ?? '') as { alert: Alert }).alert)
  return { messages, committed, lastedMs }
}

test('a series that flaps 100 times around its threshold, within recoverBelow, is told once', async () => {
  const { messages, committed } = await flapping({ warning: { percent: 80 } }, 810, 780)
  expect(committed.map(({ reason }) => reason)).toEqual(['entered'])
  expect(messages.map(({ data }) => data.alerts.map(({ id }) => id))).toEqual([[committed[0]?.id]])
})

test.each([
  ['a warning', { warning: { percent: 80 } }],
  ['critical, which hurries when it is news', { critical: { percent: 80 } }],
  ['critical beside a warning', { warning: { percent: 60 }, critical: { percent: 80 } }],
])(
  'beyond recoverBelow it is told as often as the interval allows, each time with all that it did since: %s',
  async (_, rule) => {
    const { messages, committed, lastedMs } = await flapping(rule, 810, 700)
    const moments = [...new Set(messages.map(({ timestamp }) => Date.parse(timestamp)))]
    const named = messages.flatMap(({ data }) => data.alerts.flatMap(({ id, supersedes = [] }) => [id, ...supersedes]))
    say(`${FLAPS} flaps in ${lastedMs / MINUTE} minutes: ${committed.length} transitions, told ${moments.length} times`)
    expect(committed).toHaveLength(2 * FLAPS)
    // One before the first interval, and one after the last.
    expect(moments.length).toBeLessThanOrEqual(lastedMs / INTERVAL + 2)
    expect(moments.length).toBeGreaterThanOrEqual(lastedMs / INTERVAL - 2)
    const pauses = moments.slice(1).map((at, n) => at - (moments[n] ?? 0))
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(INTERVAL)
    expect(named.toSorted()).toEqual(committed.map(({ id }) => id).toSorted())
    expect(messages.some(({ data }) => data.alerts.some(({ supersedes = [] }) => supersedes.length > 0))).toBe(true)
  },
)
