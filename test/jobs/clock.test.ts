import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startClock } from '../../jobs/clock.ts'
import { eventually } from '../support/fleet.ts'
import { logLines } from '../support/log-lines.ts'

const PERIOD_MS = 3_000

test('a tick that fell into a time when nothing could run is handed on as soon as something can', async () => {
  const ticks: number[] = []
  const queues = {
    tick: async (kind: string, at: number) => {
      if (kind === 'refresh-tokens') ticks.push(at)
    },
    look: async () => {},
  }
  const times = { refreshTokens: '*/3 * * * * *', pollLimits: '0 0 1 1 *' }
  const clock = startClock(queues as never, times, logLines().log)
  // So late that node-cron by itself would drop it.
  const tick = Math.ceil((Date.now() + 200) / PERIOD_MS) * PERIOD_MS
  await pause(tick - Date.now() - 100)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_800)
  await eventually('the tick', async () => ticks.includes(tick))
  expect(Date.now()).toBeLessThan(tick + PERIOD_MS)
  await clock.stop()
})

test('whoever starts, or follows other times, looks at once and up to the next tick of these times', async () => {
  const looks: [string, number][] = []
  const queues = {
    tick: async () => {},
    look: async (kind: string, until: number) => {
      if (kind === 'refresh-tokens') looks.push([kind, until % 60_000])
    },
  }
  const pollLimits = '0 0 1 1 *'
  const clock = startClock(queues as never, { refreshTokens: '0 * * * * *', pollLimits }, logLines().log)
  await clock.follow({ refreshTokens: '30 * * * * *', pollLimits })
  await eventually('both looks', async () => looks.length === 2)
  expect(looks).toEqual([
    ['refresh-tokens', 0],
    ['refresh-tokens', 30_000],
  ])
  await clock.stop()
})
