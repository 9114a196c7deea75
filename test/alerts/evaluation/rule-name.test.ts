import { expect, test } from 'vitest'
import { ruleName } from '../../../src/alerts/evaluation/rules.ts'

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
