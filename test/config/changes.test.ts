import { expect, test } from 'vitest'
import { changedPaths } from '../../config/in-force.ts'
import { configOf, SMALLEST, smallestWith } from './load-text.ts'

const config = configOf(SMALLEST)

test('a config has no changes against itself, read once more', () => {
  expect(changedPaths(config, configOf(SMALLEST))).toEqual([])
})

test('a change is named by the path of its setting, a secret too, and no value is', () => {
  expect(changedPaths(config, configOf(smallestWith('provider: { clientId: my-app, clientSecret: other }')))).toEqual([
    'provider.clientSecret',
  ])
  expect(changedPaths(config, configOf(smallestWith('limits: { every: 5m, history: { raw: 8d } }')))).toEqual([
    'limits.every',
    'limits.history.raw',
  ])
})

test('in lists of one length the entry is named, else the list; what was added or left out is named as a whole', () => {
  const rules = (text: string) => configOf(smallestWith(`thresholds: [${text}]`))
  const one = '{ on: customProperties.overall, warning: { percent: 80 } }'
  const other = '{ on: customProperties.overall, warning: { percent: 85 } }'
  expect(changedPaths(rules(one), rules(other))).toEqual(['thresholds[0].warning.percent'])
  expect(changedPaths(rules(one), rules(`${one}, { on: associations.atLimit, warning: { count: 1 } }`))).toEqual([
    'thresholds',
  ])
  const key = `encryption: { keys: [{ id: k1, key: "${Buffer.alloc(32, 7).toString('base64')}" }] }`
  expect(changedPaths(config, configOf(smallestWith(key)))).toEqual(['encryption'])
})
