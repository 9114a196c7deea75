import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { connectWithCode, connectWithRefreshToken } from '../../src/accounts/connect-account.ts'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { latestOf } from '../../src/tokens/given-tokens.ts'
import { resealLines } from '../../src/tokens/sealed-tokens.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { dump, seedAccount, vaultKey } from '../support/accounts.ts'
import { changePolls } from '../support/changed-polls.ts'
import { CodeDoor } from '../support/endpoint.ts'
import { type FakeAnswers, failure, tokens } from '../support/fake-provider.ts'
import { uninstallNow } from '../support/uninstall-now.ts'
import { accountIn, HUB, type World, type WorldOptions, worldOfFile } from '../support/world.ts'
import { metadata } from './connected.ts'

const world = worldOfFile()
const code = new Secret('the-code')
const NEWER_KEY = { id: 'newer', key: randomBytes(32) }
type Refreshed = Awaited<ReturnType<ProviderClient['refresh']>>

/** An install whose code is good, and of whose account all is told, but for what the test says. */
async function install(does: FakeAnswers = {}, more: WorldOptions = {}, open: typeof world = world) {
  const given = { exchangeCode: async () => tokens('access-1', 'refresh-1'), metadata: async () => metadata() }
  const w = await open({ ...more, provider: { ...given, ...does } })
  const deps = { ...w.services, endpoint: new CodeDoor() }
  return {
    ...w,
    ...accountIn(w.services),
    deps,
    registry: w.services.registry,
    connect: (options?: Parameters<typeof connectWithCode>[2]) => connectWithCode(deps, code, options),
    grants: () => w.store.zrange(w.keys.grants.due, 0, '-1'),
  }
}

/** The same by another daemon. */
const installBeside = (one: World, does: FakeAnswers) => install(does, {}, one.beside)

/** Its refresh tokens that were deleted at the provider. */
const deletions = () => {
  const deleted: string[] = []
  const deleteRefreshToken: ProviderClient['deleteRefreshToken'] = async (token) => {
    deleted.push(token.reveal())
    return { ok: true, value: 'deleted' }
  }
  return { deleted, does: { deleteRefreshToken, metadata: async () => metadata() } }
}
const uninstall = { by: 'cli', reason: 'asked' } as const

describe('connecting with a code', () => {
  test('exchanges it, asks whose token it is, and stores the account, of which nobody reads a token', async () => {
    const one = await install()
    const scopes = ['oauth', 'crm.objects.contacts.read']
    expect(await one.connect()).toEqual({ is: 'connected', hubId: HUB, hubDomain: 'acme.example.com', scopes })
    const asked = [one.provider.calls[0], one.provider.calls[1]]
    expect(asked).toEqual([
      ['exchangeCode', 'the-code'],
      ['metadata', 'access-1'],
    ])
    expect(one.provider.calls).toHaveLength(2)
    expect(await one.tokens()).toEqual({ access: 'access-1', refresh: 'refresh-1', previous: undefined })
    const now = one.clock.now()
    expect(await one.read()).toMatchObject({
      hubDomain: 'acme.example.com',
      state: 'active',
      user: 'ada@acme.example.com',
      connectedAt: now,
      firstConnectedAt: now,
      token: { obtainedAt: now, expiresAt: now + 1_800_000, refreshedAt: now, driftMs: null },
      refreshFailure: null,
      polledAt: null,
      uninstall: null,
    })
    expect(await one.registry.grantedScopes(HUB)).toEqual(scopes)
    const refreshAt = Number(await one.dueAt('refresh'))
    expect(refreshAt).toBeGreaterThanOrEqual(now + 900_000)
    expect(refreshAt).toBeLessThanOrEqual(now + 1_440_000)
    expect(await one.dueAt('poll')).toBe(now)
    expect(await one.store.hget(one.keys.fleet, 'connectedAt')).toBe(`${now}`)
    for (const value of Object.values(await dump(one.store, one.keys))) {
      expect(Buffer.from(value ?? '', 'hex').toString('latin1')).not.toMatch(/(access|refresh)-1|the-code/)
    }
    expect(one.codes()).toContain('account.connected')
    expect(one.logged.text()).not.toMatch(/(access|refresh)-1|the-code/)
  })

  test('of an account whose domain and user the provider does not tell works too', async () => {
    const untold = metadata({ hubDomain: undefined, user: undefined, scopes: [] })
    const one = await install({ metadata: async () => untold })
    expect(await one.connect()).toMatchObject({ is: 'connected', hubDomain: '' })
    expect(await one.read()).toMatchObject({ hubDomain: '', user: null })
    expect(await one.registry.grantedScopes(HUB)).toEqual([])
  })

  test.each([
    ['is refused', failure('rejected'), 'the provider says rejected'],
    ['brings no refresh token', tokens('access-1'), 'refresh_token'],
  ])('that %s stores nothing, and says why', async (_, answer, why) => {
    const one = await install({ exchangeCode: async () => answer })
    const message = expect.stringContaining(why)
    expect(await one.connect()).toMatchObject({ is: 'failed', step: 'token', failure: { message } })
    expect(Object.keys(await dump(one.store, one.keys))).toEqual([one.keys.fleet])
  })

  test('asks again whose token it is while the provider hiccups, because the code is spent', async () => {
    const answers = [failure('transient'), failure('transient', { retryAfterMs: 60_000 }), metadata()]
    const { clock, connect, record } = await install({ metadata: async () => answers.shift() ?? metadata() })
    const sentAt = clock.now()
    const connecting = connect()
    for (const wait of [500, 5_000]) {
      await clock.sleeper()
      clock.move(wait)
    }
    expect(await connecting).toMatchObject({ is: 'connected' })
    expect(clock.waits).toEqual([500, 5_000])
    // The token's life counts from when the code was sent, not from when all was done.
    expect((await record()).obtainedAt).toBe(`${sentAt}`)
  })

  test('whose account stays unknown keeps the grant, and hands no token on', async () => {
    const one = await install({ metadata: async () => failure('unauthorized') })
    expect(await one.connect()).toEqual({ is: 'parked', failure: failure('unauthorized').failure })
    expect(await one.grants()).toHaveLength(1)
  })
})

describe('connecting with a refresh token', () => {
  const given = new Secret('refresh-1')

  test.each([
    ['a rotated one', 'refresh-2', 'refresh-2'],
    ['the same one', 'refresh-1', 'refresh-1'],
    ['none', undefined, 'refresh-1'],
  ])('redeems it at once; where the answer has %s, the one that counts is stored', async (...row) => {
    const [, returned, stored] = row
    const one = await install({ refresh: async () => tokens('access-2', returned) })
    expect(await connectWithRefreshToken(one.deps, given)).toMatchObject({ is: 'connected' })
    expect(one.provider.calls[0]).toEqual(['refresh', 'refresh-1'])
    expect(await one.tokens()).toMatchObject({ access: 'access-2', refresh: stored })
    expect(latestOf(one.deps.vault, one.deps.dataDir, given)).toBe(given)
  })

  test('seals a rotated one before anything else can fail, and takes it when the same is given again', async () => {
    const answers = [failure('unauthorized'), metadata()]
    const one = await install({
      refresh: async (sent) => tokens('access-2', `${sent.reveal()}+`),
      metadata: async () => {
        expect(readdirSync(join(one.deps.dataDir, 'answers'))).toHaveLength(1)
        return answers.shift() ?? failure('transient')
      },
    })
    const outcome = await connectWithRefreshToken(one.deps, given)
    expect(outcome).toEqual({ is: 'failed', step: 'metadata', failure: failure('unauthorized').failure })
    const folder = join(one.deps.dataDir, 'answers')
    const sealed = readdirSync(folder).map((name) => `${name} ${readFileSync(join(folder, name), 'latin1')}`)
    expect(sealed.join()).not.toContain('refresh-1')
    // By another process, with another key first.
    const vault = createVault([NEWER_KEY, vaultKey])
    expect(resealLines(vault, one.deps.dataDir)).toEqual([])
    const after = { ...one.deps, vault: createVault([NEWER_KEY]) }
    expect(await connectWithRefreshToken(after, given)).toMatchObject({ is: 'connected' })
    expect(one.provider.calls.filter(([call]) => call === 'refresh')).toEqual([
      ['refresh', 'refresh-1'],
      ['refresh', 'refresh-1+'],
    ])
    expect(readdirSync(folder)).toEqual([])
  })

  test('is not redeemed twice at once', async () => {
    const asked = Promise.withResolvers<Refreshed>()
    const one = await install({ refresh: () => asked.promise })
    const first = connectWithRefreshToken(one.deps, given)
    expect(await connectWithRefreshToken(one.deps, given)).toEqual({ is: 'busy' })
    asked.resolve(tokens('access-2', 'refresh-2'))
    expect(await first).toMatchObject({ is: 'connected' })
  })

  test('that is refused stores nothing, and there is no new one to keep', async () => {
    const { deps, store, keys } = await install({ refresh: async () => failure('rejected') })
    expect(await connectWithRefreshToken(deps, given)).toMatchObject({ is: 'failed', step: 'token' })
    expect(Object.keys(await dump(store, keys))).toEqual([keys.fleet])
    expect(latestOf(deps.vault, deps.dataDir, given)).toBe(given)
  })
})

describe('connecting again', () => {
  /** An account that is connected, and about to be once more. */
  async function again(does: FakeAnswers = {}) {
    const one = await install({
      exchangeCode: async () => tokens('access-9', 'refresh-9'),
      metadata: async () => metadata({ hubDomain: 'new.example.com', user: undefined }),
      ...does,
    })
    await seedAccount(one.store, one.keys, { obtainedAt: one.clock.now() })
    const own = one.keys.account(HUB)
    const connectLater = (...options: Parameters<typeof one.connect>) => {
      one.clock.move(10_000)
      return one.connect(...options)
    }
    return { ...one, own, connectLater }
  }

  test('replaces tokens and record, and keeps the history', async () => {
    const { store, keys, own, clock, connectLater, ...one } = await again()
    await store.rpush(own.history, 'x')
    await store.hset(own.account, { failures: 3, failureAt: 1, retryAt: 9e12 })
    await changePolls(store, keys, HUB, { polledAt: 1, failing: { count: 2, reason: 'x', at: 1, since: 1 } })
    expect(await connectLater()).toMatchObject({ is: 'reconnected', hubDomain: 'new.example.com' })
    expect(await one.read()).toMatchObject({
      state: 'active',
      hubDomain: 'new.example.com',
      user: null,
      connectedAt: clock.now(),
      polledAt: 1,
      refreshFailure: null,
      pollFailure: null,
    })
    expect(await one.tokens()).toEqual({ access: 'access-9', refresh: 'refresh-9', previous: 'refresh-1' })
    expect(await one.record()).not.toHaveProperty('retryAt')
    expect(await store.llen(own.history)).toBe(1)
  })

  test('an account that had to be authorised again closes its alert in the same step', async () => {
    const { store, keys, own, clock, connectLater, ...one } = await again()
    const account = { hubId: HUB, hubDomain: 'acme.example.com', tokenAlert: '', now: clock.now() }
    const times = { refreshedAt: 1, expiresAt: 2, interruptedAt: null }
    const opened = one.services.announce.reauthorize(
      { ...account, ...times },
      { message: 'refused', isElsewhere: false },
    )
    const [field = '', , state = ''] = opened.changes[0] ?? []
    await store.hset(own.alerts, field, state)
    await store.sadd(keys.alerting, HUB)
    await connectLater()
    expect(await store.exists(own.alerts)).toBe(0)
    expect(await one.registry.alerting()).toEqual([])
    expect(await one.outbox()).toMatchObject([
      { kind: 'token', status: 'resolved', reason: 'recovered', account: { hubDomain: 'new.example.com' } },
    ])
  })

  test.each(['failing', 'parked', 'reauthorize', 'uninstalling', 'uninstalled'] as const)(
    'an account that is %s leaves it in no list of that state',
    async (state) => {
      const { store, keys, own, connectLater, registry } = await again()
      const { state: lists } = keys
      await store.hset(own.account, 'state', state)
      await store.zrem(lists.active, HUB)
      await store.zadd(lists[state], HUB, HUB)
      await connectLater()
      const counts = await registry.countByState()
      expect(Object.entries(counts).filter(([, count]) => count > 0)).toEqual([['active', 1]])
    },
  )

  test.each([
    ['has its token', {}, ['refresh-1', 'refresh-9']],
    ['has the token of another account', { tokenOf: '9' }, ['refresh-9']],
  ])(
    'an account that is being uninstalled and %s stays so when a link for another one is opened with it: its new token goes, too',
    async (_, fields, doomed) => {
      const { deleted, does } = deletions()
      const { deps, store, own, connectLater, ...one } = await again(does)
      if ('tokenOf' in fields) await store.hset(own.account, fields)
      expect(await beginUninstall(deps, HUB, uninstall)).toBe('begun')
      const outcome = await connectLater({ only: 7 })
      expect(outcome).toMatchObject({ is: 'other-account', hubId: HUB, wanted: 7, isReconnected: false })
      expect((await one.record()).state).toBe('uninstalling')
      expect(await one.grants()).toEqual([])
      expect(await uninstallNow(deps, HUB)).toEqual({ is: 'finished' })
      expect(deleted).toEqual(doomed)
    },
  )
})

describe('two installs of an account that cross', () => {
  const second = {
    exchangeCode: async () => tokens('access-2', 'refresh-2'),
    metadata: async () => metadata(),
  }

  /** The first one's code was exchanged, and it waits for its metadata until the second one is done. */
  async function crossed(refresh: ProviderClient['refresh'], meanwhile = async (_: World) => {}) {
    const held = Promise.withResolvers<void>()
    const first = await install({
      exchangeCode: async () => tokens('access-1', 'refresh-1'),
      metadata: () => held.promise.then(() => metadata()),
      refresh,
    })
    const connecting = connectWithCode(first.deps, code)
    await vi.waitFor(async () => expect(await first.grants()).toHaveLength(1))
    const other = await installBeside(first, second)
    expect(await other.connect()).toMatchObject({ is: 'connected' })
    await meanwhile(first)
    held.resolve()
    const outcome = await connecting
    return { ...first, outcome, grants: await first.grants(), stored: await first.tokens() }
  }

  test('leave the tokens of the later one, and those of the other beside them', async () => {
    const { outcome, grants, stored, provider } = await crossed(async () => failure('rejected'))
    expect(outcome).toMatchObject({ is: 'reconnected', hubId: HUB })
    expect(stored).toEqual({ access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' })
    expect(grants).toEqual([])
    expect(provider.calls.map(([name]) => name)).not.toContain('refresh')
  })

  test.each(['failing', 'reauthorize'])('have the other token tried at once where the account is %s', async (state) => {
    const { dueAt, clock } = await crossed(
      async () => failure('rejected'),
      async ({ store, keys }) => {
        await store.hset(keys.own(HUB), { state, retryAt: 9e15 })
        await store.zadd(keys.due.refresh, 9e15, HUB)
      },
    )
    expect(await dueAt('refresh')).toBe(clock.now())
  })

  test('bring back nothing that was uninstalled after both: what they left is deleted, too', async () => {
    const { deleted, does } = deletions()
    const { outcome, deps, ...one } = await crossed(
      async () => failure('rejected'),
      async ({ services }) => {
        await beginUninstall(services, HUB, uninstall)
        await uninstallNow({ ...services, provider: { ...services.provider, ...does } }, HUB)
      },
    )
    expect(outcome).toMatchObject({ is: 'failed', failure: { code: 'uninstalled' } })
    expect(await uninstallNow({ ...deps, provider: { ...deps.provider, ...does } }, HUB)).toEqual({ is: 'finished' })
    expect([deleted, (await one.record()).state]).toEqual([['refresh-2', 'refresh-1'], 'uninstalled'])
  })
})

describe('what the provider says of a connection', () => {
  /** An account is connected again and again, and each time the provider says this of it. */
  async function connecting() {
    const says: { next: Parameters<typeof metadata>[0] } = { next: {} }
    const one = await install({ metadata: async () => metadata(says.next) })
    const connectSaying = (next: typeof says.next) => {
      says.next = next
      one.clock.move(10_000)
      return one.connect()
    }
    return { ...one, connectSaying }
  }

  test('opens an alert when its scopes do not let limits be read, and closes it when they do again', async () => {
    const one = await connecting()
    const told: string[] = []
    for (const scopes of [['oauth'], ['oauth', 'files'], ['oauth', 'crm.objects.contacts.read'], ['oauth']]) {
      await one.connectSaying({ scopes })
      told.push((await one.outbox()).map(({ kind, status }) => `${kind} ${status}`).join(', '))
    }
    const [opened, closed] = ['poll firing', 'poll firing, poll resolved']
    expect(told).toEqual([opened, opened, closed, `${closed}, ${opened}`])
    expect((await one.outbox())[0]?.message).toContain('Missing: crm.objects.contacts.read')
    expect(await one.store.hkeys(one.keys.account(HUB).alerts)).toEqual(['poll'])
  })

  test('counts where it gives the token less life than its answer did', async () => {
    const one = await connecting()
    await one.connectSaying({ lifeLeftMs: 600_000 })
    const now = one.clock.now()
    const token = { obtainedAt: now, expiresAt: now + 600_000, driftMs: -1_200_000 }
    expect(await one.read()).toMatchObject({ token })
    expect(await one.dueAt('refresh')).toBeLessThan(now + 500_000)
    await one.connectSaying({ lifeLeftMs: 1_799_000 })
    expect(await one.read()).toMatchObject({ token: { driftMs: null } })
  })
})
