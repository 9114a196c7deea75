import { readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AuditEntryShape } from '../../src/views/shapes/audit.ts'
import { plimsoll } from '../support/command.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { ADMIN_TOKEN, ask, connectAll, eventually, hubIdsOf, refreshTokenFor } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** What people do on pages, over the API and at the terminal, and what the audit then has of it. In steps. */
let scene: Scene
let file: string
let daemon: Daemon
let hubId: number

beforeAll(async () => {
  scene = await openScene({ accounts: 2, tokenLifetimeMs: 60_000 })
  hubId = (await hubIdsOf(scene.sandbox.url))[0] ?? 0
  file = await scene.configFile()
  daemon = await startDaemon(file)
  await connectAll(daemon.url, [hubId])
})
afterAll(async () => {
  await daemon.stop()
  await scene.close()
})

const command = (...args: string[]) => plimsoll([...args, '--config', file], scene.folder)

async function audit(...args: string[]): Promise<AuditEntryShape[]> {
  const { code, out, err } = await command('audit', 'list', '--json', ...args)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}

/** Signed in by the form, as a browser does. */
async function signIn(): Promise<{ cookie: string }> {
  const answer = await fetch(`${daemon.url}/sign-in`, {
    method: 'POST',
    body: new URLSearchParams({ token: ADMIN_TOKEN }),
    redirect: 'manual',
  })
  return { cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
}

const ME = userInfo().username
const BY_COMMAND = { who: ME, via: 'command' }

test('what is done on a page, over the API and at the terminal is one list, each by who did it', async () => {
  const session = await signIn()
  const page = await (await fetch(`${daemon.url}/accounts/${hubId}`, { headers: session })).text()
  const [, csrf = ''] = /name="csrf" value="([\w-]+)"/.exec(page) ?? []
  const polled = await fetch(`${daemon.url}/accounts/${hubId}/poll`, {
    method: 'POST',
    headers: session,
    body: new URLSearchParams({ csrf }),
    redirect: 'manual',
  })
  expect(polled.status).toBe(303)
  const api = (method: string, path: string, body?: object) =>
    ask(`${daemon.url}/api/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  expect((await api('PUT', `/accounts/${hubId}/contact`, { contact: 'ada@acme.example.com' })).status).toBe(200)
  for (let n = 0; n < 20; n++) expect((await api('GET', `/accounts/${hubId}/token`)).status).toBe(200)
  const silenced = await command(
    'alerts',
    'silence',
    '--match',
    `account=${hubId}`,
    '--for',
    '1h',
    '--comment',
    'a move',
  )
  const [, silence] = /silence (s-\w+)/.exec(silenced.out) ?? []
  await command('alerts', 'unsilence', silence ?? '')
  await command('accounts', 'refresh', String(hubId))
  await command('accounts', 'reconnect-link', String(hubId))
  await command('accounts', 'export', 'fleet.csv')
  const token = await refreshTokenFor(scene.sandbox.url, (await hubIdsOf(scene.sandbox.url))[1] ?? 0)
  writeFileSync(join(scene.folder, 'more.csv'), `hubId,refreshToken\n77,${token}\n`)
  await command('accounts', 'import', 'more.csv')
  await command('admin-tokens', 'add', 'billing', '--scopes', 'tokens')
  await command('accounts', 'uninstall', '77', '--reason', 'left us')

  const entries = await audit('--since', '1h')
  const oldestFirst = entries.toReversed()
  expect(oldestFirst).toMatchObject([
    { action: 'sign-in.done', who: 'config', via: 'session', from: '127.0.0.1' },
    { action: 'reconnect-link.made', who: 'config', via: 'session', hubId },
    { action: 'account.polled', who: 'config', via: 'session', hubId },
    { action: 'account.contact', who: 'config', via: 'token', hubId, detail: 'set' },
    { action: 'token.served', who: 'config', via: 'token', hubId },
    { action: 'silence.added', ...BY_COMMAND, subject: silence, detail: expect.stringContaining(': a move') },
    { action: 'silence.ended', ...BY_COMMAND, subject: silence },
    { action: 'account.refreshed', ...BY_COMMAND, hubId },
    { action: 'reconnect-link.made', ...BY_COMMAND, hubId },
    { action: 'accounts.exported', ...BY_COMMAND, detail: '1 account' },
    { action: 'accounts.imported', ...BY_COMMAND, detail: 'imported 1, replaced 0' },
    { action: 'admin-token.added', ...BY_COMMAND, subject: 'billing', detail: 'tokens' },
    { action: 'account.uninstalled', ...BY_COMMAND, hubId: 77, detail: 'left us' },
  ])
  const { items } = (await (await api('GET', '/audit?limit=500')).json()) as { items: AuditEntryShape[] }
  expect(items).toEqual(entries)
  // No secret, and no address of a contact.
  expect(JSON.stringify(entries)).not.toMatch(new RegExp(`${ADMIN_TOKEN}|${token}|plm_|ada@|signature`))
  expect(daemon.lines.join('\n')).not.toContain('ada@')
  // Each is a line of the daemon's log, by who did it; of tokens each one.
  const codes = daemon.lines.filter((line) => line.includes('"by":"config"')).map((line) => JSON.parse(line).code)
  expect(codes).toEqual(['http.signed-in', 'reconnect-link.made', 'account.polled', 'account.contact'])
  expect(daemon.lines.filter((line) => line.includes('"token.served"'))).toHaveLength(20)
})

test('the list is narrowed by time, who and account, and is a table for people', async () => {
  expect((await audit('--who', 'CONFIG', '--since', '1h')).every(({ who }) => who === 'config')).toBe(true)
  expect((await audit('--account', '77')).map(({ action }) => action)).toEqual(['account.uninstalled'])
  expect(await audit('--account', String(hubId), '--action', 'account.contact')).toHaveLength(1)
  expect(await audit('--since', '2099-01-01')).toEqual([])
  const { out } = await command('audit', 'list', '--max', '2')
  expect(out).toContain('WHEN')
  expect(out).toMatch(/began an uninstall +77 .*left us/)
  expect(out).toContain('There is more: --max shows more')
  expect(await command('audit', 'list', '--who', 'nobody')).toMatchObject({ code: 0, out: /^no entries since / })
  expect((await command('audit', 'list', '--action', 'nonsense')).code).toBe(2)
  expect((await command('audit', 'list', '--account', 'no-such.example.com')).code).toBe(1)
})

test('a reload is in it with the paths of what it changed, a refused one, and a start with another config', async () => {
  const change = (limits: object) => {
    const config = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...config, ...limits }))
  }
  const reload = async (code: RegExp) => {
    const line = daemon.line(code)
    daemon.child.kill('SIGHUP')
    await line
  }
  const newest = (action: string) =>
    eventually(action, async () => (await audit('--since', '1h')).find((entry) => entry.action === action))
  change({
    alerts: { repeatEvery: '12h' },
    provider: { ...JSON.parse(readFileSync(file, 'utf8')).provider, timeout: '9s' },
  })
  await reload(/"config.reloaded"/)
  const reloaded = await newest('config.reloaded')
  expect(reloaded).toMatchObject({ via: 'daemon', who: expect.stringContaining(` pid ${daemon.child.pid}`) })
  expect(reloaded?.detail).toMatch(/^changed: .*alerts\.repeatEvery.*; needs a restart: provider\.timeout$/)
  change({ nonsense: 1 })
  await reload(/"config.refused"/)
  const config = JSON.parse(readFileSync(file, 'utf8'))
  delete config.nonsense
  writeFileSync(file, JSON.stringify(config))
  expect(await newest('config.refused')).toMatchObject({ via: 'daemon' })
  await daemon.stop()
  daemon = await startDaemon(file)
  expect(await newest('config.changed')).toMatchObject({
    via: 'daemon',
    detail: expect.stringMatching(/^fingerprint /),
  })
  const before = (await audit()).filter(({ action }) => action === 'config.changed').length
  await daemon.stop()
  daemon = await startDaemon(file)
  await command('status')
  expect((await audit()).filter(({ action }) => action === 'config.changed')).toHaveLength(before)
})

test('where Redis takes no entry nothing fails or waits: the log has it', async () => {
  const store = scene.redis.connect('pages')
  const before = await audit()
  await store.config('SET', 'min-replicas-to-write', '1')
  try {
    const since = daemon.lines.length
    const signedIn = await signIn()
    expect(signedIn.cookie).not.toBe('')
    const line = JSON.parse(await daemon.line(/"audit.not-written"/, since))
    expect(line).toMatchObject({ level: 'error', entry: { action: 'sign-in.done', who: 'config', via: 'session' } })
    const link = await command('accounts', 'reconnect-link', String(hubId))
    expect(link).toMatchObject({ code: 0, out: expect.stringContaining('/install?account=') })
    const ofLink = JSON.parse(await daemon.line(/"audit.not-written".*"reconnect-link.made"/, since))
    expect(ofLink.entry).toMatchObject({ ...BY_COMMAND, hubId })
    // What writes itself fails as ever, and is not in the audit.
    expect((await command('accounts', 'contact', String(hubId), 'bob@acme.example.com')).code).toBe(1)
  } finally {
    await store.config('SET', 'min-replicas-to-write', '0')
    store.disconnect()
  }
  expect(await audit()).toEqual(before)
})
