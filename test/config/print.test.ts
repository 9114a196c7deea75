import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { printConfig } from '../../config/schema/print.ts'
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

test('hides each of several client secrets', () => {
  const both = configOf(smallestWith('provider: { clientId: my-app, clientSecret: [planted-new, planted-old] }'))
  expect(parse(printConfig(both)).provider.clientSecret).toEqual(['[secret]', '[secret]'])
})

test('shows a default that would not be taken from a file', () => {
  const printed = parse(printConfig(configOf(smallestWith('http: { publicUrl: http://plimsoll.lan, insecure: true }'))))
  expect(printed.provider).toMatchObject({ redirectUri: 'http://plimsoll.lan/oauth/callback', insecure: false })
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
