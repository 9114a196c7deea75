import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkAnswers, checkEncryption, checkSecretFiles } from '../../src/doctor/config-and-keys.ts'
import { checkInForce } from '../../src/doctor/daemon.ts'
import { DaemonStore } from '../../src/heartbeat/daemons.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { SealedFile } from '../../src/tokens/sealed-tokens.ts'
import { createVault, type VaultKey } from '../../src/tokens/vault.ts'
import { checkKeys, ownKey } from '../../src/tokens/vault-keys.ts'
import { configOf, SMALLEST } from '../config/load-text.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
let dataDir: string
let keys: Keys
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'plimsoll-keys-'))
  keys = redis.freshKeys()
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const key = (byte: number): VaultKey => ({ id: 'k1', key: Buffer.alloc(32, byte) })

function installation(vaultKeys?: VaultKey[]) {
  return {
    config: { ...configOf(SMALLEST), dataDir },
    notices: [],
    secretFiles: [],
    vaultKeys,
    keys,
    clock: systemClock,
    redis: { store: Promise.resolve(redis.store), lastError: () => undefined, askNodes: async () => [] },
  }
}

describe('encryption', () => {
  test('the keys that stored it open what is stored', async () => {
    await checkKeys(redis.store, keys, createVault([key(1)]))
    expect(await checkEncryption(installation([key(1)]))).toMatchObject([{ level: 'ok' }])
  })

  test('other keys under the same id fail', async () => {
    await checkKeys(redis.store, keys, createVault([key(1)]))
    const [finding] = await checkEncryption(installation([key(2)]))
    expect(finding).toMatchObject({ level: 'fail', fix: expect.stringContaining('encryption.keys') })
    expect(finding?.detail).toContain("doesn't open what is stored")
  })

  test('where nothing is stored nothing is stored by looking, and no key is made', async () => {
    expect(await checkEncryption(installation([key(1)]))).toMatchObject([
      { level: 'ok', detail: 'nothing is stored yet' },
    ])
    expect(await checkEncryption(installation())).toMatchObject([{ level: 'ok' }])
    expect(await redis.store.exists(keys.canaries)).toBe(0)
    expect(checkSecretFiles(installation())).toMatchObject([{ level: 'ok', detail: 'none' }])
  })

  test("the installation's own key is tried, and missed when it is gone", async () => {
    const { key: own, file } = ownKey(dataDir)
    await checkKeys(redis.store, keys, createVault([own]))
    expect(await checkEncryption(installation())).toMatchObject([{ level: 'ok' }])
    rmSync(file)
    expect(await checkEncryption(installation())).toMatchObject([
      { level: 'fail', detail: expect.stringContaining(file), fix: 'restore it from a backup' },
    ])
  })
})

test('a daemon counts as running by the clock of Redis, whatever the clock of this machine shows', async () => {
  const startedAt = await redis.store.readTime(keys.fleet)
  const daemon = {
    name: 'a pid 1',
    version: '1',
    startedAt,
    lastSeenAt: startedAt,
    config: 'another',
    roles: ['worker'],
  } as const
  await new DaemonStore(redis.store, keys).report(daemon)
  const ahead = { ...systemClock, now: () => systemClock.now() + 60_000 }
  const finding = await checkInForce({ ...installation([key(1)]), clock: ahead })
  expect(finding).toMatchObject({ level: 'warn', detail: expect.stringContaining('a pid 1') })
})

describe('files of secrets', () => {
  const look = (mode: number) => {
    const file = join(dataDir, 'secret')
    writeFileSync(file, 'x')
    chmodSync(file, mode)
    return checkSecretFiles({ ...installation([key(1)]), secretFiles: [file, file] })
  }

  test('that only this user may read are fine', () => {
    expect(look(0o600)).toEqual([{ name: 'secret-files', level: 'ok', detail: '1 readable by this user only' }])
  })

  test.each([0o640, 0o604, 0o444])('of mode %o are a warning', (mode) => {
    const file = join(dataDir, 'secret')
    expect(look(mode)).toEqual([
      { name: 'secret-files', level: 'warn', detail: `others may read ${file}`, fix: `chmod 600 ${file}` },
    ])
  })

  test.each([0o620, 0o666])('of mode %o fail', (mode) => expect(look(mode)).toMatchObject([{ level: 'fail' }]))

  test.skipIf(process.geteuid?.() !== 0)(
    'of another user are a warning (left out where tests do not run as root)',
    () => {
      const file = join(dataDir, 'secret')
      writeFileSync(file, 'x', { mode: 0o600 })
      chownSync(file, 65_534, 65_534)
      expect(checkSecretFiles({ ...installation([key(1)]), secretFiles: [file] })).toEqual([
        {
          name: 'secret-files',
          level: 'warn',
          fix: `chown 0 ${file}`,
          detail: `${file} belongs to another user (user id 65534), who may change it`,
        },
      ])
    },
  )

  test('include the own key of the installation', () => {
    const { file } = ownKey(dataDir)
    chmodSync(file, 0o644)
    expect(checkSecretFiles(installation())).toMatchObject([{ level: 'warn', fix: `chmod 600 ${file}` }])
  })
})

test('new tokens that wait in the data folder fail where no key opens them, with the way out', () => {
  expect(checkAnswers(installation([key(1)]))).toMatchObject({ name: 'sealed-tokens', level: 'ok' })
  const grant = { hubId: 0, id: 'a-grant', access: new Secret('a'), refresh: new Secret('r'), grantedAt: 1 } as const
  new SealedFile(createVault([key(1)]), dataDir).write([
    { ...grant, times: { obtainedAt: 1, expiresAt: 2 }, only: undefined, version: 1, account: undefined },
  ])
  expect(checkAnswers(installation([key(1)]))).toMatchObject({ level: 'ok' })
  expect(checkAnswers(installation([{ ...key(2), id: 'k2' }]))).toMatchObject({
    level: 'fail',
    fix: expect.stringContaining('encryption.keys'),
    detail:
      'new tokens of an install wait in dataDir/answers: no key with the id k1 is configured: add it to encryption.keys',
  })
})
