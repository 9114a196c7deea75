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

/** None where the process is let in. */
async function problemsOf(checked: Promise<void>): Promise<readonly string[]> {
  try {
    await checked
    return []
  } catch (error) {
    if (!(error instanceof KeysError)) throw error
    return error.problems
  }
}

const known = async (keys: Keys) => (await redis.store.hkeys(keys.canaries)).sort()

const WRONG = (id: string) =>
  `the key ${id} doesn't open what is stored: it is another key with the same id, check encryption.keys`
const MISSING = (id: string) =>
  `stored tokens may be encrypted with key ${id}, which is not configured: add it to encryption.keys, or run plimsoll keys rekey with it first`

describe('the canaries', () => {
  test('are written at the first start, of the key that writes, and every later start opens them', async () => {
    const keys = redis.freshKeys()
    const [k1, k2] = [aKey('k1'), aKey('k2')]
    await check(keys, k1, k2)
    expect(await known(keys)).toEqual(['k1'])
    for (const [id, canary] of Object.entries(await redis.store.hgetallBuffer(keys.canaries))) {
      expect(keyIdOf(canary)).toBe(id)
    }
    const before = await dump(redis.store, keys)
    await check(keys, k1, k2)
    expect(await dump(redis.store, keys)).toEqual(before)
  })

  const [k1, k2, k3] = [aKey('k1'), aKey('k2'), aKey('k3')]
  const [otherK1, otherK2] = [aKey('k1'), aKey('k2')]

  test.each<[string, VaultKey[][], VaultKey[], string[]]>([
    ['let a new key in as the first one, as long as the old one still reads', [[k1]], [k2, k1], []],
    ['let a new key in as the second one', [[k1]], [k1, k2], []],
    ['stop nobody who lacks a second key that nothing was encrypted with yet', [[k1, k2]], [k1], []],
    ['stop whoever lacks the key that another daemon encrypts with by now', [[k1], [k2, k1]], [k1], [MISSING('k2')]],
    ['stop whoever lacks the key that was encrypted with before', [[k1], [k2, k1]], [k2], [MISSING('k1')]],
    ['stop whoever has another key under a known id', [[k1, k2]], [otherK1], [WRONG('k1')]],
    ['stop whoever has another second key under a known id', [[k1], [k2, k1]], [k1, otherK2], [WRONG('k2')]],
    ['name all that is wrong at once', [[k1], [k2, k1]], [k3, otherK1], [WRONG('k1'), MISSING('k2')]],
  ])('%s', async (_, earlier, its, problems) => {
    const keys = redis.freshKeys()
    for (const vaultKeys of earlier) await check(keys, ...vaultKeys)
    const before = await dump(redis.store, keys)
    expect(await problemsOf(check(keys, ...its))).toEqual(problems)
    // A process that is refused leaves nothing behind.
    if (problems.length > 0) expect(await dump(redis.store, keys)).toEqual(before)
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
    expect(await known(keys)).toHaveLength(1)
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
