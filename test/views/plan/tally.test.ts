import { expect, test } from 'vitest'
import type { ReplayedNotification } from '../../../src/views/plan/replay-series.ts'
import { Tally } from '../../../src/views/plan/tally.ts'
import type { RuleSet } from '../../../src/views/view-deps.ts'

const HOUR = 3_600_000
const RULES: RuleSet = {
  ...{ rules: [], recoverBelow: 3, for: 0, repeatEveryMs: 24 * HOUR, firstRun: 'digest' },
  routes: [{ to: ['mail'] }],
  group: { by: ['account'], waitMs: 30_000, intervalMs: 300_000, max: 4 },
}

function told(rule: string, at: number, reason: ReplayedNotification['reason'] = 'entered'): ReplayedNotification {
  return { at, kind: 'limit', rule, level: 'warning', reason, inDigest: false } as ReplayedNotification
}

function estimated(accounts: number, of: (hubId: number) => ReplayedNotification[], rules = RULES) {
  const estimate = new Tally(rules)
  for (let hubId = 1; hubId <= accounts; hubId++) {
    estimate.add({ hubId, hubDomain: '' }, of(hubId))
  }
  return estimate.messages().get('mail')
}

test('four accounts in one trouble get a message each, five one', () => {
  const atOnce = () => [told('a', HOUR), told('a', HOUR)]
  expect(estimated(4, atOnce)).toBe(4)
  expect(estimated(5, atOnce)).toBe(1)
})

test('an account that has more than the trouble of the mass gets that in its own message', () => {
  expect(estimated(6, (n) => [told('a', HOUR), ...(n <= 2 ? [told(`own ${n}`, HOUR)] : [])])).toBe(3)
})

test('what fires and what is over are two messages, of a mass as of one account', () => {
  const both = () => [told('a', HOUR), told('a', 2 * HOUR, 'recovered')]
  expect(estimated(3, both)).toBe(6)
  expect(estimated(9, both)).toBe(2)
})

test('accounts in trouble at different times are no mass', () => {
  expect(estimated(9, (n) => [told('a', n * HOUR)])).toBe(9)
})

test('grouped by rule, all share a message', () => {
  const byRule = { ...RULES, group: { ...RULES.group, by: ['rule' as const] } }
  expect(estimated(3, () => [told('a', HOUR), told('b', HOUR)], byRule)).toBe(2)
})
