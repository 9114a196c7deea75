import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../config/schema/load.ts'
import { lineOf } from '../../config/schema/thresholds.ts'
import { RECEIVER_SETTINGS } from '../../src/delivery/receivers/all-receivers.ts'
import { REPORTS } from '../../src/limits/reports/all-reports.ts'
import { configOf, KEY, load, problemsOf, SMALLEST, smallestWith } from './load-text.ts'

const TYPES = RECEIVER_SETTINGS.map(({ shape }) => shape.type.value).join(', ')
const HOUR = 3_600_000
const DAY = 24 * HOUR

test('fills in every default of the smallest file', () => {
  const { provider, receivers, ...config } = configOf(SMALLEST)
  expect(provider.clientSecret.map((secret) => secret.reveal())).toEqual(['hush-hush'])
  expect({ ...provider, clientSecret: '' }).toEqual({
    api: '2026-09',
    baseUrl: 'https://api.hubapi.com',
    installUrl: 'https://app.hubspot.com/oauth/authorize',
    clientId: 'my-app',
    clientSecret: '',
    redirectUri: 'https://plimsoll.example.com/oauth/callback',
    scopes: ['oauth'],
    optionalScopes: [],
    marketplaceInstall: false,
    timeout: 10_000,
    connections: 64,
    accountRate: { requests: 20, per: 10_000 },
    failedCalls: { warning: 0.03, critical: 0.05 },
    insecure: false,
  })
  expect(receivers.ops).toMatchObject({ type: 'email', to: ['ops@example.com'], insecure: false })
  expect(config).toEqual({
    redis: { prefix: 'plimsoll', tls: false },
    dataDir: '/work/dir/.plimsoll',
    schedule: { refreshTokens: '*/10 * * * * *', pollLimits: '*/15 * * * * *' },
    tokens: { refreshFrom: 0.5, refreshBy: 0.8, mailInstaller: false },
    tags: {},
    limits: {
      reports: ['customProperties', 'associations'],
      every: 15 * 60_000,
      soonest: 5 * 60_000,
      accounts: [],
      associations: [],
      pairsPerPoll: 20,
      alertAfter: 1_800_000,
      freshness: 26 * 3_600_000,
      coverage: 0.95,
      history: { raw: 7 * DAY, hourly: 90 * DAY, daily: 800 * DAY, samples: 30 * DAY },
      records: 'full',
    },
    uninstall: { keep: 30 * DAY, afterRefused: 'never' },
    thresholds: [
      rule('customProperties.overall', { warning: { percent: 80 }, critical: { percent: 95 } }),
      rule('customProperties.objectType', { warning: { percent: 80 }, critical: { percent: 95 } }),
      rule('associations.atLimit', { warning: { count: 1 } }),
      rule('associations.fullest', { warning: { percent: 90 }, critical: { percent: 100 } }),
      ...REPORTS.filter(({ mayLack }) => mayLack).map(({ name }) =>
        rule(`${name}.*`, { warning: { percent: 80 }, critical: { percent: 95 } }),
      ),
    ],
    alerts: {
      recoverBelow: 3,
      for: 0,
      repeatEvery: DAY,
      worse: 'on',
      acknowledgeFor: 604_800_000,
      group: { by: ['account'], wait: 30_000, interval: 300_000, max: 200 },
      firstRun: 'digest',
    },
    routes: [{ match: {}, to: ['ops'] }],
    http: {
      listen: { host: '127.0.0.1', port: 8088 },
      publicUrl: 'https://plimsoll.example.com',
      metrics: 'token',
      brand: {},
      insecure: false,
    },
    log: { level: 'info', pretty: false },
  })
})

const rule = (on: string, levels: object) => ({ name: on, on, match: {}, off: false, ...levels })

test('loads the documented file as it is documented', () => {
  const config = configOf(DOCUMENTED, {
    env: {
      PLIMSOLL_CLIENT_ID: 'id',
      PLIMSOLL_CLIENT_SECRET: 'hush',
      SMTP_PASSWORD: 'p%40ss',
      WEBHOOK_SECRET: `whsec_${KEY}`,
      PLIMSOLL_ADMIN_TOKEN: 'an-admin-token-of-length',
    },
    files: { '.plimsoll/keys/k1': `${KEY}\n` },
  })
  expect(config.encryption?.keys[0]?.key.reveal()).toBe(KEY)
  expect(config.redis.url?.reveal()).toBe('redis://localhost:6379')
  expect(config.thresholds[0]).toEqual({
    name: '*',
    on: '*',
    match: { account: ['1234567', '*.example.com'] },
    off: true,
  })
  const lines = DOCUMENTED.split('\n')
  for (const [n, rule] of config.thresholds.entries()) {
    const line = lineOf(rule)
    expect(lines[(line ?? 0) - 1], `thresholds[${n}]`).toContain(`on: ${n === 0 ? '"*"' : rule.on}`)
  }
  expect(config.receivers['ops-mail']).toMatchObject({ from: 'Plimsoll <plimsoll@example.com>' })
  expect(config.http.adminToken?.reveal()).toBe('an-admin-token-of-length')
})

const DOCUMENTED = `
provider:
  api: v1
  baseUrl: https://api.hubapi.com
  installUrl: https://app.hubspot.com/oauth/authorize
  clientId: \${PLIMSOLL_CLIENT_ID}
  clientSecret: \${PLIMSOLL_CLIENT_SECRET}        # or clientSecretFile
  redirectUri: https://plimsoll.example.com/oauth/callback
  scopes: [oauth, crm.objects.contacts.read]
  optionalScopes: []
  timeout: 10s
  accountRate: { requests: 20, per: 10s }
redis: { url: "redis://localhost:6379", prefix: plimsoll }
dataDir: ./.plimsoll
encryption: { keys: [ { id: k1, keyFile: ./.plimsoll/keys/k1 } ] }   # first one writes, all read
schedule:
  refreshTokens: "*/10 * * * * *"
  pollLimits: "*/15 * * * * *"
tokens: { refreshFrom: 50%, refreshBy: 80% }
limits:
  every: 15m
  associations: [ { from: "0-1", to: "0-2" }, { from: "0-1", to: "0-3" } ]
  history: { raw: 7d, hourly: 90d, daily: 800d }
thresholds:
  - { on: "*", match: { account: [1234567, "*.example.com"] }, off: true }
  - { on: customProperties.overall, warning: { percent: 80 }, critical: { percent: 95, daysLeft: 7 } }
  - { on: customProperties.objectType, match: { objectType: "2-*" }, warning: { remaining: 20 }, critical: { remaining: 5 } }
  - { on: associations.atLimit, warning: { count: 1 }, critical: { count: 50 } }
  - { on: associations.nearLimit, warning: { count: 10 } }
  - { on: associations.fullest, warning: { percent: 90 }, critical: { percent: 100 } }
alerts:
  recoverBelow: 3
  for: 0
  repeatEvery: 24h
  group: { by: [rule], wait: 30s, interval: 5m, max: 200 }
  firstRun: digest
routes:
  - { match: { level: critical }, to: [ops-mail, ops-hook] }
  - { match: { kind: token }, to: [ops-mail] }
  - { to: [ops-mail] }
receivers:
  ops-mail: { type: email, smtp: "smtps://user:\${SMTP_PASSWORD}@mail.example.com:465", from: "Plimsoll <plimsoll@example.com>", to: [ops@example.com] }
  ops-hook: { type: webhook, url: "https://hooks.example.com/plimsoll", secrets: ["\${WEBHOOK_SECRET}"], format: plimsoll }
http: { listen: "127.0.0.1:8088", publicUrl: "https://plimsoll.example.com", adminToken: "\${PLIMSOLL_ADMIN_TOKEN}" }
log: { level: info, pretty: false }
`

describe('reads values as they are meant', () => {
  test('days to the limit may stand alone', () => {
    const text = smallestWith('thresholds: [ { on: associations.fullest, warning: { daysLeft: 30.5 } } ]')
    expect(configOf(text).thresholds[0]?.warning).toEqual({ daysLeft: 30.5 })
  })

  test('a number where text is wanted keeps its digits', () => {
    const { provider } = configOf(smallestWith('provider: { clientId: 00123456789012345678901, clientSecret: 1e5 }'))
    expect(provider.clientId).toBe('00123456789012345678901')
    expect(provider.clientSecret[0]?.reveal()).toBe('1e5')
  })

  test('an empty group is as good as none', () => {
    expect(configOf(`${SMALLEST}log:\nalerts:\n  group:\n`).log).toEqual({ level: 'info', pretty: false })
  })

  test('a setting without a value is as good as none, but its name must be known', () => {
    expect(problemsOf(`${SMALLEST}log:\n  level:\n  colour:\n`)).toEqual([
      'log.colour: unknown; allowed: level, pretty, file',
    ])
  })

  test('what has a name of its own is not left out without a value', () => {
    const hook = `type: webhook, url: https://a.b, secrets: ["${KEY}"]`
    const text = smallestWith(`receivers: { ops: { ${hook}, headers: { X-Key: } }, mail: }`)
    expect(problemsOf(`${text}tags: { vip: }`)).toEqual([
      'receivers.ops.headers.X-Key: must be text',
      'receivers.mail: must be a group of settings (name: value)',
      'tags.vip: must be a list',
    ])
    const { ops } = configOf(smallestWith(`receivers: { ops: { ${hook}, payload: { a: { b: , c: 1 } } } }`)).receivers
    expect(ops).toMatchObject({ payload: { a: { b: null, c: 1 } } })
  })

  test('trailing slashes of addresses are dropped', () => {
    const config = configOf(smallestWith('http: { publicUrl: https://example.com/plimsoll/ }'))
    expect(config.http.publicUrl).toBe('https://example.com/plimsoll')
    expect(config.provider.redirectUri).toBe('https://example.com/plimsoll/oauth/callback')
  })

  test.each([
    ['"0.0.0.0:0"', { host: '0.0.0.0', port: 0 }],
    ['"[::1]:8088"', { host: '::1', port: 8088 }],
    ['localhost:80', { host: 'localhost', port: 80 }],
  ])('listens on %s', (listen, expected) => {
    const config = configOf(smallestWith(`http: { listen: ${listen}, publicUrl: https://example.com }`))
    expect(config.http.listen).toEqual(expected)
  })

  test.each([
    ['sentinels', 'redis: { sentinels: ["a:26379", "b:26379"], name: mymaster, password: pw, tls: true }'],
    ['a cluster', 'redis: { cluster: ["a:7000"], password: pw }'],
    ['the embedded server with a prefix of its own', 'redis: { prefix: x }'],
    ['a url', 'redis: { url: rediss://user:pw@redis.example.com:6380/2, tls: true }'],
  ])('takes %s as Redis', (_, redis) => {
    expect(problemsOf(smallestWith(redis))).toEqual([])
  })

  test('aliases stand for what they name', () => {
    const text = smallestWith(
      'limits: { associations: [ { from: &contacts 0-1, to: 0-2 }, { from: *contacts, to: 0-3 } ] }',
    )
    expect(configOf(text).limits.associations[1]).toEqual({ from: '0-1', to: '0-3' })
  })

  test.each(['http://localhost:8090', 'http://127.0.0.1', 'http://[::1]:1/x', 'http://sandbox.localhost:8090'])(
    'needs no leave for plain %s: it never leaves this machine',
    (url) => {
      const given = `provider: { clientId: a, clientSecret: b, baseUrl: "${url}", redirectUri: "${url}/callback" }`
      expect(problemsOf(smallestWith(given))).toEqual([])
    },
  )

  test('takes who may name a person, and what groups may do', () => {
    const trusted = `http:
  publicUrl: https://plimsoll.example.com
  trustedUserHeader: X-Forwarded-User
  trustedProxies: [127.0.0.1, "10.0.0.0/8", "fd00::/8"]
  trustedGroupsHeader: X-Forwarded-Groups
  trustedGroups: { ops: [read, write, audit], "/plimsoll/support": [read] }
`
    expect(configOf(smallestWith(trusted)).http).toMatchObject({
      trustedUserHeader: 'X-Forwarded-User',
      trustedGroupsHeader: 'X-Forwarded-Groups',
      trustedProxies: ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'],
      trustedGroups: { ops: ['read', 'write', 'audit'], '/plimsoll/support': ['read'] },
    })
  })

  test('insecure gives leave for plain http elsewhere', () => {
    const provider = 'provider: { clientId: a, clientSecret: b, baseUrl: http://crm.lan, insecure: true }'
    expect(problemsOf(smallestWith(provider))).toEqual([])
    expect(problemsOf(smallestWith('http: { publicUrl: http://plimsoll.lan, insecure: true }'))).toEqual([])
  })
})

describe('environment variables', () => {
  test('take the place of their names, as often as they are named', () => {
    const text = smallestWith('http: { publicUrl: "https://${HOST}/${PATH}" }')
    expect(configOf(text, { env: { HOST: 'example.com', PATH: 'a' } }).http.publicUrl).toBe('https://example.com/a')
  })

  test('are taken as YAML where the whole value is one of them and no text is wanted', () => {
    const text = `${SMALLEST}log: { pretty: "\${PRETTY}" }\nalerts: { for: "\${FOR}", repeatEvery: "\${REPEAT}" }`
    const config = configOf(text, { env: { PRETTY: 'true', FOR: '2', REPEAT: '2h' } })
    expect(config.log.pretty).toBe(true)
    expect(config.alerts).toMatchObject({ for: 2, repeatEvery: 2 * HOUR })
  })

  test('stay text where text is wanted', () => {
    const text = smallestWith('provider: { clientId: "${ID}", clientSecret: "${SECRET}" }')
    const { provider } = configOf(text, { env: { ID: '007', SECRET: 'true' } })
    expect([provider.clientId, provider.clientSecret[0]?.reveal()]).toEqual(['007', 'true'])
  })

  test('are not taken twice: what a variable holds is not looked into', () => {
    const text = smallestWith('provider: { clientId: "${ID}", clientSecret: x }')
    expect(configOf(text, { env: { ID: '${HOME}' } }).provider.clientId).toBe('${HOME}')
  })

  test('may say of what type a receiver is', () => {
    const text = SMALLEST.replace('type: email', 'type: "${TYPE}"')
    expect(configOf(text, { env: { TYPE: 'email' } }).receivers.ops?.type).toBe('email')
    expect(problemsOf(text, { env: { TYPE: 'planted' } })).toEqual([`receivers.ops.type: must be one of ${TYPES}`])
  })

  test('a doubled dollar stands for itself', () => {
    const text = smallestWith('provider: { clientId: "a$${ID}$$b$", clientSecret: x }')
    expect(configOf(text).provider.clientId).toBe('a${ID}$$b$')
  })

  test.each([
    ['${NOT_SET}', 'the environment variable NOT_SET is not set'],
    ['${CLIENT_IT}', 'the environment variable CLIENT_IT is not set, did you mean CLIENT_ID?'],
    ['${toString}', 'the environment variable toString is not set'],
    [
      '${open',
      'a ${ starts the name of an environment variable, as in ${NAME}: letters, digits and _; for the two characters write $${',
    ],
    [
      '${A:-b}',
      'a ${ starts the name of an environment variable, as in ${NAME}: letters, digits and _; for the two characters write $${',
    ],
  ])('%s is a problem', (written, message) => {
    const text = smallestWith(`provider: { clientId: '${written}', clientSecret: x }`)
    expect(problemsOf(text, { env: { CLIENT_ID: 'x' } })).toEqual([`provider.clientId: ${message}`])
  })

  test('what they hold is never quoted', () => {
    const text = `${SMALLEST}log: { level: "\${A}" }\nalerts: { repeatEvery: "\${B}", group: { by: ["\${A}"] } }`
    const problems = problemsOf(text, { env: { A: 'inf0', B: '4711' } })
    expect(problems).toHaveLength(3)
    expect(problems.join()).not.toMatch(/inf0|4711/)
  })
})

describe('secrets in files', () => {
  const hooks = (hook: string) =>
    `receivers:\n  ops: { type: webhook, ${hook} }\n  mail: { type: email, smtpFile: smtp, from: a@b.c, to: [a@b.c] }`
  const files = {
    secret: 'from-the-file\n',
    '/run/token': 'a-token-of-some-length\r\n',
    key: KEY,
    redis: 'redis://:pw@localhost\n',
    smtp: 'smtp://u:p@localhost:25\n',
    hook: 'https://hooks.example.com/x\n',
    hooks: `${KEY}\n\nwhsec_${KEY}\n`,
  }

  test('each secret may be in one, without its last line break', () => {
    const text = `
provider: { clientId: a, clientSecretFile: "\${DIR}/secret" }
http: { publicUrl: https://a.b, adminTokenFile: /run/token }
encryption: { keys: [ { id: k1, keyFile: ./key } ] }
redis: { urlFile: redis }
routes: [ { to: [ops, mail] } ]
${hooks('urlFile: hook, secretsFile: hooks')}`
    const config = configOf(text, { files, env: { DIR: '.' } })
    expect(config.provider.clientSecret.map((secret) => secret.reveal())).toEqual(['from-the-file'])
    expect(config.http.adminToken?.reveal()).toBe('a-token-of-some-length')
    expect(config.encryption?.keys[0]?.key.reveal()).toBe(KEY)
    expect(config.redis.url?.reveal()).toBe('redis://:pw@localhost')
    const { ops, mail } = config.receivers
    expect(mail?.type === 'email' && mail.smtp.reveal()).toBe('smtp://u:p@localhost:25')
    expect(ops?.type === 'webhook' && [ops.url, ...ops.secrets].map((secret) => secret.reveal())).toEqual([
      'https://hooks.example.com/x',
      KEY,
      `whsec_${KEY}`,
    ])
    expect(config.provider).not.toHaveProperty('clientSecretFile')
  })

  test('a client secret that is being changed may be two, as a list or one a line', () => {
    const secrets = (given: string) =>
      configOf(smallestWith(`provider: { clientId: a, ${given} }`), {
        files: { both: 'new-one\r\n\n  old-one \n' },
        env: { NEW: 'new-one' },
      }).provider.clientSecret.map((secret) => secret.reveal())
    expect(secrets('clientSecretFile: both')).toEqual(['new-one', 'old-one'])
    expect(secrets('clientSecret: ["${NEW}", old-one]')).toEqual(['new-one', 'old-one'])
    const wrong = smallestWith('provider: { clientId: a, clientSecret: [a, ""] }')
    expect(problemsOf(wrong)).toEqual(['provider.clientSecret[1]: must not be empty'])
    const none = smallestWith('provider: { clientId: a, clientSecret: [] }')
    expect(problemsOf(none)).toEqual(['provider.clientSecret: must have at least one entry, or be left out'])
  })

  const beside = 'is set beside clientSecret: keep one of the two'
  const orHere = 'write the secret into it, or give clientSecret here'
  test.each([
    ['a twin beside the secret', 'clientSecret: x, clientSecretFile: secret', beside],
    ['a missing file', 'clientSecretFile: gone', `there is no such file: /work/dir/gone; ${orHere}`],
    [
      'a forbidden file',
      'clientSecretFile: forbidden',
      `this user may not read the file: /work/dir/forbidden; ${orHere}`,
    ],
    ['an empty file', 'clientSecretFile: empty', `the file is empty: /work/dir/empty; ${orHere}`],
    ['a file with a tab', 'clientSecretFile: tab', 'content of the file: must be text on one line'],
    ['no path', 'clientSecretFile: [a]', 'must be the path of a file'],
    ['a path in a variable that is not set', 'clientSecretFile: "${NO}"', 'the environment variable NO is not set'],
    ['a secret where the path should be', 'clientSecretFile: "${OOPS}"', `there is no such file; ${orHere}`],
  ])('%s is a problem', (_, given, message) => {
    const text = smallestWith(`provider: { clientId: a, ${given} }`)
    const disk = { ...files, empty: '\n', tab: 'a\tb\n' }
    expect(problemsOf(text, { files: disk, env: { OOPS: 'the-secret-itself' } })).toEqual([
      `provider.clientSecretFile: ${message}`,
    ])
  })

  test('a key may come from a file, from the environment, or as a credential of systemd', () => {
    const sources =
      '{ id: k1, keyFile: key }, { id: k2, key: "${KEY}" }, { id: k3, keyFile: "${CREDENTIALS_DIRECTORY}/k3" }'
    const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64')
    const { encryption } = configOf(`${SMALLEST}encryption: { keys: [${sources}] }`, {
      files: { key: `${keyOf(1)}\n`, '/run/credentials/plimsoll.service/k3': keyOf(3) },
      env: { KEY: keyOf(2), CREDENTIALS_DIRECTORY: '/run/credentials/plimsoll.service' },
    })
    expect(encryption?.keys.map(({ key }) => key.reveal())).toEqual([keyOf(1), keyOf(2), keyOf(3)])
    // Without quotes, as in the README.
    const bare = 'encryption:\n  keys:\n    - id: k1\n      keyFile: ${CREDENTIALS_DIRECTORY}/k1\n'
    const given = { files: { '/run/c/k1': keyOf(4) }, env: { CREDENTIALS_DIRECTORY: '/run/c' } }
    expect(configOf(`${SMALLEST}${bare}`, given).encryption?.keys[0]?.key.reveal()).toBe(keyOf(4))
  })

  test('a missing key file says how to make one', () => {
    expect(problemsOf(`${SMALLEST}encryption: { keys: [ { id: k1, keyFile: keys/k1 } ] }`)).toEqual([
      'encryption.keys[0].keyFile: there is no such file: /work/dir/keys/k1; to make one: openssl rand -base64 32 > /work/dir/keys/k1',
    ])
  })

  test('only a secret has a twin, and no file is read for another name', () => {
    const text = `${smallestWith('provider: { clientIdFile: secret, clientSecret: x }')}log: { urlFile: gone }`
    expect(problemsOf(text, { files }).sort()).toEqual([
      'log.urlFile: unknown here; did you mean redis.urlFile or heartbeat.urlFile?',
      'provider.clientId: required',
      'provider.clientIdFile: unknown, did you mean "clientId"?',
    ])
  })

  test('a file that holds no key is told at the file', () => {
    const text = `${SMALLEST}encryption: { keys: [ { id: k1, keyFile: secret } ] }`
    expect(problemsOf(text, { files })).toEqual([
      'encryption.keys[0].keyFile: content of the file: must be 32 bytes in base64; to make one: openssl rand -base64 32',
    ])
  })
})

describe('a file that can not be read as a config', () => {
  test.each([
    ['an empty file', '', 'the file is empty; the least it must have: provider.clientId'],
    ['a file of comments', '# nothing\n', 'the file is empty'],
    ['plain text', 'hello', 'must be a group of settings'],
    ['a list', '- a', 'must be a group of settings'],
    ['broken YAML', 'log: { level: info', 'YAML: Flow map in block collection'],
    ['a tab', 'log:\n\tlevel: info', 'YAML: Tabs are not allowed as indentation'],
    ['two documents', 'log: {}\n---\nlog: {}', 'YAML: Source contains multiple documents'],
    ['a tag', 'log: !env LEVEL', 'YAML: tags (!...) have no meaning here'],
    [
      '${NAME} without quotes in braces',
      'log: { level: ${X} }',
      'between { } or [ ] a value with ${NAME} needs quotes',
    ],
    ['an alias of nothing', `${SMALLEST}log: *nothing`, 'an alias of nothing'],
    ['an alias of itself', `${SMALLEST}log: &me { level: *me }`, 'nested deeper than 50 levels'],
    ['an alias bomb', bomb(), 'the aliases in it unfold to more than a config file can hold'],
    [
      'UTF-16',
      Buffer.from('\uFEFFprovider: {}', 'utf16le').toString('utf8'),
      'not UTF-8 text (UTF-16?): save it as UTF-8',
    ],
    ['UTF-16 without its mark', Buffer.from('provider: {}', 'utf16le').toString('utf8'), 'save it as UTF-8'],
    ['a huge file', `a: ${'x'.repeat(1_000_001)}`, 'larger than 1 MB'],
    ['deep nesting', '['.repeat(100_000), ''],
    ['a list as a name', `${SMALLEST}? [a]\n: b`, 'a name of a setting must be plain text'],
  ])('%s is a problem, not a crash', (_, text, message) => {
    const problems = problemsOf(text)
    expect(problems.join('\n')).toContain(message)
    expect(problems.length).toBeGreaterThan(0)
  })

  test('YAML faults never quote the file', () => {
    for (const fault of [
      's3cret: x: y',
      '"s3cret',
      '|s3cret',
      '*s3cret',
      '"x" s3cret',
      '@s3cret',
      '!s3cret x',
      '}s3cret',
    ]) {
      expect(problemsOf(`${SMALLEST}x: ${fault}`).join()).not.toContain('s3cret')
    }
  })

  test('a missing file and a directory are problems', () => {
    const options = { env: {}, cwd: import.meta.dirname, now: 0 }
    expect(loadConfig({ ...options, file: 'gone.yaml' })).toMatchObject({ ok: false, problems: [{ path: '' }] })
    expect(loadConfig({ ...options, file: '.' })).toMatchObject({
      problems: [{ message: `is a directory, not a file: ${import.meta.dirname}` }],
    })
  })

  test('a byte order mark is no problem', () => {
    expect(problemsOf(`\uFEFF${SMALLEST}`)).toEqual([])
  })

  test('a setting given twice is told with both places', () => {
    const result = load(`${SMALLEST}log: { level: info }\nlog: { level: warn }\n`)
    expect(result).toMatchObject({
      problems: [{ path: 'log', line: 9, column: 1, message: 'given twice: first in line 8' }],
    })
  })
})

function bomb(): string {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
  for (let level = 1; level < 10; level++) {
    lines.push(
      `a${level}: &a${level} [${Array(10)
        .fill(`*a${level - 1}`)
        .join(', ')}]`,
    )
  }
  return lines.join('\n')
}

test('the config can not be changed', () => {
  const config = configOf(SMALLEST)
  expect(() => Object.assign(config.log, { level: 'debug' })).toThrow(TypeError)
})

test('the pairs to watch are a list, or the word auto', () => {
  const pairsOf = (limits: string, env = {}) => configOf(`${SMALLEST}limits: { ${limits} }`, { env }).limits
  expect(pairsOf('associations: auto, pairsPerPoll: 5')).toMatchObject({ associations: 'auto', pairsPerPoll: 5 })
  expect(pairsOf('associations: "${PAIRS}"', { PAIRS: 'auto' }).associations).toBe('auto')
  expect(pairsOf('associations: [ { from: 0-1, to: "${TO}" } ]', { TO: '0-2' }).associations).toEqual([
    { from: '0-1', to: '0-2' },
  ])
})
