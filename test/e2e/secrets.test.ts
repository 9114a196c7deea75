import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plimsoll } from '../support/command.ts'
import type { Daemon } from '../support/daemon.ts'
import { connectAll, eventually, hooksOf, hubIdsOf, journalOf, mailsOf, send } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** Everything that can be read from outside is searched for every token that was ever issued. */
const CLIENT_SECRET = 'sandbox-client-secret'

let scene: Scene
let daemon: Daemon
let adminToken: string
let hubIds: number[]

beforeAll(async () => {
  scene = await openScene({ accounts: 6, scenario: 'climbing', tokenLifetimeMs: 6_000 })
  const { sandbox } = scene
  daemon = await scene.daemon({ log: { level: 'debug' } })
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
  await fetch(`${daemon.url}/api/v1/accounts/${hubIds[0]}/uninstall`, { method: 'POST' })
  await eventually('an uninstall after failures', async () =>
    (await journalOf(sandbox.url)).some(({ endpoint, status }) => endpoint === 'delete' && status === 204),
  )
  await eventually('mails', async () => (await mailsOf(sandbox.url)).length > 2)
  const args = ['admin-tokens', 'add', 'searcher', '--scopes', 'read,tokens', '--json', '--config']
  const added = await plimsoll([...args, await scene.configFile()], scene.folder)
  adminToken = (JSON.parse(added.out) as { token: string }).token
}, 120_000)

afterAll(() => scene.close())

/** The tokens and secrets of which `text` holds one, in any of the ways in which they travel. */
function leaksIn(text: string): string[] {
  const wanted = [...scene.sandbox.issuedTokens(), CLIENT_SECRET, adminToken]
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

test('no page, no API answer and no metric holds one', async () => {
  const hubId = hubIds[2]
  const paths = ['/', '/accounts', `/accounts/${hubId}`, '/alerts', '/deliveries', '/metrics', '/healthz', '/readyz']
  const api = ['accounts', `accounts/${hubId}`, 'alerts', 'deliveries', 'status', `accounts/${hubId}/snapshots`]
  const texts = await Promise.all(
    [...paths, ...api.map((path) => `/api/v1/${path}`)].map(async (path) =>
      (await fetch(daemon.url + path, { headers: bearer() })).text(),
    ),
  )
  expect(leaksIn(texts.join('\n'))).toEqual([])
})

test('nothing in Redis holds one: neither the values, job data among them, nor what is on disk', async () => {
  const { redis, folder } = scene
  const store = redis.store()
  // Compressed, a token would not be found although it is there.
  await store.call('CONFIG', 'SET', 'rdbcompression', 'no')
  const keys = await store.keys('*')
  expect(keys.length).toBeGreaterThan(20)
  const dumps = await Promise.all(keys.map(async (key) => (await store.dumpBuffer(key))?.toString('latin1') ?? ''))
  expect(leaksIn(`${keys.join('\n')}${dumps.join('\n')}`)).toEqual([])
  await store.call('SAVE')
  const onDisk = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const texts = onDisk
    .map((entry) => join(entry.parentPath, entry.name))
    // The config file is where the client secret comes from.
    .filter((file) => !file.endsWith('.yaml'))
    .map((file) => readFileSync(file, 'latin1'))
  expect(texts.length).toBeGreaterThan(0)
  expect(leaksIn(texts.join('\n'))).toEqual([])
})
