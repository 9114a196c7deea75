import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { changedPaths, configFingerprint, printConfig, takeOver } from '../../config/schema/in-force.ts'
import { configOf, LOGO, SMALLEST, smallestWith } from './load-text.ts'

const planted = (name: string) =>
  Buffer.from(`planted-${name}-planted-${name}`.padEnd(32, '.').slice(0, 32)).toString('base64')

const SECRETS = {
  CLIENT_SECRET: planted('client'),
  REDIS_PASSWORD: 'planted-redis',
  SMTP_PASSWORD: 'planted%2Fsmtp',
  HOOK_PATH: 'planted-hook-path',
  HOOK: planted('hook'),
  ADMIN: planted('admin'),
}

const FULL = `
provider: { clientId: my-app, clientSecret: "\${CLIENT_SECRET}" }
redis: { cluster: ["a:1", "[::1]:2"], password: "\${REDIS_PASSWORD}", tls: true }
encryption: { keys: [ { id: k1, keyFile: key }, { id: k2, key: "${planted('key')}" } ] }
http: { publicUrl: https://plimsoll.example.com, listen: "[::1]:0", adminToken: "\${ADMIN}" }
receivers:
  ops: { type: email, smtp: "smtps://planted-user:\${SMTP_PASSWORD}@mail.example.com:465", from: a@b.c, to: [a@b.c] }
  hook: { type: webhook, url: "https://hooks.example.com/\${HOOK_PATH}?x=planted-query", secrets: ["\${HOOK}"] }
routes:
  - { match: { level: critical, account: 123 }, to: [ops, hook] }
  - to: [ops]
tokens: { refreshFrom: 33.3%, refreshBy: 66.6% }
limits: { every: 90s }
uninstall: { keep: 0, afterRefused: 36h }
`
const GIVEN = { env: SECRETS, files: { key: planted('file') } }

test('shows no secret, wherever it came from', () => {
  const printed = printConfig(configOf(FULL, GIVEN))
  for (const secret of [...Object.values(SECRETS), planted('file'), planted('key')])
    expect(printed).not.toContain(secret)
  expect(printed).not.toContain('planted')
  expect(printed).toContain('smtp: smtps://[secret]@mail.example.com:465')
  expect(printed).toContain('url: https://hooks.example.com/[secret]')
})

test('hides each of several client secrets, and takes them over', () => {
  const both = configOf(smallestWith('provider: { clientId: my-app, clientSecret: [planted-new, planted-old] }'))
  expect(parse(printConfig(both)).provider.clientSecret).toEqual(['[secret]', '[secret]'])
  const { provider } = takeOver(configOf(SMALLEST), both)
  expect(provider.clientSecret.map((secret) => secret.reveal())).toEqual(['planted-new', 'planted-old'])
})

test('hides the password of a Redis address, not its host and database', () => {
  const printed = printConfig(configOf(`${SMALLEST}redis: { url: "redis://:planted@redis.example.com:6379/2" }`))
  expect(printed).toContain('url: redis://[secret]@redis.example.com:6379/2')
})

test('shows defaults, and every value as the file would have it', () => {
  const printed = parse(printConfig(configOf(FULL, GIVEN)))
  expect(printed.provider.timeout).toBe('10s')
  expect(printed.tokens).toEqual({ refreshFrom: '33.3%', refreshBy: '66.6%', mailInstaller: false })
  expect(printed.limits).toMatchObject({ every: '90s', history: { raw: '7d', hourly: '90d', daily: '800d' } })
  expect(printed.redis.cluster).toEqual(['a:1', '[::1]:2'])
  expect(printed.uninstall).toEqual({ keep: 0, afterRefused: '36h' })
  expect(parse(printConfig(configOf(SMALLEST))).uninstall).toEqual({ keep: '30d', afterRefused: 'never' })
  expect(printed.http.listen).toBe('[::1]:0')
  expect(printed.routes[0].match).toEqual({ level: ['critical'], account: ['123'] })
})

test('is itself a config that means the same, once the secrets are put back', () => {
  for (const text of [SMALLEST, FULL, withoutReferences(readFileSync('config/example.yaml', 'utf8'))]) {
    const files = { ...GIVEN.files, '.plimsoll/keys/k1': planted('file'), 'logo.svg': LOGO }
    const given = { ...GIVEN, files }
    const config = configOf(text, given)
    const again = configOf(stringify(putBack(parse(printConfig(config)))), given)
    expect(again).toEqual(config)
    expect(printConfig(again)).toEqual(printConfig(configOf(stringify(putBack(parse(printConfig(again)))), given)))
  }
})

const withoutReferences = (text: string) => text.replace(/\$\{[A-Z_]+\}/g, planted('any'))

function putBack(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('[secret]', planted('any').replaceAll(/[/+=]/g, 'x'))
  if (Array.isArray(value)) return value.map(putBack)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, held]) => [name, name === 'key' ? planted('key') : putBack(held)]),
  )
}

test('shows pairs as they are given: a list, or auto', () => {
  const limitsOf = (associations: string) =>
    parse(printConfig(configOf(`${SMALLEST}limits: { associations: ${associations} }`))).limits.associations
  expect(limitsOf('auto')).toBe('auto')
  expect(limitsOf('[ { from: 0-1, to: 0-2 } ]')).toEqual([{ from: '0-1', to: '0-2' }])
})

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
