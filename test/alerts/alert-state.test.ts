import { expect, test } from 'vitest'
import { decodeState, encodeState, type SeriesState } from '../../src/alerts/alert-state.ts'

const AT = 1_790_000_000_000
const state: SeriesState = {
  level: 'critical',
  rule: 'full',
  since: AT,
  transitions: 3,
  sentAt: AT + 1,
  lastSent: {
    level: 'warning',
    usage: 9_787,
    limit: 10_000,
    daysLeft: 2.5,
    at: AT,
    unnamed: 3,
    records: [1, '9007199254740993', [2, 'a label']],
  },
  pending: { warning: 1, critical: 2, sinceFirstReading: true },
  cause: 'failing',
  acknowledged: { at: AT, until: AT + 2, by: 'ops', comment: 'known', usage: 9_787, percent: 97.9, remaining: 213 },
  wasAtBoth: true,
}

test('a state is read as it was written', () => {
  expect(decodeState(encodeState(state))).toEqual(state)
  const { acknowledged: _, ...plain } = { ...state, lastSent: null, pending: null }
  expect(decodeState(encodeState(plain))).toEqual(plain)
})

test.each(['', '["critical"', '{"a":1}', '[5]', '["critical","full",1e300]', '\u{fffd}'])(
  '%s is no state',
  (stored) => {
    expect(decodeState(stored)).toBeUndefined()
  },
)
