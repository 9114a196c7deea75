import { describe, expect, test } from 'vitest'
import { renderPath, renderProblem } from '../../config/problems.ts'
import { RECEIVER_SETTINGS } from '../../src/delivery/receivers/all-receivers.ts'
import { METRICS, REPORT_NAMES } from '../../src/limits/reports/all-reports.ts'
import { KEY, load, problemsOf, SMALLEST, smallestWith } from './load-text.ts'

const provider = (given: string) => `provider: { clientId: a, clientSecret: b, ${given} }`
const http = (given: string) => `http: { publicUrl: https://a.b, ${given} }`
const rules = (...given: string[]) => `thresholds:\n${given.map((rule) => `  - { ${rule} }\n`).join('')}`
const pairs = (given: string) => `limits: { associations: [ ${given} ] }`
const keys = (given: string) => `encryption: { keys: [ ${given} ] }`
const receiver = (given: string) => `receivers: { ops: { ${given} } }`
const email = (given: string) => receiver(`type: email, from: a@b.c, to: [a@b.c], ${given}`)
const hook = (given: string) => receiver(`type: webhook, ${given}`)
const signed = `secrets: ["${KEY}"]`
const routes = (...given: string[]) => `routes:\n${given.map((route) => `  - { ${route} }\n`).join('')}`

const TYPES = RECEIVER_SETTINGS.map(({ shape }) => shape.type.value).join(', ')
const SERIES = [...METRICS, ...REPORT_NAMES.map((name) => `${name}.*`), '*', 'limit-changed'].join(', ')
const COUNT_ONLY = 'associations.atLimit is a number of records without a limit: only count can be asked'
const NEEDS_TLS = (leave: string) =>
  `must start with https:// (http:// needs ${leave}: true, or a host that is this machine)`
const SMTP_URL =
  'must be an address that starts with smtps:// or smtp://; special characters in a password are %-encoded'
const MAIL = 'must be one e-mail address: a@example.com, Name <a@example.com> or "Name, too" <a@example.com>'
const TYPE_ID =
  'must be an objectTypeId, not a name: 0-1 contacts, 0-2 companies, 0-3 deals, 0-5 tickets, 2-123 a custom object'
const DURATION = 'must be a duration: a number with ms, s, m, h, d or w, like 30s or 7d'

describe('each kind of problem says where it is and what is allowed', () => {
  test.each<[name: string, group: string, ...problems: string[]]>([
    [
      'a trusted header without proxies',
      http('trustedUserHeader: X-User'),
      'http.trustedUserHeader: does nothing without trustedProxies: set both',
    ],
    [
      'trusted proxies and groups without a header',
      http('trustedProxies: [127.0.0.1], trustedGroupsHeader: X-Groups, trustedGroups: { "a,b": [read] }'),
      'http.trustedProxies: does nothing without trustedUserHeader: set both',
      'http.trustedGroupsHeader: does nothing without trustedUserHeader: set both',
      'http.trustedGroups["a,b"]: a group is text on one line, without commas',
    ],
    [
      'a header that clients set, one with an underscore, one header for two things',
      http('trustedUserHeader: X-Forwarded-For, trustedProxies: [::1], trustedGroupsHeader: X_Groups'),
      'http.trustedUserHeader: is a header with another meaning, which clients may set: choose one that the proxy sets, like X-Forwarded-User',
      'http.trustedGroupsHeader: must be the name of a header: letters, digits and -',
    ],
    [
      'one header for two things',
      http(
        'trustedUserHeader: X-User, trustedProxies: [::1], trustedGroupsHeader: x-user, trustedGroups: { a: [all] }',
      ),
      'http.trustedGroups.a[0]: must be one of read, tokens, write, audit',
      'http.trustedGroupsHeader: must be another header than trustedUserHeader',
    ],
    [
      'networks that are none, or trust everybody',
      http(
        'trustedUserHeader: X-User, trustedProxies: [proxy, 10.0.0.0/33, 0.0.0.0/0, "::/0", "::ffff:10.0.0.1", "fe80::1%eth0", 1.2.3]',
      ),
      'http.trustedProxies[0]: must be an address or a network, like 127.0.0.1, 10.0.0.0/8 or fd00::/8',
      'http.trustedProxies[1]: must have at most 32 bits behind /',
      'http.trustedProxies[2]: must have at least 8 bits behind /: name the proxies',
      'http.trustedProxies[3]: must have at least 8 bits behind /: name the proxies',
      'http.trustedProxies[4]: must be written as IPv4',
      'http.trustedProxies[5]: must be an address without %',
      'http.trustedProxies[6]: must be an address or a network, like 127.0.0.1, 10.0.0.0/8 or fd00::/8',
    ],
    ['an unknown group', 'tresholds: []', 'tresholds: unknown, did you mean "thresholds"?'],
    ['an unknown setting', 'alerts: { repeatEvry: 1h }', 'alerts.repeatEvry: unknown, did you mean "repeatEvery"?'],
    ['a setting far from any', 'log: { colour: red }', 'log.colour: unknown; allowed: level, pretty, file'],
    [
      'an address in the place of a name, which is shown without what may be secret in it',
      'heartbeat: { https://hc-ping.com/a-key, hc-ping.com/a-key }',
      'heartbeat.url: required, here or in a file that urlFile names',
      'heartbeat["https://hc-ping.com/[secret]"]: unknown; allowed: url, urlFile, every, tokens, overdueRefresh, outboxAge, insecure',
      'heartbeat["[secret]"]: unknown; allowed: url, urlFile, every, tokens, overdueRefresh, outboxAge, insecure',
    ],
    ...[
      'a@b.c, d@e.f',
      'a@b.c, D <d@e.f>',
      'D, E <d@e.f>',
      'group: x@y.z; <d@e.f>',
      '"A\\\r\\\nBcc: x@y.z" <d@e.f>',
      '"A\\\\" <d@e.f>',
    ].map((to): [string, string, string] => [
      `${to} for one address`,
      receiver(`type: email, smtp: smtps://b.c, from: a@b.c, to: [${JSON.stringify(to)}]`),
      `receivers.ops.to[0]: ${MAIL}`,
    ]),
    [
      'an address in the place of a word',
      hook(`${signed}, url: "https://a.b", format: "https://hooks.slack.com/a-key"`),
      'receivers.ops.format: not one of plimsoll, alertmanager, slack',
    ],
    ['a setting in the wrong group', 'clientId: x', 'clientId: unknown here; did you mean provider.clientId?'],
    [
      'a group in the wrong group',
      'log: { routes: x }',
      'log.routes: unknown here; did you mean routes at the top level?',
    ],
    [
      'a misspelled twin',
      keys('{ id: a, keyfile: b }'),
      'encryption.keys[0].key: required, here or in a file that keyFile names',
      'encryption.keys[0].keyfile: unknown, did you mean "keyFile"?',
    ],
    [
      'a name that is part of every object',
      'log: { __proto__: {}, constructor: {} }',
      'log.__proto__: unknown',
      'log.constructor: unknown; allowed: level, pretty, file',
    ],
    ['a text for a group', 'log: info', 'log: must be a group of settings (name: value)'],
    ['a group for a text', 'dataDir: { a: b }', 'dataDir: must be text on one line'],
    ['a text for a list', provider('scopes: oauth'), 'provider.scopes: must be a list'],
    [
      'an empty entry of a list',
      provider('optionalScopes: [~]'),
      'provider.optionalScopes[0]: must be the name of one scope, without spaces',
    ],
    [
      'a wrong word',
      'log: { level: inf }',
      'log.level: "inf" is not one of debug, info, warn, error, silent; did you mean "info"?',
    ],
    ['a word for a switch', 'log: { pretty: yes }', 'log.pretty: must be true or false'],
    ['a duration without unit', provider('timeout: 30'), 'provider.timeout: a duration needs its unit: write 30s'],
    ['a duration in words', provider('timeout: long'), `provider.timeout: ${DURATION}`],
    ['a duration of nothing', provider('timeout: 0'), 'provider.timeout: must be a duration from 100ms to 120s'],
    [
      'neither a duration nor never',
      'uninstall: { afterRefused: soon }',
      `uninstall.afterRefused: ${DURATION}; or never`,
    ],
    ['a fraction for a whole number', 'alerts: { for: 1.5 }', 'alerts.for: must be a whole number from 0 to 100'],
    ['too small a number', 'alerts: { group: { max: 0 } }', 'alerts.group.max: must be a whole number from 1 to 10000'],
    [
      'plain http for the provider',
      provider('baseUrl: http://crm.lan, redirectUri: http://a.b/c'),
      `provider.baseUrl: ${NEEDS_TLS('provider.insecure')}`,
      `provider.redirectUri: ${NEEDS_TLS('provider.insecure')}`,
    ],
    ['plain http for people', 'http: { publicUrl: http://a.b }', `http.publicUrl: ${NEEDS_TLS('http.insecure')}`],
    ['no address', 'http: { publicUrl: a.b }', 'http.publicUrl: must be an address that starts with https://'],
    [
      'an address with a password',
      provider('baseUrl: https://a:b@c.d'),
      'provider.baseUrl: must be an address without user and password',
    ],
    ['a port alone', http('listen: 8088'), 'http.listen: must be host:port, like 127.0.0.1:8088 or [::1]:8088'],
    [
      'an admin token with a space',
      http('adminToken: "admin token"'),
      'http.adminToken: must be letters, digits and signs without spaces',
    ],
    [
      'a short admin token',
      http('adminToken: fifteen-letters'),
      'http.adminToken: must have at least 16 characters; to make one: openssl rand -base64 24',
    ],
    [
      'two ways to Redis',
      'redis: { url: redis://a, cluster: ["a:1"] }',
      'redis: has url and cluster: keep one of them',
    ],
    ['sentinels without a name', 'redis: { sentinels: ["a:1"] }', 'redis.name: required with sentinels'],
    [
      'a password for the embedded Redis',
      'redis: { password: a }',
      'redis.password: has a meaning only with a server of your own: give url, sentinels or cluster',
    ],
    [
      'a Redis address of another kind',
      'redis: { url: http://a }',
      'redis.url: must be an address that starts with redis:// or rediss://; special characters in a password are %-encoded',
    ],
    ['a prefix with a brace', 'redis: { prefix: "{a}" }', 'redis.prefix: must be 1 to 40 letters, digits, _ . or -'],
    ['no keys', keys(''), 'encryption.keys: must have at least one key'],
    [
      'a key id used twice',
      keys(`{ id: a, key: "${KEY}" }, { id: a, key: "${KEY}" }`),
      'encryption.keys[1].id: an earlier key has this id',
    ],
    [
      'a cron expression of four fields',
      'schedule: { pollLimits: "* * * *" }',
      'schedule.pollLimits: must be a cron expression: 5 fields, or 6 with seconds first, like */10 * * * * *',
    ],
    [
      'refreshing from after by',
      'tokens: { refreshFrom: 80%, refreshBy: 80% }',
      'tokens.refreshFrom: must be less than refreshBy',
    ],
    [
      'failed calls that are a warning no sooner than critical',
      provider('failedCalls: { warning: 5% }'),
      'provider.failedCalls.warning: must be less than critical',
    ],
    ['a share out of range', 'tokens: { refreshBy: 99% }', 'tokens.refreshBy: must be from 1% to 95%'],
    [
      'another word than auto for the pairs',
      'limits: { associations: all }',
      'limits.associations: must be auto, or a list of { from, to }',
    ],
    ['a name for an object type', pairs('{ from: contacts, to: 0-2 }'), `limits.associations[0].from: ${TYPE_ID}`],
    [
      'a pair listed twice',
      pairs('{ from: 0-1, to: 0-2 }, { from: 0-1, to: 0-2 }'),
      'limits.associations[1]: this pair is listed already',
    ],
    [
      'an unknown series',
      rules('on: customProperty.overall, off: true'),
      `thresholds[0].on: "customProperty.overall" is not one of ${SERIES}; did you mean "customProperties.overall"?`,
    ],
    [
      'reports that read nothing',
      'limits: { reports: associations }',
      'limits.reports: reads nothing, because limits.associations names no pair: name one, or another report',
    ],
    [
      'automatic pairs without the report that names object types',
      'limits: { reports: [associations, pipelines], associations: auto }',
      'limits.associations: auto needs customProperties in limits.reports: it names the object types of an account',
    ],
    ['a rule without levels', rules('on: "*"'), 'thresholds[0]: needs warning, critical or off: true'],
    [
      'days left of a sample',
      rules('on: api.bucket, warning: { daysLeft: 3 }'),
      'thresholds[0].warning.daysLeft: api.bucket is a sample: it has no forecast',
    ],
    [
      'a rule that is off and not',
      rules('on: "*", off: true, warning: { count: 1 }'),
      'thresholds[0].off: off, but with warning: keep one of the two',
    ],
    [
      'a level without conditions',
      rules('on: "*", warning: {}'),
      'thresholds[0].warning: needs at least one of percent, count, remaining, daysLeft',
    ],
    [
      'warning after critical in days',
      rules('on: customProperties.overall, warning: { daysLeft: 7 }, critical: { daysLeft: 30 }'),
      'thresholds[0].warning.daysLeft: must be at least that of critical: warning comes first',
    ],
    [
      'percent of a count',
      rules('on: associations.atLimit, warning: { percent: 90 }'),
      `thresholds[0].warning.percent: ${COUNT_ONLY}`,
    ],
    [
      'a percentage of 0',
      rules('on: "*", warning: { percent: 0, count: 1 }'),
      'thresholds[0].warning.percent: must be a percentage above 0 and at most 1000, like 80',
    ],
    [
      'fullest below 80',
      rules('on: associations.fullest, warning: { percent: 79 }'),
      "thresholds[0].warning.percent: can't fire below 80: the provider reports a record as near its limit only from 80 % on",
    ],
    [
      'warning after critical',
      rules('on: customProperties.overall, warning: { percent: 90 }, critical: { percent: 80 }'),
      'thresholds[0].warning.percent: must be at most that of critical: warning comes first',
    ],
    [
      'a rule name used twice',
      rules('name: a, on: "*", off: true', 'name: a, on: associations.*, off: true'),
      'thresholds[1].name: an earlier rule has this name',
    ],
    [
      'matching what a series has not',
      rules('on: customProperties.overall, off: true, match: { objectType: 0-1, from: 0-1 }'),
      'thresholds[0].match.from: can never match: customProperties.overall has no from',
      'thresholds[0].match.objectType: can never match: customProperties.overall has no objectType',
    ],
    [
      'matching an object type by name',
      rules('on: "*", off: true, match: { objectType: [0-1, deals] }'),
      'thresholds[0].match.objectType[1]: must be an objectTypeId like 0-1 or a pattern like 2-*, not a name',
    ],
    ['no routes', 'routes: []', 'routes: must have at least one route'],
    ['a route to nobody', routes('to: []'), 'routes[0].to: must name at least one receiver'],
    [
      'a route to an unknown receiver',
      routes('to: [ops, osp]', 'to: [everybody]'),
      'routes[0].to[1]: no receiver has this name, did you mean "ops"?',
      'routes[1].to[0]: no receiver has this name; allowed: ops',
    ],
    [
      'a wrong level, alone and in a list',
      routes('match: { level: critcal }, to: [ops]', 'match: { level: [warning, warn] }, to: [ops]'),
      'routes[0].match.level: "critcal" is not one of warning, critical; did you mean "critical"?',
      'routes[1].match.level[1]: "warn" is not one of warning, critical',
    ],
    [
      'a wrong kind',
      routes('match: { kind: tokens }, to: [ops]'),
      'routes[0].match.kind: "tokens" is not one of limit, limit-changed, token, poll, fleet, delivery, test; did you mean "token"?',
    ],
    [
      'an unknown rule in a route',
      routes('match: { rule: associations.fulest }, to: [ops]'),
      'routes[0].match.rule: no rule has this name, did you mean "associations.fullest"?',
    ],
    [
      'no receivers',
      'receivers: {}',
      'receivers: must have at least one receiver',
      'routes[0].to[0]: no receiver has this name',
    ],
    ['a receiver without a type', receiver(''), `receivers.ops.type: required: one of ${TYPES}`],
    [
      'a receiver of an unknown type',
      receiver('type: mail'),
      `receivers.ops.type: "mail" is not one of ${TYPES}; did you mean "email"?`,
    ],
    [
      'a setting of another type of receiver',
      email('smtp: smtp://a, url: https://a.b'),
      'receivers.ops.url: unknown; allowed: type, smtp, smtpFile, from, to, template, digest, insecure',
    ],
    ['a heartbeat over plain http', 'heartbeat: { url: "http://a.b/key" }', `heartbeat.url: ${NEEDS_TLS('insecure')}`],
    [
      'a heartbeat without an address, too often',
      'heartbeat: { every: 5s }',
      'heartbeat.every: must be a duration from 30s to 1h',
      'heartbeat.url: required, here or in a file that urlFile names',
    ],
    [
      'a digest at no time, in no place',
      email('smtp: smtps://a, digest: { at: "24:00", timeZone: Atlantis/City }'),
      'receivers.ops.digest.at: must be a time from "00:00" to "23:59", in quotes',
      'receivers.ops.digest.timeZone: no time zone has this name, use a name like Europe/Berlin',
    ],
    [
      'a day of a daily digest',
      hook(`url: https://a.b, ${signed}, digest: { on: monday }`),
      'receivers.ops.digest.on: has a meaning only with every: week',
    ],
    ['a mail server that is none', email('smtp: mail.example.com'), `receivers.ops.smtp: ${SMTP_URL}`],
    [
      'no addressee',
      receiver('type: email, smtp: smtp://a, from: a@b.c, to: []'),
      'receivers.ops.to: must have at least one address',
    ],
    [
      'addresses that are none',
      receiver('type: email, smtp: smtp://a, from: ops, to: ["a@b.c", "Ops a@b.c"]'),
      `receivers.ops.from: ${MAIL}`,
      `receivers.ops.to[1]: ${MAIL}`,
    ],
    ['a webhook over plain http', hook(`url: http://a.b, ${signed}`), `receivers.ops.url: ${NEEDS_TLS('insecure')}`],
    [
      'a webhook without secrets',
      hook('url: https://a.b, secrets: []'),
      'receivers.ops.secrets: must have at least one: openssl rand -base64 32; for Slack write type: slack instead',
    ],
    [
      'a webhook whose secrets are missing',
      hook('url: https://a.b'),
      'receivers.ops.secrets: must have at least one: openssl rand -base64 32; for Slack write type: slack instead',
    ],
    ['a webhook for Slack, which asks for no secrets', hook('url: https://a.b, format: slack')],
    ['a webhook for those who know Alertmanager, signed', hook(`url: https://a.b, format: alertmanager, ${signed}`)],
    [
      'a secret that is not base64',
      hook('url: https://a.b, secrets: ["not base64"]'),
      'receivers.ops.secrets[0]: must be in base64; to make one: openssl rand -base64 32',
    ],
    [
      'a format of never',
      hook(`url: https://a.b, format: plimsol, ${signed}`),
      'receivers.ops.format: "plimsol" is not one of plimsoll, alertmanager, slack; did you mean "plimsoll"?',
    ],
  ])('%s', (_, group, ...problems) => {
    expect(problemsOf(smallestWith(group)).sort()).toEqual(problems.sort())
  })

  test("a receiver's name with a space", () => {
    expect(problemsOf(smallestWith(receiver('').replace('ops', '"the ops"')))).toContain(
      `receivers["the ops"]: a receiver's name is made of letters, digits, _ and -`,
    )
  })
})

test('what is missing is named setting by setting, with the way to give secrets', () => {
  expect(problemsOf('log: {}').sort()).toEqual([
    'http.publicUrl: required',
    'provider.clientId: required',
    'provider.clientSecret: required, here or in a file that clientSecretFile names',
    'receivers: required',
    'routes: required',
  ])
})

test('all problems are told at once, in the order of the file, each as a line that leads there', () => {
  const result = load(`
provider: { clientId: a, clientSecret: "\${NOT_SET}", timeout: 30 }
http: { publicUrl: https://plimsoll.example.com, adminToken: "a b" }
routes: [ { match: { level: critcal }, to: [osp] } ]
receivers:
  ops:
    type: webhook
    url: http://hooks.example.com
    secrets: ["%"]
    frmat: plimsoll
thresholds:
  - { on: associations.atLimit, treshold: 3, warning: { percent: 90 } }
log: { level: info }
log: {}
`)
  const lines = result.ok ? [] : result.problems.map((problem) => renderProblem('config/plimsoll.yaml', problem))
  expect(lines).toEqual([
    'config/plimsoll.yaml:2:40 provider.clientSecret: the environment variable NOT_SET is not set',
    'config/plimsoll.yaml:2:63 provider.timeout: a duration needs its unit: write 30s',
    'config/plimsoll.yaml:3:62 http.adminToken: must be letters, digits and signs without spaces',
    'config/plimsoll.yaml:4:29 routes[0].match.level: "critcal" is not one of warning, critical; did you mean "critical"?',
    'config/plimsoll.yaml:4:45 routes[0].to[0]: no receiver has this name, did you mean "ops"?',
    `config/plimsoll.yaml:8:10 receivers.ops.url: ${NEEDS_TLS('insecure')}`,
    'config/plimsoll.yaml:9:15 receivers.ops.secrets[0]: must be in base64; to make one: openssl rand -base64 32',
    'config/plimsoll.yaml:10:5 receivers.ops.frmat: unknown, did you mean "format"?',
    'config/plimsoll.yaml:12:33 thresholds[0].treshold: unknown; allowed: name, on, match, off, warning, critical, recoverBelow',
    `config/plimsoll.yaml:12:66 thresholds[0].warning.percent: ${COUNT_ONLY}`,
    'config/plimsoll.yaml:14:1 log: given twice: first in line 13',
  ])
})

test('the scheduler has the last word on cron expressions', () => {
  const text = `${SMALLEST}schedule: { pollLimits: "99 * * * *", refreshTokens: "* * * * *" }`
  expect(problemsOf(text, { validateCron: (expression) => !expression.startsWith('99') })).toEqual([
    'schedule.pollLimits: not a cron expression: 5 fields, or 6 with seconds first, like */10 * * * * *',
  ])
})

test('paths are written as they would be in a program', () => {
  expect(renderPath(['thresholds', 2, 'warning', 'percent'])).toBe('thresholds[2].warning.percent')
  expect(renderPath(['receivers', 'a b', 'to', 0])).toBe('receivers["a b"].to[0]')
  expect(renderPath([])).toBe('')
})

test('a problem of the whole file is told without a path', () => {
  expect(renderProblem('a.yaml', { path: '', message: 'empty' })).toBe('a.yaml: empty')
})
