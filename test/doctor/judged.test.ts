import { expect, test } from 'vitest'
import { shownVerdict } from '../../src/checks/fleet-status.ts'
import type { StatusFacts } from '../../src/checks/status-facts.ts'
import { fleetVerdict } from '../../src/checks/verdict.ts'
import { type DoctorCheck, ok, runChecks } from '../../src/doctor/check.ts'
import { checkConfig } from '../../src/doctor/config-and-keys.ts'
import { fleetLine, verdictFindings } from '../../src/doctor/fleet.ts'
import { checkEndDate } from '../../src/doctor/provider.ts'
import { receiverStatus } from '../../src/views/deliveries.ts'
import { daemonStatus } from '../../src/views/fleet-health.ts'
import { DAEMON, fleetFacts, MINUTE, NOW, statusFacts } from '../checks/a-fleet.ts'
import { HandClock } from '../support/hand-clock.ts'

test.each([
  ['v1', '2026-11-18', 'ok', 'API v1 ends on 2027-02-16, in 90 days'],
  ['v1', '2026-11-19', 'warn', 'API v1 ends on 2027-02-16, in 89 days'],
  ['v1', '2027-02-16', 'warn', 'API v1 ends on 2027-02-16, in 0 days'],
  ['v1', '2027-02-17', 'fail', 'API v1 ended on 2027-02-16'],
  ['2026-03', '2026-11-28', 'ok', 'API 2026-03 ends about 2027-09, in 277 days'],
  ['2026-03', '2027-07-01', 'warn', 'API 2026-03 ends about 2027-09, in 62 days'],
  ['2026-09', '2026-11-28', 'ok', 'API 2026-09 ends about 2028-03, in 459 days'],
  ['2026-09', '2028-01-01', 'warn', 'API 2026-09 ends about 2028-03, in 60 days'],
] as const)('the end of %s on %s is %s', (api, day, level, detail) => {
  const found = checkEndDate(api, Date.parse(day))
  expect(found).toMatchObject({ level, detail })
  if (level === 'ok') return
  expect(found.fix).toBe(
    api === '2026-09'
      ? 'install a version of Plimsoll that knows a newer API'
      : 'set provider.api: 2026-09 and send SIGHUP',
  )
})

test('each notice of the config is a warning where it stands; the end of an API version is told once, elsewhere', () => {
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

/** The status that the API answers of such facts. */
function statusOf(changed: Partial<StatusFacts>) {
  const facts = statusFacts({ isDaemon: false, ...changed })
  const { failedCalls, daemons, receivers } = facts
  return {
    failedCalls,
    verdict: shownVerdict(fleetVerdict(facts)),
    daemons: daemons.map((daemon) => daemonStatus(daemon, NOW)),
    deliveries: { pending: 0, disabledReceivers: [], newest: [], receivers: receivers.map(receiverStatus) },
  }
}

const daemonLine = (changed: Partial<StatusFacts>) => fleetLine('daemon', statusOf(changed))
const silent = { ...DAEMON, lastSeenAt: NOW - MINUTE }

test.each<[string, Partial<StatusFacts>, string, string]>([
  ['is at work', {}, 'ok', 'running: sweeps finish'],
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
    'NO WORKER is running: nothing is refreshed, polled or sent (plimsoll start --roles worker)',
  ],
])('a daemon that %s', (_, changed, level, detail) => {
  expect(daemonLine(changed)).toMatchObject([{ level, detail, ...(level !== 'ok' && { fix: expect.any(String) }) }])
})

test('a receiver that fails is a warning at once, long before it is an alert', () => {
  const found = (receivers: StatusFacts['receivers']) => fleetLine('deliveries', statusOf({ receivers }))
  const ops = { receiver: 'ops', failures: 0 }
  expect(found([])).toMatchObject([{ level: 'ok', detail: 'nothing was sent so far' }])
  expect(found([ops])).toMatchObject([{ level: 'ok', detail: 'no receiver is known to fail' }])
  const failing = { ...ops, failingSince: NOW - MINUTE, failures: 3, lastReason: 'the service answered 500' }
  expect(found([failing])).toMatchObject([
    { level: 'warn', detail: expect.stringMatching(/^ops has been failing .* 3 attempts: the service answered 500$/) },
  ])
})

test('each trouble that no other line has is a finding of the verdict, with its remedy', () => {
  expect(verdictFindings(statusOf({}))).toEqual([{ name: 'verdict', level: 'ok', detail: 'All is well.' }])
  const receivers = [{ receiver: 'ops', failures: 3, failingSince: NOW - MINUTE, lastReason: 'it answered 500' }]
  const nearestExpiryAt = NOW - 10 * MINUTE
  expect(verdictFindings(statusOf({ nearestExpiryAt, receivers }))).toMatchObject([
    {
      level: 'warn',
      detail: 'the access token of an active account expired 10 min ago',
      fix: expect.stringContaining('log'),
    },
  ])
  expect(verdictFindings(statusOf({ receivers }))).toMatchObject([
    { level: 'warn', detail: expect.stringMatching(/^Warning: ops /), fix: 'plimsoll status shows all' },
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
