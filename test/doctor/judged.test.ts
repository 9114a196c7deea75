import { expect, test } from 'vitest'
import { type Check, ok, runChecks } from '../../src/doctor/check.ts'
import { checkConfig } from '../../src/doctor/config-and-keys.ts'
import { judgeSweeps } from '../../src/doctor/daemon.ts'
import { checkEndDate } from '../../src/doctor/provider.ts'
import { HandClock } from '../support/hand-clock.ts'

test.each([
  ['2026-08-20', 'ok', 180],
  ['2026-08-21', 'warn', 179],
  ['2027-02-16', 'warn', 0],
  ['2027-02-17', 'fail', undefined],
])('on %s the end of v1 is %s', (day, level, left) => {
  const found = checkEndDate('v1', Date.parse(day))
  expect(found.level).toBe(level)
  if (left !== undefined) expect(found.detail).toContain(`2027-02-16: ${left} days left`)
  if (level !== 'ok') expect(found.fix).toContain('provider.api: 2026-03')
})

test('a version that has no end is fine', () => {
  expect(checkEndDate('2026-03', Date.parse('2030-01-01')).level).toBe('ok')
})

test('each notice of the config is a warning where it stands; the end of v1 is told once, elsewhere', () => {
  const notices = [
    { path: 'provider.api', line: 2, message: 'ends' },
    { path: 'http', line: 7, column: 1, message: 'no adminToken' },
    { path: '', message: 'odd' },
  ]
  expect(checkConfig(notices)).toEqual([
    { name: 'config', level: 'warn', detail: 'http (line 7): no adminToken' },
    { name: 'config', level: 'warn', detail: 'odd' },
  ])
  expect(checkConfig([])).toMatchObject([{ level: 'ok' }])
})

const NOW = Date.parse('2026-11-21T10:00:00Z')
const EXPECTED = { 'refresh-tokens': 10_000, alerts: 5_000 }

test.each([
  ['none ever', {}, 'warn', 'none has worked on this Redis yet'],
  ['all in time', { 'refresh-tokens': NOW - 44_000, alerts: NOW }, 'ok', 'at work: sweeps finish'],
  [
    'all long ago',
    { 'refresh-tokens': NOW - 90_000, alerts: NOW - 60_000 },
    'warn',
    'none is at work: the last sweep finished 2026-11-21T09:59:00.000Z',
  ],
  [
    'one kind late',
    { 'refresh-tokens': NOW - 46_000, alerts: NOW },
    'fail',
    'some work does not move: refresh-tokens last finished 46 s ago, at most 45 s allowed',
  ],
  [
    'one kind never',
    { alerts: NOW },
    'fail',
    'some work does not move: refresh-tokens none finished yet, at most 45 s allowed',
  ],
])('sweeps: %s', (_, sweeps, level, detail) => {
  expect(judgeSweeps(sweeps as Record<string, number>, EXPECTED, NOW)).toMatchObject({ level, detail })
})

test('a check that hangs or throws fails alone, within five seconds, and its signal is aborted', async () => {
  const clock = new HandClock()
  let aborted = false
  const checks: Check[] = [
    {
      name: 'hangs',
      fix: 'pull the plug',
      run: (signal) =>
        new Promise(() => {
          signal.addEventListener('abort', () => {
            aborted = true
          })
        }),
    },
    { name: 'throws', fix: 'catch it', run: () => Promise.reject(new Error('at https://x:s3cret@y.example.com/')) },
    { name: 'works', fix: '', run: async () => [ok('works', 'fine'), ok('works', 'well')] },
  ]
  const findings = runChecks(checks, clock)
  await clock.sleeper()
  clock.move(5_000)
  expect(await findings).toEqual([
    { name: 'hangs', level: 'fail', detail: 'no result within 5 s', fix: 'pull the plug' },
    { name: 'throws', level: 'fail', detail: expect.not.stringContaining('s3cret'), fix: 'catch it' },
    { name: 'works', level: 'ok', detail: 'fine' },
    { name: 'works', level: 'ok', detail: 'well' },
  ])
  expect(aborted).toBe(true)
})
