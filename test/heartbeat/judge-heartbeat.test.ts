import { expect, test } from 'vitest'
import {
  describeFacts,
  type HeartbeatBounds,
  type HeartbeatFacts,
  judgeHeartbeat,
} from '../../src/heartbeat/verdict.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const MINUTE = 60_000

const bounds: HeartbeatBounds = {
  coverage: { objective: 0.95, freshnessMs: 26 * 60 * MINUTE },
  tokens: 0.95,
  overdueRefreshMs: 5 * MINUTE,
  outboxAgeMs: 15 * MINUTE,
  sweeps: { alerts: 5_000, coverage: 30_000 },
}

interface More {
  coverage?: Partial<HeartbeatFacts['coverage']>
  tokens?: Partial<HeartbeatFacts['tokens']>
  alerts?: Partial<HeartbeatFacts['alerts']>
  sweeps?: HeartbeatFacts['sweeps']
  evenMs?: number
}

function facts({ coverage, tokens, alerts, sweeps, evenMs = Number.POSITIVE_INFINITY }: More = {}): HeartbeatFacts {
  return {
    now: NOW,
    evenMs,
    coverage: { polled: 1_000, stale: 0, failing: 0, failingForLong: 0, notWatched: 0, ...coverage },
    tokens: { kept: 1_000, overdue: 0, failing: 0, trouble: null, ...tokens },
    alerts: { oldestEntryAt: null, groupDueAt: null, attemptDueAt: null, oldestDelivery: null, ...alerts },
    sweeps: { alerts: 5_000, coverage: 30_000, ...sweeps },
  }
}

const ago = (minutes: number, more = 0) => NOW - minutes * MINUTE - more
const trouble = (since: number) => ({ since, cause: 'unreachable' })
const message = (createdAt: number) => ({ receiver: 'ops-mail', createdAt })

const BEFORE_JUMP = { oldestEntryAt: 0, groupDueAt: 0, attemptDueAt: 0 }

const JUST_WITHIN: [what: string, facts: More][] = [
  ['nothing is connected', { coverage: { polled: 0 }, tokens: { kept: 0 } }],
  ['as many readings are missing as may be', { coverage: { stale: 50 } }],
  ['two of three accounts have no reading', { coverage: { polled: 3, stale: 2 } }],
  ['as many refreshes are overdue as may be', { tokens: { overdue: 50 } }],
  ['as many refreshes fail as may be', { tokens: { failing: 50 } }],
  ['one of two accounts can not be refreshed', { tokens: { kept: 2, failing: 1, overdue: 1 } }],
  ['the token endpoint has been in trouble for a moment', { tokens: { trouble: trouble(ago(5)) } }],
  ['an alert was just committed', { alerts: { oldestEntryAt: ago(15) } }],
  ['a group is due', { alerts: { groupDueAt: ago(15) } }],
  ['a group is due later', { alerts: { groupDueAt: NOW + 60 * MINUTE } }],
  ['an attempt is due', { alerts: { attemptDueAt: ago(15) } }],
  ['a receiver has not answered for a while', { alerts: { oldestDelivery: message(ago(15)) } }],
  ['the clock was set ahead five minutes ago', { tokens: { overdue: 400, trouble: trouble(0) }, evenMs: 5 * MINUTE }],
  [
    'the clock was set ahead a while ago',
    { alerts: { ...BEFORE_JUMP, oldestDelivery: message(0) }, evenMs: 15 * MINUTE },
  ],
  ['a sweep was missed', { sweeps: { alerts: 30_000 } }],
]

test.each(JUST_WITHIN)('all is well when %s', (_, more) => {
  expect(judgeHeartbeat(facts(more), bounds)).toEqual({ ok: true })
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
    { tokens: { trouble: trouble(ago(6)) } },
    /trouble for 6 min \(unreachable\)/,
  ],
  ['an alert stays in the outbox', { alerts: { oldestEntryAt: ago(15, 1) } }, /in the outbox for 15 min/],
  ['a group is not closed', { alerts: { groupDueAt: ago(15, 1) } }, /^A group .* 15 min ago/],
  ['an attempt is not made', { alerts: { attemptDueAt: ago(200) } }, /^A message .* 3 h ago/],
  ['a receiver takes nothing', { alerts: { oldestDelivery: message(ago(15, 1)) } }, /^The receiver ops-mail .* 15 min/],
  [
    'sweeps do not finish',
    { sweeps: { alerts: 30_001 } },
    /^Sweeps for alerts have not finished for 30 s, at most 30 s/,
  ],
]

test.each(OUT_OF_BOUNDS)('it is told when %s', (_, more, says) => {
  expect(judgeHeartbeat(facts(more), bounds)).toEqual({ ok: false, reasons: [expect.stringMatching(says)] })
})

test('all that is out of bounds is told at once', () => {
  const all = facts({
    ...{ coverage: { stale: 500 }, tokens: { overdue: 400, failing: 300, trouble: trouble(0) } },
    alerts: { ...BEFORE_JUMP, oldestDelivery: message(0) },
    sweeps: { alerts: NOW, coverage: NOW },
  })
  const verdict = judgeHeartbeat(all, bounds)
  expect(verdict.ok ? [] : verdict.reasons).toHaveLength(10)
})

test('a sweep of which nothing is known yet is not missed', () => {
  expect(judgeHeartbeat({ ...facts(), sweeps: {} }, bounds)).toEqual({ ok: true })
})

test('what is within bounds is told in numbers', () => {
  expect(describeFacts(facts({ coverage: { stale: 3 }, tokens: { failing: 2 } }))).toBe(
    '997 of 1,000 accounts have a fresh reading.\nToken refreshes: 0 overdue, 2 failing.\nNo message waits.',
  )
  expect(describeFacts(facts({ coverage: { polled: 0 }, alerts: { oldestDelivery: message(ago(3)) } }))).toMatch(
    /^No account is polled\.[\s\S]*has waited for 3 min\.$/,
  )
})
