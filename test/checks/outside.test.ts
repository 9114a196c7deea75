import { expect, test } from 'vitest'
import type { FleetFacts } from '../../src/checks/facts.ts'
import { outsideReport } from '../../src/checks/outside.ts'
import { DAEMON, fleetFacts, MINUTE, NOW } from './a-fleet.ts'

interface More {
  coverage?: { polled?: number; stale?: number }
  tokens?: { kept?: number; overdue?: number; failing?: number; trouble?: number }
  alerts?: Partial<FleetFacts['outbox']>
  sweeps?: Record<string, number>
}

/** A thousand accounts. */
function facts({ coverage, tokens, alerts, sweeps = {} }: More = {}): FleetFacts {
  const { polled = 1_000, stale = 0 } = coverage ?? {}
  const { kept = 1_000, overdue = 0, failing = 0, trouble } = tokens ?? {}
  const well = fleetFacts()
  return {
    ...well,
    coverage: { ...well.coverage, polled, stale, share: polled === 0 ? null : (polled - stale) / polled },
    refreshes: { kept, overdue },
    byState: { ...well.byState, failing },
    tokenEndpoint:
      trouble === undefined
        ? null
        : {
            breaker: 'open',
            cause: 'unreachable',
            detail: null,
            since: new Date(trouble).toISOString(),
            requestsPerSecond: 10,
          },
    outbox: { ...well.outbox, ...alerts },
    lastSweeps: {
      ...well.lastSweeps,
      ...Object.fromEntries(Object.entries(sweeps).map(([kind, ms]) => [kind, NOW - ms])),
    },
  }
}

const ago = (minutes: number, more = 0) => NOW - minutes * MINUTE - more
const message = (createdAt: number) => ({ receiver: 'ops-mail', createdAt })

const JUST_WITHIN: [what: string, facts: More][] = [
  ['nothing is connected', { coverage: { polled: 0 }, tokens: { kept: 0 } }],
  ['as many readings are missing as may be', { coverage: { stale: 50 } }],
  ['two of three accounts have no reading', { coverage: { polled: 3, stale: 2 } }],
  ['as many refreshes are overdue as may be', { tokens: { overdue: 50 } }],
  ['as many refreshes fail as may be', { tokens: { failing: 50 } }],
  ['one of two accounts can not be refreshed', { tokens: { kept: 2, failing: 1, overdue: 1 } }],
  ['the token endpoint has been in trouble for a moment', { tokens: { trouble: ago(5) } }],
  ['an alert was just committed', { alerts: { oldestEntryAt: ago(15) } }],
  ['a group is due', { alerts: { groupDueAt: ago(15) } }],
  ['a group is due later', { alerts: { groupDueAt: NOW + 60 * MINUTE } }],
  ['an attempt is due', { alerts: { attemptDueAt: ago(15) } }],
  ['a receiver has not answered for a while', { alerts: { oldestDelivery: message(ago(15)) } }],
  ['a sweep was missed', { sweeps: { alerts: 45_000 } }],
]

test.each(JUST_WITHIN)('all is well when %s', (_, more) => {
  expect(outsideReport(facts(more)).reasons).toEqual([])
})

const OUT_OF_BOUNDS: [what: string, facts: More, says: RegExp][] = [
  [
    'one reading more is missing',
    { coverage: { stale: 51 } },
    /^51 accounts of 1,000 .* 26 h: 94.9 % .* 95 % should be/,
  ],
  ['no account of two has a reading', { coverage: { polled: 2, stale: 2 } }, /^2 accounts of 2 .* 0 % are covered/],
  [
    'one refresh more is overdue',
    { tokens: { overdue: 51 } },
    /^Token refreshes of 51 of 1,000 accounts .*overdue for 5 min/,
  ],
  ['one refresh more fails', { tokens: { failing: 51 } }, /^Token refreshes of 51 of 1,000 accounts fail/],
  [
    'the only account can not be refreshed',
    { tokens: { kept: 1, failing: 1 } },
    /^Token refreshes of 1 of 1 account fail/,
  ],
  [
    'the token endpoint stays in trouble',
    { tokens: { trouble: ago(6) } },
    /^No account's tokens can be refreshed \(HubSpot unreachable\), .*, for 6 min now\. Check HubSpot's status page/,
  ],
  ['an alert stays in the outbox', { alerts: { oldestEntryAt: ago(15, 1) } }, /in the outbox for 15 min/],
  ['a group is not closed', { alerts: { groupDueAt: ago(15, 1) } }, /^A group .* 15 min ago/],
  ['an attempt is not made', { alerts: { attemptDueAt: ago(200) } }, /^A message .* 3 h ago/],
  ['a receiver takes nothing', { alerts: { oldestDelivery: message(ago(15, 1)) } }, /^The receiver ops-mail .* 15 min/],
  [
    'sweeps do not finish',
    { sweeps: { alerts: 45_001 } },
    /^Work does not move: sweep:alerts\. See the daemon's log, and restart it\.$/,
  ],
]

test.each(OUT_OF_BOUNDS)('it is told when %s', (_, more, says) => {
  expect(outsideReport(facts(more)).reasons).toEqual([expect.stringMatching(says)])
})

test('all that is out of bounds is told at once', () => {
  const all = facts({
    coverage: { stale: 500 },
    tokens: { overdue: 400, failing: 300, trouble: 0 },
    alerts: { oldestEntryAt: 0, groupDueAt: 0, attemptDueAt: 0, oldestDelivery: message(0) },
    sweeps: { alerts: NOW, coverage: NOW },
  })
  expect(outsideReport(all).reasons).toHaveLength(9)
})

test('what a daemon finds of itself is told without the account that it names, and so is a role that no daemon has', () => {
  const says = 'the oldest of account 7 has run for 200 s, at most 140 s allowed'
  const stuck = { ...DAEMON, ill: [{ name: 'oldest:refresh', says }] }
  expect(outsideReport(fleetFacts({ daemons: [stuck] })).reasons).toEqual([
    "Work does not move: oldest:refresh. See the daemon's log, and restart it.",
  ])
  expect(outsideReport(fleetFacts({ daemons: [{ ...DAEMON, roles: ['worker'] }] })).reasons).toEqual([
    expect.stringMatching(/^NO CLOCK is running/),
  ])
})

test('a sweep of which nothing is known yet is late once it could have finished', () => {
  const since = (ms: number) => ({ ...DAEMON, sweeps: { ...DAEMON.sweeps, since: NOW - ms } })
  expect(outsideReport(fleetFacts({ lastSweeps: {}, daemons: [since(45_000)] })).reasons).toEqual([])
  expect(outsideReport(fleetFacts({ lastSweeps: {}, daemons: [since(45_001)] })).reasons).toHaveLength(1)
  const { sweeps: _, ill: __, ...older } = DAEMON
  expect(outsideReport(fleetFacts({ lastSweeps: {}, daemons: [older] })).reasons).toEqual([])
})

test('what is within bounds is told in numbers', () => {
  const { summary } = outsideReport(facts({ coverage: { stale: 3 }, tokens: { failing: 2 } }))
  expect(summary).toBe(
    '997 of 1,000 accounts have a fresh reading.\nToken refreshes: 0 overdue, 2 failing.\nNo message waits.',
  )
  expect(
    outsideReport(facts({ coverage: { polled: 0 }, alerts: { oldestDelivery: message(ago(3)) } })).summary,
  ).toMatch(/^No account is polled\.[\s\S]*has waited for 3 min\.$/)
})
