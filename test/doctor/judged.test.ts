import { expect, test } from 'vitest'
import type { FleetFacts } from '../../src/checks/facts.ts'
import { type DoctorCheck, ok, runChecks } from '../../src/doctor/check.ts'
import { checkConfig } from '../../src/doctor/config-and-keys.ts'
import { fleetLine } from '../../src/doctor/fleet.ts'
import { checkEndDate } from '../../src/doctor/provider.ts'
import { DAEMON, fleetFacts, MINUTE, NOW } from '../checks/a-fleet.ts'
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

const daemonLine = (changed: Partial<FleetFacts>) =>
  fleetLine('daemon', {
    facts: fleetFacts({ isDaemon: false, ...changed }),
    verdict: { level: 'ok', says: '', troubles: [] },
  })
const silent = { ...DAEMON, lastSeenAt: NOW - MINUTE }

test.each<[string, Partial<FleetFacts>, string, string]>([
  ['is at work', {}, 'ok', 'at work: sweeps finish'],
  ['was never there', { daemons: [] }, 'warn', 'no daemon runs: nothing is refreshed, polled or sent'],
  [
    'is gone',
    { daemons: [silent], lastSweeps: {} },
    'warn',
    'every daemon is silent: nothing is refreshed, polled or sent',
  ],
  [
    'has a sweep that is late',
    { lastSweeps: { ...fleetFacts().lastSweeps, alerts: NOW - 46_000 } },
    'fail',
    'sweep:alerts: last finished 46 s ago, at most 45 s allowed',
  ],
  [
    'never finished one',
    { lastSweeps: { alerts: NOW } },
    'fail',
    'sweep:coverage: none finished yet, at most 105 s allowed',
  ],
  [
    'leaves a part to others',
    { daemons: [{ ...DAEMON, roles: ['clock', 'web'] }] },
    'fail',
    'NO WORKER is at work: nothing is refreshed, polled or sent (plimsoll start --roles worker)',
  ],
])('a daemon that %s', (_, changed, level, detail) => {
  expect(daemonLine(changed)).toMatchObject([{ level, detail, ...(level !== 'ok' && { fix: expect.any(String) }) }])
})

test('a receiver that fails is a warning at once, long before it is an alert', () => {
  const found = (receivers: FleetFacts['receivers']) =>
    fleetLine('deliveries', { facts: fleetFacts({ receivers }), verdict: { level: 'ok', says: '', troubles: [] } })
  const ops = { receiver: 'ops', failures: 0, seenAt: NOW }
  expect(found([])).toMatchObject([{ level: 'ok', detail: 'nothing was sent so far' }])
  expect(found([ops])).toMatchObject([{ level: 'ok', detail: 'no receiver is known to fail' }])
  const failing = { ...ops, failingSince: NOW - MINUTE, failures: 3, lastReason: 'the service answered 500' }
  expect(found([failing])).toMatchObject([
    { level: 'warn', detail: expect.stringMatching(/^ops has been failing .* 3 attempts: the service answered 500$/) },
  ])
})

test('without Redis nothing is known of the fleet', () => {
  expect(fleetLine('calls', undefined)).toMatchObject([{ level: 'warn', detail: 'not known: Redis does not answer' }])
})

test('a check that hangs or throws fails alone, within five seconds, and its signal is aborted', async () => {
  const clock = new HandClock()
  let aborted = false
  const checks: DoctorCheck[] = [
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
