import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plimsoll, plimsollHere } from '../support/command.ts'
import type { Daemon } from '../support/daemon.ts'
import { ask, eventually, getJson, hooksOf, hubIdsOf, journalOf } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { openScene, type Scene } from '../support/scene.ts'

const CLIENT = { client_id: 'sandbox-client-id', redirect_uri: 'https://elsewhere.example.com/callback' }

let scene: Scene
let daemon: Daemon
let config: string
let hubIds: number[]

beforeAll(async () => {
  scene = await openScene({ accounts: 6, rotateRefreshTokens: false, tokenLifetimeMs: 120_000 })
  daemon = await scene.daemon()
  config = await scene.configFile()
  hubIds = await hubIdsOf(scene.sandbox.url)
})
afterAll(() => scene.close())

const command = (...args: string[]) => plimsollHere([...args, '--config', config], scene.folder)
const accountOf = (hubId: number) =>
  getJson<{ state: string; hubDomain: string; scopes: string[]; polledAt: string | null; user: string | null }>(
    `${daemon.url}/api/v1/accounts/${hubId}`,
  )
const hub = (index: number) => hubIds[index] as number

/** Tokens as another tool would have got them: through the install page, with a redirect address of its own. */
async function tokensFor(hubId: number, scopes = 'oauth crm.objects.contacts.read') {
  const { url } = scene.sandbox
  const query = new URLSearchParams({ ...CLIENT, scopes, account: String(hubId) })
  const approved = await fetch(`${url}/oauth/authorize?${query}`, { method: 'POST', redirect: 'manual' })
  const code = new URL(approved.headers.get('location') ?? '').searchParams.get('code') ?? ''
  const form = { ...CLIENT, client_secret: 'sandbox-client-secret', grant_type: 'authorization_code', code }
  const answer = await fetch(`${url}/oauth/v1/token`, { method: 'POST', body: new URLSearchParams(form) })
  const { refresh_token, access_token } = (await answer.json()) as Record<'refresh_token' | 'access_token', string>
  return { refresh: refresh_token, access: access_token }
}

test('a fleet comes in beside a daemon at work, which refreshes, names and polls it; bad lines are named', async () => {
  const [one, two, three, four] = await Promise.all([
    tokensFor(hub(0)),
    tokensFor(hub(1)),
    tokensFor(hub(2), 'oauth'),
    tokensFor(hub(3)),
  ])
  const lines = [
    'hubId,refreshToken,hubDomain',
    `${hub(0)},${one?.refresh},`,
    `${hub(1)},${two?.refresh},wrong.example.com`,
    `${hub(2)},${three?.refresh},`,
    `${hub(3)},${four?.access},`,
    `12x,${four?.refresh},`,
  ]
  writeFileSync(join(scene.folder, 'fleet.csv'), lines.join('\n'))
  const { code, out, err } = await command('accounts', 'import', 'fleet.csv')
  expect(code).toBe(1)
  expect(out).toBe('imported 3, kept 0, replaced 0, bad 2\n')
  expect(err).toBe(
    'line 5 has an access token where the refresh token should be\nline 6 has a hubId that is no whole number\n' +
      'plimsoll: fleet.csv has 2 bad lines; the others are in\n',
  )
  for (const token of scene.sandbox.issuedTokens()) expect(out + err).not.toContain(token)

  for (const index of [0, 1]) {
    await eventually('a poll under its own name', async () => {
      const { state, hubDomain, polledAt, user } = await accountOf(hub(index))
      return state === 'active' && polledAt !== null && user === `admin@${hubDomain}`
    })
  }
  await eventually('the scopes alert', async () =>
    (await hooksOf(scene.sandbox.url)).some(({ body }) =>
      body.data.alerts.some(
        ({ kind, status, account }) => `${kind} ${status} ${account?.hubId}` === `poll firing ${hub(2)}`,
      ),
    ),
  )
  const journal = await journalOf(scene.sandbox.url)
  const first = (endpoint: string) =>
    journal.findIndex((e) => e.hubId === hub(0) && e.endpoint === endpoint && e.grant !== 'authorization_code')
  expect(first('metadata')).toBeGreaterThan(-1)
  expect(first('metadata')).toBeLessThan(first('customProperties'))
  expect(await (await ask(`${daemon.url}/metrics`)).text()).toContain('plimsoll_tokens_expired_total 0')
})

test('a token of another account is told and not used under the wrong name', async () => {
  const { refresh } = await tokensFor(hub(4))
  writeFileSync(join(scene.folder, 'mixed-up.jsonl'), JSON.stringify({ hubId: hub(5), refreshToken: refresh }))
  expect(await command('accounts', 'import', 'mixed-up.jsonl', '--json')).toMatchObject({
    code: 0,
    out: expect.stringContaining('"imported":1'),
  })
  await eventually('the refusal', async () => (await accountOf(hub(5))).state === 'reauthorize')
  expect((await ask(`${daemon.url}/api/v1/accounts/${hub(5)}/token`)).status).toBe(409)
  const { out } = await command('accounts', 'show', String(hub(5)))
  expect(out).toContain(`its refresh token belongs to account ${hub(4)}`)
  const page = await (await ask(`${daemon.url}/accounts/${hub(5)}`)).text()
  expect(page).toContain('belongs to another account')

  const own = await tokensFor(hub(5))
  writeFileSync(join(scene.folder, 'own.jsonl'), JSON.stringify({ hubId: hub(5), refreshToken: own.refresh }))
  expect((await command('accounts', 'import', 'own.jsonl')).out).toContain('kept 1')
  expect((await command('accounts', 'import', 'own.jsonl', '--replace')).out).toContain('replaced 1')
  await eventually('a poll', async () => {
    const { state, polledAt } = await accountOf(hub(5))
    return state === 'active' && polledAt !== null
  })
})

test('an export moves the fleet to an installation with the same key, and nowhere else', async () => {
  for (const name of ['out.csv', 'out.jsonl']) {
    const { code, out } = await command('accounts', 'export', name)
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('exported 4 live accounts') })
    const file = join(scene.folder, name)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const text = readFileSync(file, 'utf8')
    for (const token of scene.sandbox.issuedTokens()) expect(text).not.toContain(token)

    const prefix = `moved-${name.split('.')[1]}`
    const there = await scene.configFile({
      dataDir: join(scene.folder, prefix),
      redis: { url: scene.redis.url, prefix },
    })
    const moved = await plimsollHere(['accounts', 'import', name, '--config', there], scene.folder)
    expect(moved).toMatchObject({ code: 0, out: 'imported 4, kept 0, replaced 0, bad 0\n', err: '' })
    const listed = await plimsollHere(['accounts', 'list', '--json', '--config', there], scene.folder)
    expect(JSON.parse(listed.out)).toHaveLength(4)
  }
  expect(readdirSync(scene.folder).filter((name) => name.endsWith('.tmp'))).toEqual([])

  const foreign = await scene.configFile({
    dataDir: join(scene.folder, 'foreign'),
    redis: { url: scene.redis.url, prefix: 'foreign' },
    encryption: { keys: [{ id: 'k2', key: Buffer.alloc(32, 8).toString('base64') }] },
  })
  const refused = await plimsollHere(['accounts', 'import', 'out.csv', '--config', foreign], scene.folder)
  expect(refused.code).toBe(1)
  expect(refused.err).toContain('no key with the id k1 is configured')
})

test('what is no list of accounts is refused in one line, and an export goes where it can be written', async () => {
  writeFileSync(join(scene.folder, 'other.csv'), 'name,color\n')
  mkdirSync(join(scene.folder, 'folder'), { recursive: true })
  for (const [args, why] of [
    [['import', 'other.csv'], "other.csv can't be imported: its header has the column name, which is not known"],
    [['import', 'nowhere.csv'], 'there is no file nowhere.csv'],
    [['import', 'folder'], 'folder is a folder, not a file'],
    [['export', 'out.txt'], 'out.txt must end in .csv or .jsonl'],
    [['export', 'other.csv'], 'other.csv exists already: overwrite it with --force, or name another file'],
    [['export', 'nowhere/out.csv'], "nowhere/out.csv can't be written (ENOENT)"],
  ] as const) {
    const { code, err } = await command('accounts', ...args)
    expect(code).toBe(1)
    expect(err).toContain(`plimsoll: ${why}`)
    expect(err.trimEnd().split('\n')).toHaveLength(1)
  }
})

test('an import that is killed is run again, and what is in already is kept', async () => {
  const ROWS = 20_000
  const rows = Array.from({ length: ROWS }, (_, n) => `${5_000_000 + n},na1-token-${n}\n`)
  writeFileSync(join(scene.folder, 'big.csv'), `hubId,refreshToken\n${rows.join('')}`)
  const there = await scene.configFile({
    dataDir: join(scene.folder, 'big'),
    redis: { url: scene.redis.url, prefix: 'big' },
  })
  const child = spawn(process.execPath, [MAIN, 'accounts', 'import', 'big.csv', '--config', there], {
    cwd: scene.folder,
  })
  const store = scene.redis.connect()
  await eventually('some are in', async () => (await store.zcard('{big}:accounts:active')) > 3)
  child.kill('SIGKILL')
  await once(child, 'close')
  const { code, out, err } = await plimsoll(
    ['accounts', 'import', 'big.csv', '--json', '--config', there],
    scene.folder,
  )
  expect({ code, err }).toMatchObject({ code: 0 })
  const { imported, kept, bad } = JSON.parse(out) as Record<string, number>
  expect({ sum: (imported ?? 0) + (kept ?? 0), bad }).toEqual({ sum: ROWS, bad: 0 })
  expect(kept).toBeGreaterThan(0)
  expect(imported).toBeGreaterThan(0)
})
