import { expect, test } from 'vitest'
import { readAccount } from '../../src/accounts/account.ts'
import type { Rule } from '../../src/alerts/evaluation/rules.ts'
import type { PollState } from '../../src/limits/poll-state.ts'
import { NEW_POLL_STATE } from '../../src/limits/poll-state-text.ts'
import { withBucketSeries } from '../../src/views/account-view.ts'
import { bucketJson, bucketText } from '../../src/views/poll-texts.ts'

const NOW = Date.parse('2026-11-24T12:00:00Z')
const accountWith = (bucket: PollState['bucket']) =>
  readAccount(1, { state: 'active', hubDomain: 'acme.example.com' }, { ...NEW_POLL_STATE, bucket })
const SEEN = accountWith({ refused: 2, lastSeen: { used: 12, of: 110, intervalMs: 10_000, at: NOW } })
const REFUSED = accountWith({ refused: 1 })
const NOTHING = accountWith(undefined)

test.each([
  [SEEN, '12 of 110 in 10 s when last seen, 2 refused since the poll before'],
  [REFUSED, '1 refused since the poll before'],
  [NOTHING, undefined],
])('what is left of the bucket, for people', (account, text) => {
  expect(bucketText({ apiCalls: bucketJson(account) })).toBe(text)
})

test('and for other programs', () => {
  const lastSeen = { used: 12, of: 110, perMs: 10_000, at: '2026-11-24T12:00:00.000Z' }
  expect(bucketJson(SEEN)).toEqual({ lastSeen, refused: 2 })
  expect(bucketJson(REFUSED)).toEqual({ lastSeen: null, refused: 1 })
  expect(bucketJson(NOTHING)).toBeNull()
})

const named = { name: 'api', on: 'api.bucket', warning: { percent: 80 } }
const all = { name: 'all', on: '*', warning: { percent: 80 } }
const off = { name: 'off', on: '*', off: true }

test.each<[string, Rule[], Record<string, string>, string[]]>([
  ['a rule that names it', [all, named], {}, ['bucket']],
  ['none that means all', [all], {}, []],
  ['one that turns all off before', [off, named], {}, []],
  ['an alert that is open', [], { bucket: '["warning"]' }, ['bucket']],
])('its series is there for %s', (_, rules, states, ids) => {
  const found = withBucketSeries([], SEEN, { rules, states }, NOW)
  const measuredAt = new Date(NOW).toISOString()
  expect(found.map(({ shown }) => shown.id)).toEqual(ids)
  expect(found.map(({ shown }) => shown)).toMatchObject(
    ids.map(() => ({ metric: 'api.bucket', usage: 12, limit: 110, measuredAt })),
  )
})
