import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  AdminTokenStore,
  decodeToken,
  encodeToken,
  faultOfName,
  hashOf,
  openTokenFile,
  ownerOf,
  sealOf,
} from '../../src/http/access/admin-tokens.ts'
import { SCOPES } from '../../src/http/access/scopes.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { vaultKey } from '../support/accounts.ts'
import { eventually } from '../support/fleet.ts'
import { redisOfFile } from '../support/of-file.ts'
import { AWAY_MS, startRedis } from '../support/redis-server.ts'
import { otherSpellings } from '../support/spare-bits.ts'
import { ADMIN_TOKEN, FORM, openServer } from './open-server.ts'

const redis = redisOfFile()

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('a named admin token', () => {
  test('works at once after it was made, however lately the list was read', async () => {
    const { ask, addToken, clock } = await openServer(redis)
    const ann = await addToken('ann', 'read')
    expect((await ask('GET', '/api/v1/status', bearer(ann))).status).toBe(200)
    const eve = await addToken('eve', 'read')
    clock.move(100)
    expect((await ask('GET', '/api/v1/status', bearer(eve))).status).toBe(200)
    const bob = await addToken('bob', 'read')
    clock.move(100)
    const { status, headers } = await ask('POST', '/sign-in', FORM, `token=${bob}&next=/accounts`)
    expect([status, headers.location]).toEqual([303, '/accounts'])
  })

  test('is judged by where a request leads, however its address is written', async () => {
    const { ask, addToken, connectAccount, get } = await openServer(redis)
    await connectAccount({ hubId: 7 })
    const headers = bearer(await addToken('ann', 'read'))
    for (const [method, path] of [
      ['DELETE', 'http://plimsoll.example.com/api/v1/accounts/7'],
      ['DELETE', '/api/v1/accounts/7/'],
      ['DELETE', '/api/v1/%61ccounts/7'],
      ['GET', 'http://plimsoll.example.com/api/v1/accounts/7/token'],
      ['GET', '/api/v1/accounts/7/%74oken?x=1'],
    ] as const) {
      expect((await ask(method, path, headers)).status, `${method} ${path}`).toBe(403)
    }
    expect((await get('/api/v1/accounts/7')).json).toMatchObject({ state: 'active', tokenServedAt: null })
  })

  test('whose record was written by hand, or changed, opens nothing; that is logged once', async () => {
    const { ask, addToken, clock, deps, logs } = await openServer(redis)
    const token = await addToken('ann', 'read')
    const genuine = (await deps.store.hget(deps.keys.adminTokens, 'ann')) ?? ''
    const record = JSON.parse(genuine) as Record<string, unknown>
    const own = {
      hash: hashOf('made-up-by-hand').toString('base64url'),
      scopes: SCOPES,
      createdAt: 1,
      lastUsedAt: null,
    }
    const forged: [name: string, record: string, token: string][] = [
      ['eve', JSON.stringify(own), 'made-up-by-hand'],
      ['eve', JSON.stringify({ ...own, seal: record.seal }), 'made-up-by-hand'],
      ['ann', JSON.stringify({ ...record, hash: own.hash }), 'made-up-by-hand'],
      ['ann', JSON.stringify({ ...record, scopes: SCOPES }), token],
      ['ann', JSON.stringify({ ...record, createdAt: 1 }), token],
      ['bob', genuine, token],
      ...['what', 'null', '{}', '{"hash":"AA","scopes":["read"]}', '{"hash":null}'].map(
        (text) => ['eve', text, ''] as [string, string, string],
      ),
    ]
    for (const [name, text, shown] of forged) {
      await deps.store.del(deps.keys.adminTokens)
      await deps.store.hset(deps.keys.adminTokens, name, text)
      clock.move(1_000)
      expect((await ask('GET', '/api/v1/status', bearer(shown))).status, text).toBe(401)
      expect((await ask('POST', '/sign-in', FORM, `token=${shown}`)).status, text).toBe(401)
    }
    expect(logs.lines().filter(({ code }) => code === 'http.token-ignored')).toMatchObject([{ ignored: 1 }])
    await deps.store.hset(deps.keys.adminTokens, 'ann', genuine)
    clock.move(1_000)
    expect((await ask('GET', '/api/v1/status', bearer(token))).status).toBe(200)
  })

  test('outlives another first key, and the old one once it is sealed anew', async () => {
    const { ask, addToken, clock, deps } = await openServer(redis)
    const { vault } = deps.connect
    const [k1, k2] = [vaultKey, { id: 'k2', key: Buffer.alloc(32, 2) }]
    const headers = bearer(await addToken('ann', 'read'))
    const status = async () => {
      clock.move(1_000)
      return (await ask('GET', '/api/v1/status', headers)).status
    }
    vault.replace([k2, k1])
    expect(await status()).toBe(200)
    vault.replace([k2])
    expect(await status()).toBe(401)
    vault.replace([k2, k1])
    await new AdminTokenStore(deps.store, deps.keys, vault).sealAnew()
    vault.replace([k2])
    expect(await status()).toBe(200)
    expect(await deps.store.hget(deps.keys.adminTokens, 'ann')).toContain('"lastUsedAt":')
  })

  test('that changes whenever it is read is not sealed anew for ever', async () => {
    const { addToken, deps } = await openServer(redis)
    await addToken('ann', 'read')
    const busy: typeof deps.store = Object.create(deps.store, { replaceField: { value: async () => 'stale' } })
    const vault = createVault([{ id: 'k2', key: Buffer.alloc(32, 2) }, vaultKey])
    const sealing = new AdminTokenStore(busy, deps.keys, vault).sealAnew()
    await expect(sealing).rejects.toThrow('the seals of admin tokens could not be written')
  })

  test('works still where Redis lost the making of another one: as after a failover, or a kill before the file was written', async () => {
    const { ask, addToken, clock, deps } = await openServer(redis)
    const [billing, bob] = [bearer(await addToken('billing', 'read')), bearer(await addToken('bob', 'read'))]
    const { adminTokens } = deps.keys
    const status = async (headers: Record<string, string>) => {
      clock.move(1_000)
      return (await ask('GET', '/api/v1/status', headers)).status
    }
    const before = await deps.store.hgetall(adminTokens)
    const ann = bearer(await addToken('ann', 'read'))
    expect([await status(billing), await status(ann)]).toEqual([200, 200])
    await deps.store.del(adminTokens)
    await deps.store.hset(adminTokens, before)
    expect([await status(billing), await status(bob), await status(ann)]).toEqual([200, 200, 401])
    expect(await addToken('ann', 'read')).toMatch(/^plm_/)
  })

  test('of two that are made at once neither is lost', async () => {
    const { deps, clock } = await openServer(redis)
    const tokens = () => new AdminTokenStore(deps.store, deps.keys, deps.connect.vault)
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => tokens().add(name, ['read'], clock.now())))
    expect((await tokens().list()).map(({ name, isOurs }) => [name, isOurs])).toEqual(
      ['a', 'b', 'c', 'd'].map((name) => [name, true]),
    )
  })

  test('is noted as used once a minute, and does not come back by it when it was removed meanwhile', async () => {
    const { ask, addToken, clock, deps } = await openServer(redis)
    const store = new AdminTokenStore(deps.store, deps.keys, deps.connect.vault)
    const headers = bearer(await addToken('ann', 'read'))
    const used = clock.now()
    for (const _ of [1, 2, 3]) await ask('GET', '/api/v1/status', headers)
    const [token] = await eventually('its use', async () => {
      const tokens = await store.list()
      return tokens[0]?.lastUsedAt === used && tokens
    })
    await store.remove('ann')
    if (token !== undefined) await store.noteUsed(token, clock.now())
    expect(await store.list()).toEqual([])
  })

  test('is stored as a hash only, and a taken name is refused', async () => {
    const { addToken, deps } = await openServer(redis)
    const token = await addToken('ann', 'read', 'tokens')
    expect(token).toMatch(/^plm_[\w-]{43}$/)
    expect(await addToken('ann', 'write')).toBe('taken')
    const stored = await deps.store.hgetall(deps.keys.adminTokens)
    expect(JSON.parse(stored.ann ?? '')).toMatchObject({
      hash: hashOf(token).toString('base64url'),
      scopes: ['read', 'tokens'],
    })
    expect(JSON.stringify(stored)).not.toContain(token.slice(4))
  })
})

describe('signing in with one', () => {
  test('begins a session that ends when the token is removed, also if another bears its name', async () => {
    const { ask, signIn, addToken, clock, deps } = await openServer(redis)
    const [ann, other] = [await signIn(await addToken('ann', 'read')), await signIn()]
    const open = async () => [(await ask('GET', '/', ann)).status, (await ask('GET', '/', other)).status]
    expect(await open()).toEqual([200, 200])
    await new AdminTokenStore(deps.store, deps.keys, deps.connect.vault).remove('ann')
    clock.move(1_000)
    expect(await open()).toEqual([401, 200])
    await addToken('ann', 'read')
    expect(await open()).toEqual([401, 200])
  })

  test('needs the scope read, and says so', async () => {
    const { ask, addToken } = await openServer(redis)
    const token = await addToken('billing', 'tokens', 'write')
    const { status, headers, text } = await ask('POST', '/sign-in', FORM, `token=${token}`)
    expect([status, headers['set-cookie']]).toEqual([403, undefined])
    expect(text).toContain('billing does not have the scope read.')
  })
})

describe('while Redis cannot be read', () => {
  test('the last known list holds: who was known gets in, nobody else', async () => {
    const own = await startRedis(undefined, [], AWAY_MS)
    const { ask, addToken, clock } = await openServer(own)
    const token = await addToken('ann', 'read')
    expect((await ask('GET', '/no-such-page', bearer(token))).status).toBe(404)
    await own.end('SIGKILL')
    clock.move(5_000)
    expect((await ask('GET', '/no-such-page', bearer(token))).status).toBe(404)
    expect((await ask('GET', '/no-such-page')).status).toBe(401)
    expect((await ask('GET', '/api/v1/status', bearer('wrong'))).status).toBe(401)
    await own.stop()
  })

  test('and never could be, who shows another token than the main one is asked to come again', async () => {
    const own = await startRedis(undefined, [], AWAY_MS)
    await own.end('SIGKILL')
    const { ask } = await openServer(own)
    for (const path of ['/', '/api/v1/status', '/api/v1/accounts/1/token']) {
      const headers = bearer('one-that-may-have-a-name')
      expect(await ask('GET', path, headers)).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
    }
    expect((await ask('POST', '/sign-in', FORM, 'token=x')).status).toBe(503)
    expect((await ask('GET', '/')).status).toBe(401)
    expect((await ask('POST', '/sign-in', FORM, `token=${ADMIN_TOKEN}`)).status).toBe(303)
    expect((await ask('GET', '/no-such-page', bearer(ADMIN_TOKEN))).status).toBe(404)
    await own.stop()
  })
})

test('names are for people and log lines: short, plain, and not those that Plimsoll gives itself', () => {
  for (const name of ['billing', 'a', 'Ann.Lee_2-x', '7']) expect(faultOfName(name)).toBeUndefined()
  for (const name of ['', '-a', '.a', 'a b', 'a\n', 'ä', 'x'.repeat(41), 'config', 'admin-token', '__proto__']) {
    expect(faultOfName(name), name).toBeDefined()
  }
})

test('a record reads as it was written, and what it does not know it does not grant', () => {
  const key = Buffer.alloc(32, 1)
  const facts = { name: 'ann', hash: hashOf('x'), scopes: ['read'] as const, createdAt: 1 }
  const token = { ...facts, lastUsedAt: null, seal: sealOf(facts, key) }
  expect(decodeToken('ann', encodeToken(token), [Buffer.alloc(32, 2), key])).toEqual({ ...token, isOurs: true })
  expect(decodeToken('ann', encodeToken(token), [Buffer.alloc(32, 2)])).toEqual({ ...token, isOurs: false })
  const spelled = encodeToken(token).replace(
    /("hash":"[\w-]{42})./,
    (_, start) => start + otherSpellings(hashOf('x').toString('base64url'))[0]?.at(-1),
  )
  expect(decodeToken('ann', spelled, [key])).toMatchObject({ hash: hashOf('x'), isOurs: false })
  const odd = JSON.stringify({ hash: hashOf('x').toString('base64url'), scopes: ['everything', 'write'] })
  expect(decodeToken('ann', odd, [key])).toMatchObject({ scopes: ['write'], isOurs: false })
  expect(ownerOf('x', [token])?.name).toBe('ann')
  expect(ownerOf('y', [token])).toBeUndefined()
})

let dataDir: string
let file: string
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-token-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  dataDir = join(folder, 'data')
  file = join(dataDir, 'admin-token')
})

test('is made once, for this user alone, and read again at later starts', () => {
  const first = openTokenFile(dataDir)
  expect(first).toMatchObject({ path: file, made: true, wasOpen: false })
  expect(first.token.reveal()).toMatch(/^plm_[\w-]{43}$/)
  expect(readFileSync(file, 'utf8')).toBe(`${first.token.reveal()}\n`)
  expect([statSync(file).mode & 0o777, statSync(dataDir).mode & 0o777]).toEqual([0o600, 0o700])
  const again = openTokenFile(dataDir)
  expect([again.made, again.token.reveal()]).toEqual([false, first.token.reveal()])
  expect(readdirSync(dataDir)).toEqual(['admin-token'])
})

test('one that others may read is closed to them, and that is told', () => {
  openTokenFile(dataDir)
  chmodSync(file, 0o644)
  expect(openTokenFile(dataDir).wasOpen).toBe(true)
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test.each(['', '\n', 'fifteen-letters', 'two words that are long enough'])(
  '%j is no token: it says what to do',
  (text) => {
    openTokenFile(dataDir)
    writeFileSync(file, text)
    expect(() => openTokenFile(dataDir)).toThrow(
      `${file} must hold one token of at least 16 characters: remove it, and the next start makes a new one`,
    )
  },
)
