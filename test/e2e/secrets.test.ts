import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OPERATIONS } from '../../src/operations/all-operations.ts'
import { reply, startMailServer } from '../delivery/email/mail-server.ts'
import { plimsoll, plimsollHere } from '../support/command.ts'
import { type Daemon, spawnDaemon, WEBHOOK_SECRET } from '../support/daemon.ts'
import { type FarSide, type SeenRequest, startFarSide } from '../support/far-side.ts'
import { connectAll, eventually, hooksOf, hubIdsOf, journalOf, mailsOf, send } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** Everything that can be read from outside is searched for every token that was ever issued, and every secret of the config. */
const CLIENT_SECRET = 'sandbox-client-secret'
const CONFIG_TOKEN = 'config-admin-token-Kq81'
const SMTP_PASSWORD = 'smtp  pass:word-Zr47'
/** What gives access in an address. */
const KEYS = {
  heartbeat: 'heartbeat-key-Hb16',
  slack: 'slack-key-Sl29',
  bot: '77:bot-token-Bt41',
  pager: 'routing-key-Pg53',
  nowhere: 'nowhere-key-Nw38',
  noTls: 'no-tls-key-Nt52',
  gone: 'gone-key-Go63',
}
const SIGNED_WITH = Buffer.from('what gone is signed with, Sg74').toString('base64')
const CONFIGURED = [CLIENT_SECRET, CONFIG_TOKEN, SMTP_PASSWORD, WEBHOOK_SECRET, SIGNED_WITH, ...Object.values(KEYS)]

let scene: Scene
let far: FarSide
let mailServer: Awaited<ReturnType<typeof startMailServer>>
let configFile: string
/** What commands wrote. */
let commands: string
let daemon: Daemon
let adminToken: string
let hubIds: number[]

beforeAll(async () => {
  scene = await openScene({ accounts: 6, scenario: 'climbing', tokenLifetimeMs: 6_000 })
  const { sandbox } = scene
  far = await startFarSide()
  far.answer = (request, response) => {
    const status = request.path.includes(KEYS.gone) ? 410 : far.seen.length % 2 === 0 ? 500 : 302
    response.writeHead(status, { location: `${far.url}${request.path}?again`, 'x-echo': request.path })
    response.end(echoOf(request))
  }
  mailServer = await startMailServer({
    disabledCommands: ['STARTTLS'],
    onAuth: ({ password }, _session, callback) =>
      callback(reply(535, `5.7.8 \u001b[31m${'no '.repeat(42)}${password}, ${password}`)),
  })
  const settings = troubledSettings(sandbox.url, sandbox.smtpUrl)
  daemon = await scene.daemon({ log: { level: 'debug' }, ...settings })
  configFile = await scene.configFile(settings)
  hubIds = await hubIdsOf(sandbox.url)
  await connectAll(daemon.url, hubIds)
  // What repeats what it was sent, as a careless proxy does, and every other way to fail.
  const echo = { endpoint: 'token', status: 500, times: 3 }
  const [loud = ''] = sandbox.issuedTokens()
  await send(`${sandbox.url}/sandbox/faults`, 'POST', { ...echo, body: { message: `bad ${loud} ${CLIENT_SECRET}` } })
  for (const endpoint of ['customProperties', 'associations']) {
    await send(`${sandbox.url}/sandbox/faults`, 'POST', { endpoint, status: 401, times: 4 })
  }
  await send(`${sandbox.url}/sandbox/faults`, 'POST', { endpoint: 'delete', drop: true, times: 2 })
  await send(`${sandbox.url}/sandbox/accounts/${hubIds[1]}`, 'DELETE')
  const headers = { authorization: `Bearer ${CONFIG_TOKEN}` }
  await fetch(`${daemon.url}/api/v1/accounts/${hubIds[0]}/uninstall`, { method: 'POST', headers })
  await eventually('an uninstall after failures', async () =>
    (await journalOf(sandbox.url)).some(
      ({ endpoint, status }) => endpoint === 'delete' && status >= 200 && status < 300,
    ),
  )
  await eventually('mails', async () => (await mailsOf(sandbox.url)).length > 2)
  const args = ['admin-tokens', 'add', 'searcher', '--scopes', 'read,tokens', '--json', '--config']
  const added = await plimsoll([...args, configFile], scene.folder)
  adminToken = (JSON.parse(added.out) as { token: string }).token
  await everyReceiverTried()
  commands = await everyCommand()
  await reloadBadly()
  await runAsAService(settings)
})

afterAll(async () => {
  await scene.close()
  await mailServer.close()
  await far.stop()
})

function echoOf({ method, path, headers, body }: SeenRequest): string {
  return `no such thing: ${method} ${path} ${JSON.stringify(headers)} ${body}`
}

/** A receiver for each way to fail, each with a secret of its own, and a heartbeat. */
function troubledSettings(sandboxUrl: string, smtpUrl: string): Record<string, object> {
  const { port } = new URL(far.url)
  const hook = (url: string) => ({ type: 'webhook', url, insecure: true })
  const mail = { type: 'email', from: 'Plimsoll <plimsoll@example.com>', to: ['ops@example.com'] }
  const receivers = {
    'ops-mail': { ...mail, smtp: smtpUrl },
    'ops-hook': { ...hook(`${sandboxUrl}/sandbox/hooks`), secrets: [WEBHOOK_SECRET] },
    slack: { type: 'slack', url: `${far.url}/services/${KEYS.slack}` },
    nowhere: { ...hook(`https://nowhere.invalid/${KEYS.nowhere}`), format: 'alertmanager' },
    'no-tls': { ...hook(`https://127.0.0.1:${port}/${KEYS.noTls}`), format: 'alertmanager' },
    bot: { type: 'telegram', botToken: KEYS.bot, chat: '1', url: far.url },
    pager: { type: 'pagerduty', routingKey: KEYS.pager, url: far.url },
    gone: { ...hook(`${far.url}/${KEYS.gone}`), secrets: [SIGNED_WITH] },
    'no-login': { ...mail, smtp: `smtp://ops:${encodeURIComponent(SMTP_PASSWORD)}@127.0.0.1:${mailServer.port}` },
  }
  return {
    receivers,
    routes: [{ to: Object.keys(receivers) }],
    http: { adminToken: CONFIG_TOKEN },
    heartbeat: { url: `${far.url}/ping/${KEYS.heartbeat}`, every: '30s' },
  }
}

async function everyReceiverTried(): Promise<void> {
  const failing = ['slack', 'nowhere', 'no-tls', 'gone', 'no-login']
  await eventually('an attempt of each receiver', async () => {
    const answer = await fetch(`${daemon.url}/api/v1/deliveries?limit=500`, { headers: bearer() })
    const { receivers } = (await answer.json()) as { receivers: { receiver: string; state: string }[] }
    const troubled = receivers.filter(({ state }) => state === 'failing' || state === 'disabled')
    return failing.every((name) => troubled.some(({ receiver }) => receiver === name))
  })
  await eventually('a heartbeat', async () => far.seen.some(({ path }) => path.includes(KEYS.heartbeat)))
}

/** Whatever the command line has to say, of a config that works and of one in which everything is in the wrong place. */
async function everyCommand(): Promise<string> {
  const misplaced = join(scene.folder, 'misplaced.yaml')
  writeFileSync(misplaced, MISPLACED)
  const hubId = String(hubIds[2])
  const asked = [
    'config print',
    'config check',
    'doctor',
    'status',
    'check',
    'accounts list',
    `accounts show ${hubId}`,
    `alerts explain ${hubId} --all`,
    'alerts list',
    'alerts log',
    'changes',
    'alerts silences',
    'outbox verify',
    ...['slack', 'bot', 'pager', 'nowhere', 'no-tls', 'gone', 'no-login', 'ops-mail'].map(
      (name) => `alerts test ${name}`,
    ),
    `thresholds plan ${configFile}`,
    'admin-tokens list',
    `accounts history ${hubId}`,
  ].map((line) => line.split(' '))
  const wrong = [
    ['config', 'check', misplaced],
    ['status', '--config', misplaced],
  ]
  const written: string[] = []
  for (const args of [...asked, ...asked.map((one) => [...one, '--json']), ...wrong]) {
    const isCheck = args[0] === 'config' && args[1] === 'check'
    const of = args.includes(misplaced) ? [] : isCheck ? [configFile] : ['--config', configFile]
    const { out, err } = await plimsollHere([...args, ...of], scene.folder)
    written.push(`$ ${args.join(' ')}`, out, err)
  }
  return written.join('\n')
}

/** As it happens at night. */
const MISPLACED = `
provider: { clientId: ${CLIENT_SECRET}, clientSecrets: ${CLIENT_SECRET} }
http: { publicUrl: "ftp://${CONFIG_TOKEN}", adminToken: ["${CONFIG_TOKEN}"] }
heartbeat: { https://hc-ping.com/${KEYS.heartbeat}, every: "https://hc-ping.com/${KEYS.heartbeat}" }
routes: [{ to: ["https://hooks.slack.com/services/${KEYS.slack}"] }]
receivers:
  slack: { type: webhook, format: "https://hooks.slack.com/services/${KEYS.slack}" }
  nowhere: { type: "https://example.com/${KEYS.nowhere}" }
  gone: { type: webhook, url: "example.com/${KEYS.gone}", secrets: "${SIGNED_WITH}" }
  no-tls: { type: webhook, url: "https://user:${KEYS.noTls}@example.com", secrets: ["${SIGNED_WITH}!"] }
  no-login: { type: email, smtp: "mail://ops:${SMTP_PASSWORD}@example.com", from: a@b.c, to: a@b.c }
  https://hooks.slack.com/services/${KEYS.slack}: { type: webhook }
`

/** SIGHUP with a file that can't be used, then with one in which every secret is another. */
async function reloadBadly(): Promise<void> {
  const file = daemon.child.spawnargs.at(-1) ?? ''
  const good = readFileSync(file, 'utf8')
  for (const [text, event] of [
    [MISPLACED, /"config\.refused"/],
    [good.replaceAll('key-', 'key-other-'), /"config\.reloaded"/],
  ] as const) {
    const line = daemon.line(event)
    writeFileSync(file, text)
    daemon.child.kill('SIGHUP')
    await line
  }
  writeFileSync(file, good)
}

/** What a second daemon tells systemd, and what it writes to a log file of its own: both are searched with all that is on disk. */
async function runAsAService(settings: Record<string, object>): Promise<void> {
  const { folder } = scene
  const said = join(folder, 'said')
  writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\nprintf '%s\\n' "$@" >> '${said}'\n`)
  chmodSync(join(folder, 'systemd-notify'), 0o755)
  const log = join(folder, 'daemon.log')
  const service = spawnDaemon(await scene.configFile({ ...settings, log: { level: 'debug', file: log } }), {
    NOTIFY_SOCKET: join(folder, 'notify'),
    PATH: `${folder}:${process.env.PATH}`,
  })
  const isIn = (file: string, text: string) => existsSync(file) && readFileSync(file, 'utf8').includes(text)
  try {
    await eventually(
      'a word to systemd that it runs',
      async () => isIn(said, 'STATUS=running') && isIn(log, '"delivery.'),
    )
  } finally {
    await service.stop()
  }
}

/** The tokens and secrets of which `text` holds one, in any of the ways in which they travel. */
function leaksIn(text: string): string[] {
  const wanted = [...scene.sandbox.issuedTokens(), ...CONFIGURED, adminToken]
  return wanted.filter(
    (secret) =>
      text.includes(secret) ||
      text.includes(encodeURIComponent(secret)) ||
      text.includes(Buffer.from(secret).toString('base64').replace(/=+$/, '').slice(0, -2)),
  )
}

function bearer(): { authorization: string } {
  return { authorization: `Bearer ${adminToken}` }
}

test('the search finds a token where there is one', () => {
  const [token = ''] = scene.sandbox.issuedTokens()
  expect(leaksIn(`a line with ${encodeURIComponent(token)} in it`)).toEqual([token])
})

test('the token path hands a token out, to who may have one', async () => {
  const answer = await eventually('a token', async () => {
    const response = await fetch(`${daemon.url}/api/v1/accounts/${hubIds[2]}/token`, { headers: bearer() })
    return response.ok && response.text()
  })
  expect(leaksIn(answer)).toHaveLength(1)
  await daemon.line(/"token\.served"/, 0)
})

test('no log line holds a token or the client secret', () => {
  expect(daemon.lines.length).toBeGreaterThan(20)
  expect(leaksIn(daemon.lines.join('\n'))).toEqual([])
})

test('no mail and no webhook holds one', async () => {
  const mails = (await mailsOf(scene.sandbox.url)).map(({ raw, text, html }) => raw + text + html)
  const hooks = (await hooksOf(scene.sandbox.url)).map(({ rawBody, headers }) => rawBody + JSON.stringify(headers))
  expect(leaksIn([...mails, ...hooks].join('\n'))).toEqual([])
})

test('no command says one, whatever failed and however wrong the config is', () => {
  for (const said of [
    'answered 302',
    'host name not found',
    'does not use TLS',
    'answered 410',
    'login refused',
    'config check',
  ]) {
    expect(commands).toContain(said)
  }
  expect(leaksIn(commands)).toEqual([])
})

test('nobody far away gets one that is not theirs', () => {
  const [ping] = far.seen.filter(({ path }) => path.includes(KEYS.heartbeat))
  expect(ping?.path).toMatch(new RegExp(`^/ping/${KEYS.heartbeat}(/fail)?$`))
  // A routing key is for PagerDuty, in the body of its events.
  for (const { path, body, headers } of far.seen) {
    const shown = path === '/' ? body.replace(`"routing_key":"${KEYS.pager}"`, '') : body
    expect(leaksIn(shown + JSON.stringify(headers))).toEqual([])
  }
  // Where an answer leads to nobody goes.
  expect(far.seen.filter(({ path }) => path.includes('again'))).toEqual([])
})

test('what the far side says does nothing to a terminal', () => {
  expect(commands).toContain('login refused: 535 5.7.8 [31mno no')
  for (const text of [commands, daemon.lines.join('\n')]) expect(text).not.toMatch(/(?!\n)\p{Cc}/u)
})

/** Whoever has one acknowledges: it is for mails, and for the page of alerts. */
test('links to acknowledge are in mails, and neither in logs nor in what commands, webhooks and the API say', async () => {
  const mails = (await mailsOf(scene.sandbox.url)).map(({ text }) => text).join('\n')
  expect(mails).toMatch(/acknowledge\?account=\d+&alert=[0-9a-f]{16}&until=\d+&signature=/)
  const api = await Promise.all(
    ['alerts', 'deliveries', 'status'].map(async (path) =>
      (await fetch(`${daemon.url}/api/v1/${path}`, { headers: bearer() })).text(),
    ),
  )
  const hooks = (await hooksOf(scene.sandbox.url)).map(({ rawBody }) => rawBody)
  const others = [...daemon.lines, commands, ...api, ...hooks, ...far.seen.map(({ body }) => body)]
  expect(others.filter((text) => /acknowledge\?[^"|]*signature=/.test(text))).toEqual([])
})

test('no page, no table and no metric holds one', async () => {
  const hubId = hubIds[2]
  const account = await readText(`/accounts/${hubId}`)
  const alerts = await readText('/alerts')
  const linked = [...`${account}${alerts}`.matchAll(/href="(\/(?:accounts|alerts)\/[^"]+)"/g)].map(([, path = '']) =>
    path.replaceAll('&amp;', '&'),
  )
  expect(linked.some((path) => path.includes('/series?'))).toBe(true)
  expect(linked.some((path) => path.startsWith('/alerts/'))).toBe(true)
  const tables = linked
    .filter((path) => path.includes('/series?'))
    .map((path) => path.replace('/series?', '/series.csv?'))
  const paths = [
    '/',
    '/accounts',
    '/changes',
    '/upcoming',
    '/deliveries',
    '/metrics',
    '/healthz',
    '/readyz',
    '/sign-in',
    '/no-such-page',
  ]
  const texts = await Promise.all([...paths, ...new Set([...linked, ...tables])].map(readText))
  expect(leaksIn([account, alerts, ...texts].join('\n'))).toEqual([])
})

test('no answer of the API holds one but that which is there for it', async () => {
  const hubId = String(hubIds[2])
  const { items } = JSON.parse(await readText('/api/v1/alerts')) as { items: { id: string }[] }
  const reads = OPERATIONS.filter(({ method, scope }) => method === 'GET' && scope === 'read').map(({ path }) => path)
  const paths = [...reads, '/openapi.json'].map((path) =>
    path.replace('{hubId}', hubId).replace('{id}', items[0]?.id ?? ''),
  )
  const lines = ['csv', 'jsonl'].map((format) => `/accounts/${hubId}/snapshots?format=${format}`)
  const texts = await Promise.all([...paths, ...lines].map((path) => readText(`/api/v1${path}`)))
  expect(leaksIn(texts.join('\n'))).toEqual([])
})

async function readText(path: string): Promise<string> {
  return (await fetch(daemon.url + path, { headers: bearer() })).text()
}

test('nothing in Redis holds one: neither the values, job data among them, nor what is on disk', async () => {
  const { redis, folder } = scene
  const store = redis.connect()
  // Compressed, a token would not be found although it is there.
  await store.call('CONFIG', 'SET', 'rdbcompression', 'no')
  const keys = await store.keys('*')
  expect(keys.length).toBeGreaterThan(20)
  const dumps = await Promise.all(keys.map(async (key) => (await store.dumpBuffer(key))?.toString('latin1') ?? ''))
  expect(leaksIn(`${keys.join('\n')}${dumps.join('\n')}`)).toEqual([])
  expect(dumps.filter((dump) => dump.includes('signature='))).toEqual([])
  await store.call('SAVE')
  const onDisk = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const texts = onDisk
    .map((entry) => join(entry.parentPath, entry.name))
    // The config file is where the client secret comes from.
    .filter((file) => !file.endsWith('.yaml'))
    .map((file) => readFileSync(file, 'latin1'))
  expect(onDisk.map(({ name }) => name)).toEqual(expect.arrayContaining(['said', 'daemon.log']))
  expect(leaksIn(texts.join('\n'))).toEqual([])
})
