import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { isRedisAway } from '../../src/redis/away.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ACCOUNT, NO_ALERT_WRITES, stepJson } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { type RekeyWatcher, rekeyAll, type Writer } from '../../src/tokens/rekey.ts'
import { createVault, keyIdOf, type TokenField, type Vault } from '../../src/tokens/vault.ts'
import { checkKeys } from '../../src/tokens/vault-keys.ts'
import { putAccess, sealedAccess } from '../support/accounts.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const k1 = { id: 'k1', key: randomBytes(32) }
const k2 = { id: 'k2', key: randomBytes(32) }
const [old, both] = [createVault([k1]), createVault([k2, k1])]
const FIELDS: [string, TokenField][] = [
  ['access', 'access'],
  ['refresh', 'refresh'],
  ['previous', 'refresh'],
  ['previous2', 'refresh'],
]

/** Accounts 1 to `count` with three tokens each, under the first key of `vault`. */
async function fleet(count: number, vault: Vault = old): Promise<Keys> {
  const keys = redis.freshKeys()
  await checkKeys(redis.store, keys, vault)
  for (let hubId = 1; hubId <= count; hubId++) await connect(keys, hubId, vault)
  return keys
}

async function connect(keys: Keys, hubId: number, vault: Vault): Promise<void> {
  await redis.store.connectAccount(
    keys.own(hubId),
    hubId,
    1,
    vault.seal(new Secret(`access-${hubId}`), hubId, 'access'),
    vault.seal(new Secret(`refresh-${hubId}`), hubId, 'refresh'),
    'oauth',
    1,
    2,
    3,
    '{}',
    stepJson(NO_ALERT_WRITES),
    await redis.store.takeIntent(keys.own(NO_ACCOUNT)),
    'a-grant',
    '',
    '',
  )
  const previous = vault.seal(new Secret(`previous-${hubId}`), hubId, 'refresh')
  await redis.store.hset(keys.account(hubId).tokens, 'previous', previous)
}

/** Key id and clear text of each stored value, by field. */
async function stored(keys: Keys, hubId: number, vault: Vault = both) {
  const access = await sealedAccess(redis.store, keys, hubId)
  const values: Record<string, Buffer> = await redis.store.hgetallBuffer(keys.account(hubId).tokens)
  if (access !== undefined) values.access = access
  return Object.fromEntries(
    FIELDS.flatMap(([name, field]) => {
      const sealed = values[name]
      return sealed === undefined ? [] : [[name, [keyIdOf(sealed), vault.open(sealed, hubId, field).reveal()]]]
    }),
  )
}

const under = (key: string, hubId: number) => ({
  access: [key, `access-${hubId}`],
  refresh: [key, `refresh-${hubId}`],
  previous: [key, `previous-${hubId}`],
})

/** What the command would be told; `meanwhile` runs whenever progress is reported. */
function watch(
  meanwhile: () => Promise<unknown> | unknown = () => {},
): RekeyWatcher & { waits: string[]; stop(): void } {
  const stop = new AbortController()
  const waits: string[] = []
  return {
    waits,
    signal: stop.signal,
    stop: () => stop.abort(),
    progress: () => void meanwhile(),
    waiting: (writers) => void waits.push(...writers.map(({ daemon, keyId }) => `${daemon}: ${keyId}`)),
  }
}

const sealAdminTokens = async () => {}

/** Nobody waits: the time is over at once. */
class HastyClock extends HandClock {
  override async wait(ms: number): Promise<void> {
    this.move(ms)
  }
}

const deps = (keys: Keys, writers: readonly Writer[] = [], store = redis.store) => {
  return { store, keys, vault: both, clock: new HastyClock(), writers: async () => [...writers], sealAdminTokens }
}

/** A store on which something happens between reading and writing the values of an account. */
function storeWith(between: () => Promise<void>) {
  const rekeyAccount = async (...args: Parameters<typeof redis.store.rekeyAccount>) => {
    await between()
    return redis.store.rekeyAccount(...args)
  }
  return new Proxy(redis.store, {
    get: (store, name) => {
      if (name === 'rekeyAccount') return rekeyAccount
      const value = Reflect.get(store, name)
      return typeof value === 'function' ? value.bind(store) : value
    },
  })
}

describe('a rekey', () => {
  test('encrypts every stored value anew with the first key, and the tokens are the same', async () => {
    const keys = await fleet(150)
    const version = await redis.store.hget(keys.account(7).account, 'version')
    const rekeyed = await rekeyAll(deps(keys), watch())
    expect(rekeyed).toMatchObject({ is: 'clean', keyId: 'k2', accounts: 150, replaced: 450, unopened: [] })
    for (let hubId = 1; hubId <= 150; hubId++) expect(await stored(keys, hubId)).toEqual(under('k2', hubId))
    expect(await redis.store.hget(keys.account(7).account, 'version')).toBe(version)
  })

  test('that was stopped midway goes on where it was', async () => {
    const keys = await fleet(250)
    const watcher = watch(() => watcher.stop())
    const first = await rekeyAll(deps(keys), watcher)
    expect(first.is).toBe('stopped')
    expect(first.replaced).toBeGreaterThan(0)
    expect(first.replaced).toBeLessThan(750)
    const second = await rekeyAll(deps(keys), watch())
    expect(second).toMatchObject({ is: 'clean', replaced: 750 - first.replaced })
  })

  test('reaches accounts of every state that has tokens', async () => {
    const keys = await fleet(5)
    for (const [index, state] of ['failing', 'parked', 'reauthorize', 'uninstalling'].entries()) {
      const { state: sets } = keys
      await redis.store.zrem(sets.active, index + 1)
      await redis.store.zadd(sets[state as 'failing'], index + 1, index + 1)
    }
    expect(await rekeyAll(deps(keys), watch())).toMatchObject({ is: 'clean', accounts: 5, replaced: 15 })
  })

  test('never writes over what somebody else wrote since it was read, and finds what went to another place meanwhile', async () => {
    const keys = await fleet(1)
    let newer: Buffer | undefined
    const store = storeWith(async () => {
      if (newer !== undefined) return
      newer = old.seal(new Secret('refresh-newer'), 1, 'refresh')
      const { tokens } = keys.account(1)
      const before = (await redis.store.hgetBuffer(tokens, 'refresh')) as Buffer
      await redis.store.hset(tokens, 'refresh', newer, 'previous2', before)
      await redis.store.hdel(tokens, 'previous')
    })
    const rekeyed = await rekeyAll(deps(keys, [], store), watch())
    expect(rekeyed).toMatchObject({ is: 'clean', replaced: 3, removable: ['k1'] })
    const { access } = under('k2', 1)
    expect(await stored(keys, 1)).toEqual({ access, refresh: ['k2', 'refresh-newer'], previous2: ['k2', 'refresh-1'] })
  })

  test('passes over an account whose tokens are something else: the next work on it puts them aside', async () => {
    const keys = await fleet(3)
    await redis.store.del(keys.account(2).tokens)
    await redis.store.rpush(keys.account(2).tokens, 'a')
    const rekeyed = await rekeyAll(deps(keys), watch())
    expect(rekeyed).toMatchObject({ is: 'clean', accounts: 3, replaced: 7, removable: ['k1'], unopened: [] })
    expect(await stored(keys, 3)).toEqual(under('k2', 3))
  })

  test('names an account with a value that no key opens, does all others, and keeps that key known', async () => {
    const keys = await fleet(3)
    const k0 = createVault([{ id: 'k0', key: randomBytes(32) }])
    await redis.store.hset(keys.account(2).tokens, 'refresh', k0.seal(new Secret('x'), 2, 'refresh'))
    await putAccess(redis.store, keys, 'no encrypted value', 3)
    await redis.store.hset(keys.canaries, 'k0', 'known')
    const rekeyed = await rekeyAll(deps(keys), watch())
    expect(rekeyed).toMatchObject({ is: 'clean', replaced: 7, removable: ['k1'] })
    expect(rekeyed.unopened).toEqual([
      { hubId: 2, fields: ['refresh'], reason: expect.stringContaining('no key with the id k0 is configured') },
      { hubId: 3, fields: ['access'], reason: 'what is stored is no encrypted value' },
    ])
    expect(await redis.store.hkeys(keys.canaries)).toEqual(['k0'])
  })
})

describe('the keys after a rekey', () => {
  /** A daemon that was not given the new key first. */
  const forgotten: Writer = { daemon: 'host pid 1', keyId: 'k1', needs: [] }

  test('that ended clean are the first alone, and the others may be taken out', async () => {
    const keys = await fleet(2)
    await checkKeys(redis.store, keys, both)
    expect((await rekeyAll(deps(keys), watch())).removable).toEqual(['k1'])
    expect(await redis.store.hkeys(keys.canaries)).toEqual(['k2'])
    await expect(checkKeys(redis.store, keys, createVault([k2]))).resolves.toBeUndefined()
    await expect(checkKeys(redis.store, keys, old)).rejects.toThrow('may be encrypted with key k2')
  })

  test('are not forgotten while a daemon that has another one first is alive, however quiet it is', async () => {
    const keys = await fleet(2)
    const watcher = watch()
    expect(await rekeyAll(deps(keys, [forgotten]), watcher)).toMatchObject({
      is: 'writing',
      // It may be that it was never given the new key: then it could read nothing of what is encrypted with that.
      replaced: 0,
      removable: [],
      writers: [{ daemon: 'host pid 1', keyId: 'k1' }],
      writingKeys: ['k1'],
    })
    expect(watcher.waits).toEqual(['host pid 1: k1'])
    expect(await redis.store.hkeys(keys.canaries)).toContain('k1')
    expect(await rekeyAll(deps(keys), watch())).toMatchObject({ is: 'clean', replaced: 6, removable: ['k1'] })
  })

  /** A rekey of two accounts; this happens when it has read them. */
  async function rekeyWhile(keys: Keys, meanwhile: () => Promise<unknown>) {
    let isDone = false
    const store = storeWith(async () => {
      if (isDone) return
      isDone = true
      await meanwhile()
    })
    return rekeyAll(deps(keys, [], store), watch())
  }

  test('take no token any more behind the back of the walk: whoever comes late with one is told', async () => {
    const keys = await fleet(2)
    let refused: unknown
    const late = () => connect(keys, 64, old).catch((error: unknown) => (refused = error))
    expect(await rekeyWhile(keys, late)).toMatchObject({ is: 'clean', replaced: 6, removable: ['k1'] })
    expect(refused).toMatchObject({ message: expect.stringContaining('another key than k1 by now') })
    expect(isRedisAway(refused)).toBe(true)
    expect(await stored(keys, 64)).toEqual({})
    await expect(connect(keys, 64, old)).rejects.toThrow('another key than k1 by now')
  })

  test('are not forgotten when a process with another one first began behind the back of the walk', async () => {
    const keys = await fleet(2)
    const oldFirst = createVault([k1, k2])
    const rekeyed = await rekeyWhile(keys, async () => {
      await checkKeys(redis.store, keys, oldFirst)
      await connect(keys, 64, oldFirst)
    })
    expect(rekeyed).toMatchObject({ is: 'writing', removable: [], writingKeys: ['k1'] })
    await expect(checkKeys(redis.store, keys, createVault([k2]))).rejects.toThrow('k1')
    expect(await rekeyAll(deps(keys), watch())).toMatchObject({ is: 'clean', replaced: 3, removable: ['k1'] })
    expect(await stored(keys, 64)).toEqual(under('k2', 64))
  })

  test('are all known until the admin tokens are sealed anew', async () => {
    const keys = await fleet(1)
    const fails = { ...deps(keys), sealAdminTokens: () => Promise.reject(new Error('no admin token')) }
    await expect(rekeyAll(fails, watch())).rejects.toThrow('no admin token')
    expect((await redis.store.hkeys(keys.canaries)).sort()).toEqual(['k1'])
  })

  test('are not forgotten while a value is another one whenever it is to be replaced', async () => {
    const keys = await fleet(1)
    const again = () => putAccess(redis.store, keys, old.seal(new Secret('access-1'), 1, 'access'), 1)
    const store = storeWith(again)
    await expect(rekeyAll(deps(keys, [], store), watch())).rejects.toThrow('could not be written')
    expect(await redis.store.hkeys(keys.canaries)).toEqual(['k1'])
  })
})
