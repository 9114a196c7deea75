import { describe, expect, test } from 'vitest'
import { levelOf, type Rule, ruleFor, ruleName } from '../../../src/alerts/evaluation/rules.ts'
import type { Series } from '../../../src/limits/series.ts'

const ACCOUNT = { hubId: 1234567, hubDomain: 'Shop.Example.com' }
const OVERALL: Series = { id: 'overall', metric: 'customProperties.overall', usage: 1, limit: 2, percent: 50 }
const TYPE: Series = { ...OVERALL, id: 'type/2-77', metric: 'customProperties.objectType', objectTypeId: '2-77' }
const PAIR: Series = { ...OVERALL, id: 'at/0-1/0-2', metric: 'associations.atLimit', from: '0-1', to: '0-2' }

const rule = (name: string, more: Partial<Rule> = {}): Rule => ({ name, on: '*', ...more })
const chosen = (rules: Rule[], series: Series, account = ACCOUNT) => ruleFor(rules, account, series)?.name

describe('the rule for a series', () => {
  test('is the first that matches, alone', () => {
    const rules = [
      rule('types', { on: 'customProperties.objectType' }),
      rule('all properties', { on: 'customProperties.*' }),
      rule('rest'),
    ]
    expect(chosen(rules, TYPE)).toBe('types')
    expect(chosen(rules, OVERALL)).toBe('all properties')
    expect(chosen(rules, PAIR)).toBe('rest')
    expect(chosen([...rules].reverse(), TYPE)).toBe('rest')
  })

  test('is none where none matches', () => {
    expect(chosen([], OVERALL)).toBeUndefined()
    expect(chosen([rule('x', { on: 'associations.*' })], OVERALL)).toBeUndefined()
  })

  test('is for several series and asks `count`: then not for the usage of a fullest record', () => {
    const FULLEST: Series = { ...PAIR, id: 'fullest/0-1/0-2', metric: 'associations.fullest', usage: 48_000 }
    const count = rule('count', { on: 'associations.*', warning: { count: 10 }, critical: { count: 50 } })
    const full = rule('full', { on: 'associations.fullest', warning: { percent: 90 } })
    expect([chosen([count, full], PAIR), chosen([count, full], FULLEST)]).toEqual(['count', 'full'])
    expect(chosen([{ ...count, on: '*' }, full], FULLEST)).toBe('full')
    expect(chosen([{ ...count, on: '*' }], OVERALL)).toBe('count')
    expect(chosen([{ ...count, on: 'associations.fullest' }], FULLEST)).toBe('count')
    expect(chosen([rule('off', { on: 'associations.*', off: true })], FULLEST)).toBe('off')
    const both = { ...count, critical: { count: 50, percent: 95 } }
    expect(chosen([both, full], FULLEST)).toBe('count')
    expect([levelOf(both, 'warning', FULLEST), levelOf(both, 'critical', FULLEST)]).toEqual([{}, { percent: 95 }])
    expect(levelOf(both, 'critical', PAIR)).toEqual({ count: 50, percent: 95 })
  })

  test('may be for some accounts, by hubId or domain', () => {
    const rules = [rule('mine', { match: { account: ['99', '*.example.com'] } }), rule('others')]
    expect(chosen(rules, OVERALL)).toBe('mine')
    expect(chosen(rules, OVERALL, { hubId: 99, hubDomain: '' })).toBe('mine')
    expect(chosen(rules, OVERALL, { hubId: 5, hubDomain: 'example.org' })).toBe('others')
  })

  test('may be for accounts that carry a tag', () => {
    const tag = [{ name: 'vip', accounts: ['99'] }]
    const rules = [rule('vip', { match: { tag } }), rule('others')]
    expect(chosen(rules, OVERALL, { hubId: 99, hubDomain: '' })).toBe('vip')
    expect(chosen(rules, OVERALL)).toBe('others')
  })

  test('may be for some object types or pairs: a series without them is not meant', () => {
    const custom = [rule('custom', { match: { objectType: ['2-*'] } })]
    expect([chosen(custom, TYPE), chosen(custom, OVERALL), chosen(custom, PAIR)]).toEqual([
      'custom',
      undefined,
      undefined,
    ])
    const from = [rule('from', { match: { from: ['0-1'], to: ['0-2', '0-3'] } })]
    expect([chosen(from, PAIR), chosen(from, { ...PAIR, to: '0-4' }), chosen(from, OVERALL)]).toEqual([
      'from',
      undefined,
      undefined,
    ])
    expect(chosen(from, { ...PAIR, from: '0-2', to: '0-1' })).toBeUndefined()
  })

  test('may be for no account at all', () => {
    expect(chosen([rule('x', { match: { account: [] } })], OVERALL)).toBeUndefined()
  })

  test('that is off still decides', () => {
    expect(chosen([rule('quiet', { off: true }), rule('loud')], OVERALL)).toBe('quiet')
  })
})

test.each([
  [{ name: 'custom objects', on: 'customProperties.objectType' }, 'custom objects'],
  [{ name: 'nearly full <b>\u202e', on: '*' }, 'nearly full <b>'],
  [{ on: '*' }, 'all limits'],
  [{ on: 'customProperties.overall' }, 'custom properties'],
  [{ on: 'customProperties.objectType' }, 'custom properties, object types *'],
  [
    { on: 'customProperties.objectType', match: { objectType: ['2-*', '0-1'] } },
    'custom properties, object types 2-* or 0-1',
  ],
  [
    { on: 'associations.fullest', match: { from: ['0-1'], tag: [{ name: 'vip', accounts: ['1'] }] } },
    'fullest record, from 0-1, tags vip',
  ],
])('a rule is called by its name, or by what it watches: %j', (rule, title) => {
  expect(ruleName({ name: rule.on, ...rule })).toBe(title)
})
