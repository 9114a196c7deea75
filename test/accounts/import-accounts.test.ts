import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { readRows } from '../../src/accounts/account-rows.ts'
import { importRows } from '../../src/accounts/import-accounts.ts'
import { readForExport } from '../../src/accounts/registry.ts'
import { createVault, type Vault } from '../../src/tokens/vault.ts'
import { dump, REFRESH_CLAIM_MS } from '../support/accounts.ts'
import { tokens as answered, fails, slowAnswer } from '../support/fake-provider.ts'
import { HUB, type World, worldOfFile } from '../support/world.ts'

const world = worldOfFile()

/** An installation, and a file of rows to import into it. */
async function installation(vault?: Vault) {
  const w = await world(vault === undefined ? {} : { change: () => ({ vault }) })
  const { due, registry } = w.services
  const bring = async (text: string, { replace = false, stop = new AbortController().signal } = {}) => {
    const bad: [number, string][] = []
    const bytes = (async function* () {
      yield Buffer.from(text)
    })()
    const summary = await importRows(w.services, readRows(bytes, 'a.csv'), {
      replace,
      stop,
      onProgress: () => {},
      onBad: ({ line, problem }) => bad.push([line, problem]),
    })
    return { ...summary, bad }
  }
  return { ...w, ...w.of(HUB), due, registry, bring }
}

const row = (token: string, hubId = HUB) => `hubId,refreshToken,hubDomain\n${hubId},${token},acme.example.com\n`
const counted = { imported: 0, kept: 0, keptUninstalled: 0, replaced: 0, bad: [], stopped: false }

describe('an imported account', () => {
  test('has a sealed refresh token and no life yet; it is due for a refresh and for nothing else', async () => {
    const { store, keys, clock, tokens, dueAt, registry, bring } = await installation()
    expect(await bring(row('refresh-1'))).toEqual({ ...counted, imported: 1 })
    expect(await tokens()).toMatchObject({ access: undefined, refresh: 'refresh-1' })
    expect(await registry.get(HUB)).toMatchObject({
      state: 'active',
      hubDomain: 'acme.example.com',
      user: null,
      connectedAt: clock.now(),
      polledAt: null,
      token: { obtainedAt: null, expiresAt: null, refreshedAt: null, driftMs: null },
    })
    expect(await dueAt('refresh')).toBe(clock.now())
    expect(await dueAt('poll')).toBeNull()
    expect(await registry.countByState()).toMatchObject({ active: 1 })
    for (const value of Object.values(await dump(store, keys))) {
      expect(Buffer.from(value ?? '', 'hex').toString('latin1')).not.toContain('refresh-1')
    }
  })

  test('is to be identified right after its first refresh, which counts neither as late nor as a token that expired', async () => {
    const { clock, says, tokens, refresh, dueAt, bring } = await installation()
    await bring(row('refresh-1'))
    clock.move(600_000)
    says.refresh = async () => answered('access-1')
    expect(await refresh()).toEqual({
      is: 'refreshed',
      isUnidentified: true,
      lateMs: 0,
      expired: false,
      unstoredMs: 0,
      // Nobody knows how long the token before had left.
      leftMs: null,
    })
    expect(await dueAt('poll')).toBeNull()
    expect(await dueAt('refresh')).toBe(clock.now() + 15_000)
    expect(await tokens()).toMatchObject({ access: 'access-1', refresh: 'refresh-1' })
  })

  test.each(['transient', 'parked'] as const)(
    'whose first refresh is %s is not to be identified before one worked',
    async (kind) => {
      const { clock, says, refresh, dueAt, bring } = await installation()
      await bring(row('refresh-1'))
      says.refresh = fails(kind)
      expect(await refresh()).toMatchObject({ is: 'failed' })
      expect(await refresh()).toEqual({ is: 'fresh', isUnidentified: false })
      clock.move(4_000_000)
      says.refresh = async () => answered('access-1')
      expect(await refresh()).toMatchObject({ is: 'refreshed', isUnidentified: true, expired: false })
      expect(await dueAt('poll')).toBeNull()
    },
  )
})

describe('an import of an account that is known', () => {
  test('keeps it: its tokens may have been refreshed since the file was written', async () => {
    const { store, keys, account, bring } = await installation()
    await account()
    const accounts = async () => ({ ...(await dump(store, keys)), [keys.fleet]: undefined })
    const before = await accounts()
    expect(await bring(row('refresh-old'))).toEqual({ ...counted, kept: 1 })
    expect(await accounts()).toEqual(before)
  })

  test('with --replace overwrites it, and a refresh under way can not write over it', async () => {
    const { clock, says, account, tokens, refresh, dueAt, registry, bring } = await installation()
    await account({ lifeMs: 1_000 })
    clock.move(2_000)
    const slow = slowAnswer()
    says.refresh = slow.refresh
    const refreshing = refresh()
    await slow.asked
    expect(await bring(row('refresh-new'), { replace: true })).toEqual({ ...counted, replaced: 1 })
    slow.answer(answered('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'lost' })
    expect(await tokens()).toEqual({ access: undefined, refresh: 'refresh-new', previous: 'refresh-1' })
    expect(await dueAt('poll')).toBeNull()
    // The file may have the very token that is under way.
    expect(await dueAt('refresh')).toBe(clock.now() + REFRESH_CLAIM_MS + 1)
    expect((await registry.get(HUB))?.token).toMatchObject({
      expiresAt: null,
      refreshedAt: null,
    })
  })

  test('whose refresh is under way when it is connected leaves no token that may be of another account', async () => {
    const { says, account, tokens, refresh, bring } = await installation()
    await bring(row('refresh-of-file'))
    const slow = slowAnswer()
    says.refresh = slow.refresh
    const refreshing = refresh()
    await slow.asked
    await account({ refreshToken: 'refresh-own' })
    slow.answer(answered('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'lost' })
    expect(await tokens()).toMatchObject({ refresh: 'refresh-own', previous: undefined })
  })

  test.each(['uninstalling', 'uninstalled'] as const)(
    'does not bring one back that is %s, but with --replace',
    async (state) => {
      const { store, keys, clock, account, dueAt, registry, bring } = await installation()
      await account()
      await store.hset(keys.account(HUB).account, { state, uninstallReason: 'asked' })
      await store.zrem(keys.state.active, HUB)
      await store.zadd(keys.state[state], HUB, HUB)
      await store.zadd(keys.due.uninstall, clock.now(), HUB)
      expect(await bring(row('refresh-9'))).toEqual({ ...counted, kept: 1, keptUninstalled: 1 })
      expect(await registry.get(HUB)).toMatchObject({ state })
      expect(await bring(row('refresh-9'), { replace: true })).toEqual({ ...counted, replaced: 1 })
      expect(await registry.get(HUB)).toMatchObject({ state: 'active', uninstall: null })
      expect(await dueAt('uninstall')).toBeNull()
      expect(await registry.countByState()).toMatchObject({ active: 1, [state]: 0 })
    },
  )
})

describe('an import', () => {
  test('names an account that comes twice with both lines; the first counts', async () => {
    const { tokens, bring } = await installation()
    const { imported, bad } = await bring(`hubId,refreshToken\n${HUB},\n${HUB},first\n5,other\n${HUB},second\n`)
    expect(imported).toBe(2)
    expect(bad).toEqual([
      [2, 'has no refresh token'],
      [5, `names the account ${HUB} of line 3 again`],
    ])
    expect(await tokens()).toMatchObject({ refresh: 'first' })
  })

  test('that was stopped says so, and goes on where it ended when it is run again', async () => {
    const { store, keys, registry, bring } = await installation()
    const file = `hubId,refreshToken\n${Array.from({ length: 600 }, (_, n) => `${n + 1},token-${n}\n`).join('')}`
    const stopped = await bring(file, { stop: AbortSignal.abort() })
    expect(stopped).toMatchObject({ imported: 1, stopped: true })
    const version = () => store.hget(keys.account(1).account, 'version')
    const before = await version()
    const again = await bring(file)
    expect(again).toMatchObject({ imported: 599, kept: 1, stopped: false, bad: [] })
    expect(await registry.countByState()).toMatchObject({ active: 600 })
    expect(await version()).toBe(before)
  })
})

describe('an export', () => {
  const KEY = { id: 'k1', key: Buffer.alloc(32, 1) }

  async function exported({ store, keys }: World) {
    const all = []
    for await (const some of readForExport(store, keys)) all.push(...some)
    return all
  }

  test('is taken in by an installation with the same key, all live accounts and no others', async () => {
    const from = await installation(createVault([KEY]))
    await from.bring('hubId,refreshToken,hubDomain\n1,one,a.example.com\n2,two,b.example.com\n3,three,\n4,ones,\n')
    await from.store.hset(from.keys.account(3).account, 'state', 'uninstalled')
    await from.store.hset(from.keys.account(4).account, 'tokenOf', '1')
    const file = await exported(from)
    expect(file.map(({ hubId }) => hubId).sort()).toEqual([1, 2])
    expect(JSON.stringify(file)).not.toMatch(/"one"|"two"/)

    const to = await installation(createVault([{ id: 'k2', key: Buffer.alloc(32, 2) }, KEY]))
    const text = file.map((account) => `${JSON.stringify(account)}\n`).join('')
    to.clock.move(86_400_000)
    expect(await to.bring(text)).toEqual({ ...counted, imported: 2 })
    expect(await to.registry.get(1)).toMatchObject({ hubDomain: 'a.example.com', connectedAt: from.clock.now() })
    const sealed = await to.store.hgetBuffer(to.keys.account(2).tokens, 'refresh')
    const own = createVault([{ id: 'k2', key: Buffer.alloc(32, 2) }])
    expect(own.open(sealed as Buffer, 2, 'refresh').reveal()).toBe('two')
  })

  test('under another key is refused line by line, with the id of the key that is missing', async () => {
    const from = await installation(createVault([KEY]))
    await from.bring('hubId,refreshToken\n1,one\n')
    const [account] = await exported(from)
    const line = JSON.stringify(account)
    const other = await installation(createVault([{ id: 'k9', key: KEY.key }]))
    expect((await other.bring(line)).bad).toEqual([[1, expect.stringContaining('no key with the id k1 is configured')]])
    const same = await installation(createVault([{ id: 'k1', key: Buffer.alloc(32, 5) }]))
    expect((await same.bring(line)).bad).toEqual([[1, expect.stringContaining('the key k1')]])
    const moved = await installation(createVault([KEY]))
    expect((await moved.bring(line.replace('"hubId":1', '"hubId":2'))).bad).toHaveLength(1)
    expect(await dump(moved.store, moved.keys)).toEqual({})
  })
})

test.each([
  ['its sender is gone', true],
  ['it breaks off', false],
])('of a file that can not be read to its end, because %s, the lines before are in', async (_, isGone) => {
  const { services } = await world()
  const gone = new AbortController()
  const bytes = (async function* () {
    yield Buffer.from('hubId,refreshToken\n1,refresh-1\n2,refresh-2\n3,refr')
    if (isGone) gone.abort()
    throw new Error('aborted')
  })()
  const how = { replace: false, stop: gone.signal, onProgress: () => {}, onBad: () => {} }
  const importing = importRows(services, readRows(bytes, 'a.csv'), how)
  if (isGone) expect(await importing).toMatchObject({ imported: 2, bad: 0, stopped: true })
  else await expect(importing).rejects.toThrow('aborted')
  await expect.poll(() => services.registry.countByState()).toMatchObject({ active: 2 })
})

test('a line that Redis refuses while the next one is waited for ends the import, not the process', async () => {
  const w = await world({
    change: ({ store }) => ({
      store: new Proxy(store, {
        get: (target, name) => {
          if (name === 'importAccount') return () => Promise.reject(new Error('OOM'))
          const value = Reflect.get(target, name)
          return typeof value === 'function' ? value.bind(target) : value
        },
      }),
    }),
  })
  const bytes = (async function* () {
    yield Buffer.from('hubId,refreshToken\n1,refresh-1\n')
    for (let turns = 0; turns < 20; turns++) await setImmediate()
    yield Buffer.from('2,refresh-2\n')
  })()
  const how = { replace: false, stop: new AbortController().signal, onProgress: () => {}, onBad: () => {} }
  await expect(importRows(w.services, readRows(bytes, 'a.csv'), how)).rejects.toThrow('OOM')
})
