import { expect, test } from 'vitest'
import { startClockOf } from '../../src/app/start-jobs.ts'
import type { Role } from '../../src/heartbeat/roles.ts'
import { logLines } from '../support/log-lines.ts'

/** What a daemon of these roles ticks at its start. */
function ticksOf(...roles: Role[]): string[] {
  const ticks: string[] = []
  const tell = async (kind: string) => {
    ticks.push(kind)
  }
  const config = { schedule: { refreshTokens: '* * * * * *', pollLimits: '* * * * * *' } }
  const parts = { queues: { tell }, config, log: logLines().log }
  startClockOf({ parts } as never, new Set(roles)).stop()
  return ticks
}

test('whoever works looks by itself, at once and at each tick, whatever it hears of others', () => {
  expect(ticksOf('worker')).toContain('refresh-tokens')
  expect(ticksOf('worker')).toEqual(ticksOf('clock'))
  expect(ticksOf('web')).toEqual([])
})
