import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Keys } from '../../src/redis/keys.ts'
import { createVault, keyIdOf, type VaultKey } from '../../src/tokens/vault.ts'
import { checkKeys, checkNothingIsSealed, KeysError, ownKey } from '../../src/tokens/vault-keys.ts'
import { dump } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const aKey = (id: string) => ({ id, key: randomBytes(32) })
const check = (keys: Keys, ...vaultKeys: VaultKey[]) => checkKeys(redis.store, keys, createVault(vaultKeys))

async function problemsOf(checked: Promise<void>): Promise<readonly string[]> {
  const error = await checked.catch((error: unknown) => error)
  if (!(error instanceof KeysError)) throw error
  return error.problems
}

const known = async (keys: Keys) => ({
  canaries: Object.keys(await redis.store.hgetall(keys.vault.canaries)).sort(),
  used: (await redis.store.smembers(keys.vault.used)).sort(),
})

const WRONG = (id: string) =>
  `the key ${id} doesn't open what is stored: it is another key with the same id, check encryption.keys`
const MISSING = (id: string) =>
  `stored tokens may be encrypted with key ${id}, which is not configured: add it to encryption.keys, or run plimsoll keys rekey with it first`

describe('the canaries', () => {
  test('are written at the first start, one per key, and every later start opens them', async () => {
    const keys = redis.freshKeys()
    const [k1, k2] = [aKey('k1'), aKey('k2')]
    await check(keys, k1, k2)
    expect(await known(keys)).toEqual({ canaries: ['k1', 'k2'], used: ['k1'] })
    for (const [id, canary] of Object.entries(await redis.store.hgetallBuffer(keys.vault.canaries))) {
      expect(keyIdOf(canary)).toBe(id)
    }
    const before = await dump(redis.store, keys)
    await check(keys, k1, k2)
    expect(await dump(redis.store, keys)).toEqual(before)
  })

  test('let a new key in as the first or the second one, as long as the old one still reads', async () => {
    for (const order of ['first', 'second']) {
      const keys = redis.freshKeys()
      const [k1, k2] = [aKey('k1'), aKey('k2')]
      await check(keys, k1)
      await expect(check(keys, ...(order === 'first' ? [k2, k1] : [k1, k2]))).resolves.toBeUndefined()
    }
  })

  test('stop nobody who lacks a second key that nothing was encrypted with yet', async () => {
    const keys = redis.freshKeys()
    const [k1, k2] = [aKey('k1'), aKey('k2')]
    await check(keys, k1, k2)
    await expect(check(keys, k1)).resolves.toBeUndefined()
  })

  test('stop whoever lacks a key that another daemon encrypts with, and name it', async () => {
    const keys = redis.freshKeys()
    const [k1, k2] = [aKey('k1'), aKey('k2')]
    await check(keys, k1)
    await check(keys, k2, k1)
    expect(await problemsOf(check(keys, k1))).toEqual([MISSING('k2')])
    expect(await problemsOf(check(keys, k2))).toEqual([MISSING('k1')])
  })

  test('stop whoever has another key under a known id, also as a second one, and name it', async () => {
    const keys = redis.freshKeys()
    const [k1, k2] = [aKey('k1'), aKey('k2')]
    await check(keys, k1, k2)
    expect(await problemsOf(check(keys, aKey('k1')))).toEqual([WRONG('k1')])
    expect(await problemsOf(check(keys, k1, aKey('k2')))).toEqual([WRONG('k2')])
  })

  test('name everything that is wrong at once, and a process that is refused leaves nothing behind', async () => {
    const keys = redis.freshKeys()
    const [k1, k2] = [aKey('k1'), aKey('k2')]
    await check(keys, k1)
    await check(keys, k2, k1)
    const before = await dump(redis.store, keys)
    expect(await problemsOf(check(keys, aKey('k3'), aKey('k1')))).toEqual([WRONG('k1'), MISSING('k2')])
    expect(await dump(redis.store, keys)).toEqual(before)
  })

  test('let a rekey come without a used key, but not with a wrong one', async () => {
    const keys = redis.freshKeys()
    const [k1, k2] = [aKey('k1'), aKey('k2')]
    await check(keys, k1)
    await expect(checkKeys(redis.store, keys, createVault([k2]), 'allowed')).resolves.toBeUndefined()
    const wrong = checkKeys(redis.store, keys, createVault([k2, aKey('k1')]), 'allowed')
    expect(await problemsOf(wrong)).toEqual([WRONG('k1')])
  })

  test.each([
    ['the same id', 'k1', 'k1'],
    ['different ids', 'k1', 'k2'],
  ])('tell one of two daemons that start for the first time with different keys of %s', async (_, one, other) => {
    const keys = redis.freshKeys()
    const ends = await Promise.allSettled([check(keys, aKey(one)), check(keys, aKey(other))])
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect((await known(keys)).used).toHaveLength(1)
  })
})

test('where a key has sealed something, none may be made: the one that is gone is named', async () => {
  const keys = redis.freshKeys()
  await expect(checkNothingIsSealed(redis.store, keys, '/data/keys/k1')).resolves.toBeUndefined()
  await check(keys, aKey('k1'))
  const refused = checkNothingIsSealed(redis.store, keys, '/data/keys/k1')
  expect(await problemsOf(refused)).toEqual([expect.stringContaining('restore k1 from your backup to /data/keys/k1')])
  const others = redis.freshKeys()
  await check(others, aKey('mine'))
  expect(await problemsOf(checkNothingIsSealed(redis.store, others, '/data/keys/k1'))).toEqual([
    expect.stringContaining('encryption.keys again (mine)'),
  ])
})

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'plimsoll-key-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

describe('the key of an installation that has none', () => {
  test('is made at the first start, for this user alone, and is the same ever after', () => {
    const first = ownKey(dataDir)
    expect(first).toMatchObject({ made: true, file: join(dataDir, 'keys', 'k1'), key: { id: 'k1' } })
    expect(first.key.key).toHaveLength(32)
    expect(statSync(first.file).mode & 0o777).toBe(0o600)
    expect(statSync(join(dataDir, 'keys')).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(dataDir, 'keys'))).toEqual(['k1'])
    expect(readFileSync(first.file, 'utf8')).toMatch(/^[A-Za-z0-9+/]{43}=\n$/)

    const second = ownKey(dataDir)
    expect(second.made).toBe(false)
    expect(second.key.key.equals(first.key.key)).toBe(true)
  })

  test('is another one for each installation', () => {
    expect(ownKey(dataDir).key.key.equals(ownKey(join(dataDir, 'other')).key.key)).toBe(false)
  })

  test.each([
    ['damaged', 'c2hvcnQ=\n'],
    ['empty', ''],
  ])('that is %s is an error that names the file, and is left as it is', (_, text) => {
    const file = join(dataDir, 'keys', 'k1')
    mkdirSync(join(dataDir, 'keys'))
    writeFileSync(file, text)
    expect(() => ownKey(dataDir)).toThrow(file)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  test('is one, when several processes start for the first time at once', async () => {
    const starts = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const child = spawn(process.execPath, [join(import.meta.dirname, 'make-key.ts'), dataDir], {
          stdio: ['pipe', 'pipe', 'inherit'],
        })
        const lines = createInterface({ input: child.stdout })
        await once(lines, 'line')
        return { child, lines }
      }),
    )
    const made = await Promise.all(
      starts.map(async ({ child, lines }) => {
        const answer = once(lines, 'line')
        child.stdin.end()
        const [line] = await answer
        return JSON.parse(line) as { key: string; made: boolean }
      }),
    )
    expect(new Set(made.map(({ key }) => key)).size).toBe(1)
    expect(made.filter(({ made }) => made)).toHaveLength(1)
    expect(readdirSync(join(dataDir, 'keys'))).toEqual(['k1'])
  })
})
