import { expect, test } from 'vitest'
import { readAccount } from '../../src/accounts/account.ts'
import type { Rule } from '../../src/alerts/evaluation/rules.ts'
import { withBucketSeries } from '../../src/views/account-view.ts'
import { bucketJson, bucketText } from '../../src/views/poll-texts.ts'

const NOW = Date.parse('2026-11-24T12:00:00Z')
const accountWith = (bucket: string) => readAccount(1, { state: 'active', hubDomain: 'acme.example.com', bucket })
const SEEN = accountWith(`2 12/110/10000/${NOW}`)

test.each([
  [SEEN, '12 of 110 in 10 s when last seen, 2 refused since the poll before'],
  [accountWith('1'), '1 refused since the poll before'],
  [accountWith('nonsense'), undefined],
  [accountWith('0 1/2/3/9999999999999999'), undefined],
])('what is left of the bucket, for people', (account, text) => {
  expect(bucketText(account)).toBe(text)
})

test('and for other programs', () => {
  const lastSeen = { used: 12, of: 110, perMs: 10_000, at: '2026-11-24T12:00:00.000Z' }
  expect(bucketJson(SEEN)).toEqual({ lastSeen, refused: 2 })
  expect(bucketJson(accountWith('1'))).toEqual({ lastSeen: null, refused: 1 })
  expect(bucketJson(accountWith('nonsense'))).toBeNull()
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
  expect(found.map(({ id }) => id)).toEqual(ids)
  expect(found).toMatchObject(ids.map(() => ({ metric: 'api.bucket', usage: 12, limit: 110, measuredAt: NOW })))
})
