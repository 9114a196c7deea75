import { expect, test } from 'vitest'
import { decodeState, encodeState, type SeriesState, UnreadableState } from '../../src/alerts/alert-state.ts'

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

/** Every value in it, by its place. */
function placesIn(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...path, key]))
}

const list = JSON.parse(encodeState(state))
/** Ids of records have both types; a flag that is none counts as false. */
const EITHER = /^(5\.records\.[01]|5\.records\.2\.0|6\.sinceFirstReading|9)$/

test.each(placesIn(list).map((path) => [path.join('.'), path] as const))(
  'a state with an impossible number or another type at %s is unreadable, and takes nothing down later',
  (name, path) => {
    const before = path.reduce((value, key) => value[key], list)
    const others = typeof before === 'number' ? [1e300, 'x', [], {}] : [5, [], {}]
    for (const other of others) {
      if (EITHER.test(name)) continue
      const spoiled = structuredClone(list)
      const last = path.at(-1) ?? 0
      path.slice(0, -1).reduce((value, key) => value[key], spoiled)[last] = other
      expect(() => decodeState(JSON.stringify(spoiled)), JSON.stringify(other)).toThrow(UnreadableState)
    }
  },
)
