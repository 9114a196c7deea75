import { expect, test } from 'vitest'
import { KEY, noticesOf, SMALLEST, smallestWith } from './load-text.ts'

const QUIET = `
provider: { api: 2026-03, clientId: a, clientSecret: b, scopes: [oauth, crm.objects.contacts.read] }
http: { publicUrl: https://a.b, adminToken: sixteen-letters-or-more }
receivers: { ops: { type: webhook, url: https://a.b, secrets: ["${KEY}"] }, dba: { type: slack, url: https://a.b } }
routes: [ { to: [ops, dba] } ]
limits: { associations: [ { from: 0-1, to: 0-2 } ] }
`

const quietWith = (group: string) => QUIET.replace(new RegExp(`^${group.split(':')[0]}:.*\n`, 'm'), '') + group

test('a config that leaves nothing to say gets no notices', () => {
  expect(noticesOf(QUIET)).toEqual([])
})

test('the smallest file is told what it goes without', () => {
  expect(noticesOf(SMALLEST)).toEqual([
    'provider.scopes: no scope here opens the limits endpoints: HubSpot will answer polls with 403; add one of crm.objects.*.read, ' +
      'crm.objects.*.write, tickets, e-commerce, media_bridge.read',
    'limits.associations: empty: association limits are not polled; auto watches all pairs, or list them, like { from: "0-1", to: "0-2" }',
    'receivers: if ops fails, no alert reaches you: add a second receiver',
    'http: no adminToken: pages and API use the token in /work/dir/.plimsoll/admin-token, which the first start creates',
  ])
})

const V1 = SMALLEST.replace('provider: {', 'provider: { api: v1,')
const WAY_OUT = 'set provider.api: 2026-09 and send SIGHUP'

test.each([
  ['2026-11-18T00:00:00Z', []],
  ['2026-11-19T00:00:00Z', [`provider.api: API v1 ends on 2027-02-16, in 89 days: ${WAY_OUT}`]],
  ['2027-02-14T09:00:00Z', [`provider.api: API v1 ends on 2027-02-16, in 1 day: ${WAY_OUT}`]],
  ['2027-02-16T00:00:01Z', [`provider.api: API v1 ended on 2027-02-16: ${WAY_OUT}`]],
])('at %s the notices about v1 are %j', (at, notices) => {
  expect(noticesOf(V1, { now: Date.parse(at) }).filter((one) => one.startsWith('provider.api'))).toEqual(notices)
})

test.each([
  ['url: redis://:pw@redis:6379', 'redis.url: an eavesdropper on the traffic to redis reads', 'rediss:// encrypts it'],
  ['url: redis://10.1.2.3', 'redis.url: an eavesdropper on the traffic to 10.1.2.3 reads', 'rediss:// encrypts it'],
  ['sentinels: [localhost:1, b:2], name: m', 'redis.sentinels: an eavesdropper on the traffic to b reads', 'tls: true'],
  ['cluster: [c:1]', 'redis.cluster: an eavesdropper on the traffic to c reads', 'tls: true encrypts it'],
])('a Redis elsewhere in plain text gets a notice: %s', (redis, begins, fix) => {
  const notices = noticesOf(`${QUIET}redis: { ${redis} }\n`)
  expect(notices).toEqual([expect.stringContaining(begins)])
  expect(notices[0]).toContain(fix)
  expect(notices[0]).not.toContain('pw')
})

test.each([
  'url: redis://localhost:6379',
  'url: "redis://[::1]:6379"',
  'url: redis://127.0.0.1',
  'url: rediss://redis:6379',
  'url: redis://redis:6379, tls: true',
  'sentinels: [a:1], name: m, tls: true',
  'cluster: [127.0.0.1:1, localhost:2]',
])('one on this machine, or behind TLS, gets none: %s', (redis) => {
  expect(noticesOf(`${QUIET}redis: { ${redis} }\n`)).toEqual([])
})

test('rules about associations without pairs to poll get a notice, other rules do not', () => {
  const without = QUIET.replace(/^limits:.*\n/m, '')
  expect(noticesOf(without)).toHaveLength(1)
  const forSome = 'limits: { accounts: [ { match: { account: 1 }, associations: auto } ] }\n'
  expect(noticesOf(without + forSome)).toEqual([])
  expect(noticesOf(`${without}thresholds: [ { on: customProperties.*, warning: { percent: 80 } } ]\n`)).toEqual([])
})

test.each([
  'crm.objects.deals.write',
  'crm.objects.contacts.sensitive.read.v2',
  'tickets',
  'e-commerce',
  'media_bridge.read',
])('the scope %s opens the limits endpoints, required or optional', (scope) => {
  const provider = smallestWith(`provider: { api: 2026-03, clientId: a, clientSecret: b, optionalScopes: [${scope}] }`)
  expect(noticesOf(provider).join()).not.toContain('scopes')
})

test('crm.schemas scopes do not open the limits endpoints', () => {
  const text = smallestWith('provider: { clientId: a, clientSecret: b, scopes: [oauth, crm.schemas.contacts.read] }')
  expect(noticesOf(text).join()).toContain('answer polls with 403')
})

test.each<[name: string, group: string, ...notices: string[]]>([
  [
    'a percentage of everything',
    'thresholds: [ { on: "*", warning: { percent: 90 } } ]',
    'thresholds[0].warning: associations.atLimit and associations.nearLimit are counts: without `count` this never fires for them',
  ],
  [
    'a rule behind one that decides already',
    'thresholds: [ { on: associations.*, off: true }, { on: associations.atLimit, warning: { count: 1 } } ]',
    'thresholds[1]: never decides: thresholds[0] comes first and takes all that it is about',
  ],
  [
    'no route for the rest',
    'routes: [ { match: { level: critical }, to: [ops, dba] } ]',
    'routes: alerts that no route matches are not sent: add a last route without `match`',
  ],
  [
    'a route behind one for everything',
    'routes: [ { to: [ops, dba] }, { match: { kind: token }, to: [ops] } ]',
    'routes[1]: can never match: routes[0] matches everything',
  ],
  [
    'a short secret',
    'receivers: { ops: { type: webhook, url: https://a.b, secrets: [c2hvcnQ=] }, dba: { type: slack, url: https://a.b } }',
    'receivers.ops.secrets[0]: shorter than 24 bytes: easy to guess; to make a better one: openssl rand -base64 32',
  ],
  [
    'a receiver that nothing goes to',
    `receivers: { ops: { type: webhook, url: https://a.b, secrets: ["${KEY}"] }, dba: { type: slack, url: https://a.b }, crm: { type: slack, url: https://a.b } }`,
    'receivers.crm: no route sends anything here',
  ],
])('%s gets a notice', (_, group, ...notices) => {
  expect(noticesOf(quietWith(group))).toEqual(notices)
})

test('what works as written and does nothing good at night gets a notice', () => {
  const hook = (url: string, rest: string) =>
    quietWith(`receivers: { ops: { type: webhook, url: "${url}", ${rest} }, dba: { type: slack, url: https://a.b } }\n`)
  const signed = `secrets: ["${KEY}"]`
  expect(noticesOf(hook('https://hooks.slack.com/services/key', signed))).toEqual([
    'receivers.ops.format: Slack refuses messages in the format plimsoll: use type: slack, which needs no secrets',
  ])
  expect(noticesOf(hook('https://notslack.com/services/key', signed))).toEqual([])

  const http = (url: string) =>
    noticesOf(quietWith(`http: { publicUrl: ${url}, adminToken: sixteen-letters-or-more }\n`))
  expect(http('https://a.b/plimsoll')).toEqual([expect.stringMatching(/^http\.publicUrl: has a path: /)])
  expect(http('https://a.b/')).toEqual([])
})

test.each([
  'a@b.c',
  'Plimsoll <a@b.c>',
  '<a@b.c>',
  'Plimsoll (prod) <a@b.c>',
  '"Ops, Berlin" <a@b.c>',
  'Bereitschaft Zürich <a@b.c>',
])('%s is one address', (from) => {
  const email = `{ type: email, smtp: smtps://b.c, from: ${JSON.stringify(from)}, to: [a@b.c] }`
  expect(noticesOf(quietWith(`receivers: { ops: ${email}, dba: { type: slack, url: https://a.b } }\n`))).toEqual([])
})

test('a publicUrl of this machine at another port than listen is noticed', () => {
  const at = (http: string) => noticesOf(quietWith(`http: { ${http}, adminToken: sixteen-letters-or-more }\n`))
  expect(at('publicUrl: http://localhost:9000, listen: "127.0.0.1:8088"')).toEqual([
    expect.stringMatching(/^http\.publicUrl: this machine at port 9000, but http\.listen has port 8088: /),
  ])
  expect(at('publicUrl: http://localhost:9000, listen: "127.0.0.1:9000"')).toEqual([])
  expect(at('publicUrl: https://a.b, listen: "127.0.0.1:9000"')).toEqual([])
})
