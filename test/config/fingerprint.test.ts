import { expect, test } from 'vitest'
import { configFingerprint } from '../../config/in-force.ts'
import { configOf, SMALLEST, smallestWith } from './load-text.ts'

const KEY = Buffer.alloc(32, 1)
const of = (text: string, key = KEY) => configFingerprint(configOf(text), key)

test('of one config it is always the same, whatever may differ between daemons', () => {
  expect(of(SMALLEST)).toMatch(/^[0-9a-f]{16}$/)
  expect(of(smallestWith('dataDir: /elsewhere\nlog: { level: debug }'))).toBe(of(SMALLEST))
})

test('another setting is another one, and so are another secret and another order of rules', () => {
  const rules = [
    '{ on: associations.atLimit, warning: { count: 1 } }',
    '{ on: associations.nearLimit, warning: { count: 1 } }',
  ]
  const others = [
    SMALLEST,
    smallestWith('tags: { vip: [1] }'),
    smallestWith('provider: { clientId: my-app, clientSecret: another }'),
    smallestWith(`thresholds: [${rules.join(', ')}]`),
    smallestWith(`thresholds: [${rules.reverse().join(', ')}]`),
  ]
  expect(new Set(others.map((text) => of(text))).size).toBe(others.length)
})

test('without the key nobody finds out what it is of', () => {
  expect(of(SMALLEST, Buffer.alloc(32, 2))).not.toBe(of(SMALLEST))
})
