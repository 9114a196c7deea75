import { expect, test } from 'vitest'
import { changedPaths, configFingerprint, takeOver } from '../../config/schema/reload.ts'
import { configOf, LOGO, SMALLEST, smallestWith } from './load-text.ts'

const inForce = configOf(SMALLEST)
const restartsFor = (text: string) => {
  const next = configOf(smallestWith(text))
  return changedPaths(takeOver(inForce, next), next)
}
const appliedOf = (text: string) => changedPaths(inForce, takeOver(inForce, configOf(smallestWith(text))))

test.each([
  ['thresholds: [{ on: customProperties.overall, warning: { percent: 70 } }]', ['thresholds']],
  ['alerts: { repeatEvery: 12h, group: { wait: 10s } }', ['alerts.repeatEvery', 'alerts.group.wait']],
  ['limits: { every: 5m, soonest: 2m }', ['limits.every', 'limits.soonest']],
  ['tags: { vip: [1] }', ['tags.vip']],
  ['schedule: { pollLimits: "* * * * * *" }', ['schedule.pollLimits']],
  ['heartbeat: { url: "https://hc.example.com/x" }', ['heartbeat']],
  ['uninstall: { keep: 1d }', ['uninstall.keep']],
  ['log: { level: debug }', ['log.level']],
])('%s is taken over at once', (text, paths) => {
  expect(appliedOf(text)).toEqual(paths)
  expect(restartsFor(text)).toEqual([])
})

test.each([
  ['redis: { url: "redis://elsewhere:6379" }', ['redis.url']],
  ['dataDir: /elsewhere', ['dataDir']],
  ['tokens: { refreshFrom: 40% }', ['tokens.refreshFrom']],
  ['log: { pretty: true, file: /var/log/plimsoll.log }', ['log.pretty', 'log.file']],
])('%s needs a restart', (text, paths) => {
  expect(appliedOf(text)).toEqual([])
  expect(restartsFor(text)).toEqual(paths)
})

test('of the provider, who the app is and what it may be granted is taken over; where it is, is not', () => {
  const text =
    'provider: { clientId: other, clientSecret: other, scopes: [oauth, crm], baseUrl: "https://other.example.com", connections: 800 }'
  expect(appliedOf(text)).toEqual(['provider.clientId', 'provider.clientSecret[0]', 'provider.scopes'])
  expect(restartsFor(text)).toEqual(['provider.baseUrl', 'provider.connections'])
})

test('several client secrets are taken over', () => {
  const both = configOf(smallestWith('provider: { clientId: my-app, clientSecret: [new, old] }'))
  expect(takeOver(inForce, both).provider.clientSecret.map((secret) => secret.reveal())).toEqual(['new', 'old'])
})

test('keys that are left out of the file stay what they are', () => {
  const key = `encryption: { keys: [{ id: k1, key: "${Buffer.alloc(32, 7).toString('base64')}" }] }`
  const withKey = configOf(smallestWith(key))
  expect(takeOver(withKey, inForce).encryption).toEqual(withKey.encryption)
  expect(changedPaths(takeOver(withKey, inForce), inForce)).toEqual(['encryption'])
})

const config = configOf(SMALLEST)

test('a config has no changes against itself, read once more', () => {
  expect(changedPaths(config, configOf(SMALLEST))).toEqual([])
})

test('a change is named by the path of its setting, a secret too, and no value is', () => {
  expect(changedPaths(config, configOf(smallestWith('provider: { clientId: my-app, clientSecret: other }')))).toEqual([
    'provider.clientSecret[0]',
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

const KEY = Buffer.alloc(32, 1)
const of = (text: string, key = KEY) =>
  configFingerprint(configOf(text, { files: { 'a.svg': LOGO, '/b/c.svg': LOGO } }), key)

test('of one config it is always the same, whatever may differ between daemons', () => {
  expect(of(SMALLEST)).toMatch(/^[0-9a-f]{16}$/)
  expect(of(smallestWith('dataDir: /elsewhere\nlog: { level: debug }'))).toBe(of(SMALLEST))
  const branded = (logo: string) => smallestWith(`http: { publicUrl: https://x.test, brand: { logo: ${logo} } }`)
  expect(of(branded('a.svg'))).toBe(of(branded('/b/c.svg')))
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
