import { describe, expect, test } from 'vitest'
import { connectWithCode, connectWithRefreshToken } from '../../src/accounts/connect-account.ts'
import { finishGrant } from '../../src/accounts/finish-grant.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { beginUninstall, runUninstall } from '../../src/accounts/uninstall.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { readGrant } from '../../src/tokens/parked-grants.ts'
import { dump, outboxOf, seedAccount, storedTokens } from '../support/accounts.ts'
import { changeWatch } from '../support/changed-watch.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { type FakeAnswers, failure, tokens } from '../support/fake-provider.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'
import { announce, HUB, metadata, office } from './connected.ts'

const redis = redisOfFile()
const code = new Secret('the-code')

/** An install whose code is good, and of whose account all is told, but for what the test says. */
function install(does: FakeAnswers = {}) {
  const keys = redis.freshKeys()
  const given = { exchangeCode: async () => tokens('access-1', 'refresh-1'), metadata: async () => metadata() }
  return { keys, ...office(redis.store, keys, { ...given, ...does }) }
}

describe('connecting with a code', () => {
  test('exchanges it, asks whose token it is, and stores the account', async () => {
    const { keys, deps, provider, clock } = install()
    expect(await connectWithCode(deps, code)).toEqual({
      is: 'connected',
      hubId: HUB,
      hubDomain: 'acme.example.com',
      scopes: ['oauth', 'crm.objects.contacts.read'],
    })
    expect(provider.calls).toEqual([
      ['exchangeCode', 'the-code'],
      ['metadata', 'access-1'],
    ])
    expect(await storedTokens(redis.store, keys)).toEqual({
      access: 'access-1',
      refresh: 'refresh-1',
      previous: undefined,
    })
    const now = clock.now()
    const registry = new Registry(redis.store, keys)
    expect(await registry.get(HUB)).toEqual({
      hubId: HUB,
      hubDomain: 'acme.example.com',
      state: 'active',
      user: 'ada@acme.example.com',
      contact: null,
      connectedAt: now,
      firstConnectedAt: now,
      token: { obtainedAt: now, expiresAt: now + 1_800_000, refreshedAt: now, generation: 1, driftMs: null },
      refreshFailure: null,
      refusedSince: null,
      parkedUntil: null,
      tokenServedAt: null,
      tokenServedTo: null,
      polledAt: null,
      turn: null,
      pollFailure: null,
      pollBlocked: null,
      objectTypesLeftOut: 0,
      notAvailable: [],
      bucket: null,
      gaps: [],
      unreadable: [],
      uninstall: null,
    })
    expect(await registry.grantedScopes(HUB)).toEqual(['oauth', 'crm.objects.contacts.read'])
    const due = keys.partition(HUB % 64).due
    const refreshAt = Number(await redis.store.zscore(due.refresh, HUB))
    expect(refreshAt).toBeGreaterThanOrEqual(now + 900_000)
    expect(refreshAt).toBeLessThanOrEqual(now + 1_440_000)
    expect(Number(await redis.store.zscore(due.poll, HUB))).toBe(now)
    expect(await redis.store.get(keys.delivery.connectedAt)).toBe(String(now))
  })

  test('keeps no token in clear text, in no value and no log', async () => {
    const keys = redis.freshKeys()
    const { deps, logged } = office(redis.store, keys, {
      exchangeCode: async () => tokens('access-in-clear', 'refresh-in-clear'),
      metadata: async () => metadata(),
    })
    await connectWithCode(deps, code)
    for (const value of Object.values(await dump(redis.store, keys))) {
      expect(Buffer.from(value ?? '', 'hex').toString('latin1')).not.toContain('in-clear')
    }
    expect(logged.text()).toContain('account.connected')
    expect(logged.text()).not.toMatch(/in-clear|the-code/)
  })

  test('of an account whose domain and user the provider does not tell works too', async () => {
    const { keys, deps } = install({
      metadata: async () => metadata({ hubDomain: undefined, user: undefined, scopes: [] }),
    })
    expect(await connectWithCode(deps, code)).toMatchObject({ is: 'connected', hubDomain: '' })
    const registry = new Registry(redis.store, keys)
    expect(await registry.get(HUB)).toMatchObject({ hubDomain: '', user: null })
    expect(await registry.grantedScopes(HUB)).toEqual([])
  })

  test('that is refused stores nothing', async () => {
    const keys = redis.freshKeys()
    const { deps } = office(redis.store, keys, { exchangeCode: async () => failure('rejected') })
    expect(await connectWithCode(deps, code)).toMatchObject({ is: 'failed', step: 'token' })
    expect(await dump(redis.store, keys)).toEqual({})
  })

  test('that brings no refresh token stores nothing, and says why', async () => {
    const keys = redis.freshKeys()
    const { deps } = office(redis.store, keys, { exchangeCode: async () => tokens('access-1') })
    const outcome = await connectWithCode(deps, code)
    expect(outcome).toMatchObject({ is: 'failed', step: 'token', failure: { code: 'unreadable' } })
    expect(outcome.is === 'failed' && outcome.failure.message).toContain('refresh_token')
    expect(await dump(redis.store, keys)).toEqual({})
  })

  test('asks again whose token it is while the provider hiccups, because the code is spent', async () => {
    const answers = [failure('transient'), failure('transient', { retryAfterMs: 60_000 }), metadata()]
    const { keys, deps, clock } = install({ metadata: async () => answers.shift() ?? metadata() })
    const sentAt = clock.now()
    const connecting = connectWithCode(deps, code)
    await clock.sleeper()
    clock.move(500)
    await clock.sleeper()
    clock.move(5_000)
    expect(await connecting).toMatchObject({ is: 'connected' })
    expect(clock.waits).toEqual([500, 5_000])
    // The token's life counts from when the code was sent, not from when all was done.
    expect(await redis.store.hget(keys.account(HUB).account, 'obtainedAt')).toBe(String(sentAt))
  })

  test('whose account stays unknown keeps the grant, and hands no token on', async () => {
    const { keys, deps } = install({ metadata: async () => failure('unauthorized') })
    expect(await connectWithCode(deps, code)).toEqual({ is: 'parked', failure: failure('unauthorized').failure })
    expect(await redis.store.zcard(keys.grants.due)).toBe(1)
  })
})

describe('connecting with a refresh token', () => {
  const given = new Secret('refresh-1')

  test.each([
    ['a rotated one', 'refresh-2', 'refresh-2', ['refresh-2']],
    ['the same one', 'refresh-1', 'refresh-1', []],
    ['none', undefined, 'refresh-1', []],
  ])(
    'redeems it at once; where the answer has %s, the one that counts is stored',
    async (_, returned, stored, kept) => {
      const keys = redis.freshKeys()
      const { deps, provider } = office(redis.store, keys, {
        refresh: async () => tokens('access-2', returned),
        metadata: async () => metadata(),
      })
      const keptNew: string[] = []
      const keepNew = (token: Secret) => void keptNew.push(token.reveal())
      expect(await connectWithRefreshToken(deps, given, keepNew)).toMatchObject({ is: 'connected' })
      expect(provider.calls[0]).toEqual(['refresh', 'refresh-1'])
      expect(await storedTokens(redis.store, keys)).toMatchObject({ access: 'access-2', refresh: stored })
      expect(keptNew).toEqual(kept)
    },
  )

  test('hands a rotated one to the caller before anything else can fail, and never into the outcome', async () => {
    const events: string[] = []
    const { deps } = office(redis.store, redis.freshKeys(), {
      refresh: async () => tokens('access-2', 'refresh-2'),
      metadata: async () => {
        events.push('metadata')
        return failure('unauthorized')
      },
    })
    const outcome = await connectWithRefreshToken(deps, given, (token) => void events.push(token.reveal()))
    expect(events).toEqual(['refresh-2', 'metadata'])
    expect(outcome).toEqual({ is: 'failed', step: 'metadata', failure: failure('unauthorized').failure })
  })

  test('that is refused stores nothing, and there is no new one to keep', async () => {
    const keys = redis.freshKeys()
    const { deps } = office(redis.store, keys, { refresh: async () => failure('rejected') })
    const keepNew = () => {
      throw new Error('there is none')
    }
    expect(await connectWithRefreshToken(deps, given, keepNew)).toMatchObject({ is: 'failed', step: 'token' })
    expect(await dump(redis.store, keys)).toEqual({})
  })
})

describe('connecting again', () => {
  const again = (keys: ReturnType<typeof redis.freshKeys>) =>
    office(redis.store, keys, {
      exchangeCode: async () => tokens('access-9', 'refresh-9'),
      metadata: async () => metadata({ hubDomain: 'new.example.com', user: undefined }),
    })

  test('replaces tokens and record, moves the generation on, and keeps the history', async () => {
    const keys = redis.freshKeys()
    const { deps, clock } = again(keys)
    await seedAccount(redis.store, keys, { obtainedAt: clock.now() })
    await redis.store.rpush(keys.account(HUB).history, 'x')
    await redis.store.hset(keys.account(HUB).account, { failures: 3, failureAt: 1, retryAt: 9e12 })
    await changeWatch(redis.store, keys, HUB, { polledAt: 1, failing: { count: 2, reason: 'x', at: 1, since: 1 } })
    await redis.store.hset(keys.account(HUB).tokens, 'previous', 'x')
    clock.move(10_000)
    expect(await connectWithCode(deps, code)).toMatchObject({ is: 'reconnected', hubDomain: 'new.example.com' })
    const account = await new Registry(redis.store, keys).get(HUB)
    expect(account).toMatchObject({ state: 'active', hubDomain: 'new.example.com', user: null })
    expect(account).toMatchObject({ refreshFailure: null, pollFailure: null, polledAt: 1, connectedAt: clock.now() })
    expect(account?.token.generation).toBe(1_000_000)
    expect(await storedTokens(redis.store, keys)).toEqual({
      access: 'access-9',
      refresh: 'refresh-9',
      previous: undefined,
    })
    expect(await redis.store.hexists(keys.account(HUB).account, 'retryAt')).toBe(0)
    expect(await redis.store.llen(keys.account(HUB).history)).toBe(1)
  })

  test('an account that had to be authorised again closes its alert in the same step', async () => {
    const keys = redis.freshKeys()
    const { deps, clock } = again(keys)
    await seedAccount(redis.store, keys, { obtainedAt: clock.now() })
    const opened = announce.reauthorize(
      {
        hubId: HUB,
        hubDomain: 'acme.example.com',
        refreshedAt: 1,
        tokenAlert: '',
        expiresAt: 2,
        interruptedAt: null,
        now: clock.now(),
      },
      'refused',
    )
    const [field = '', , state = ''] = opened.changes[0] ?? []
    await redis.store.hset(keys.account(HUB).alerts, field, state)
    await redis.store.sadd(keys.partition(HUB % 64).alerting, HUB)
    clock.move(10_000)
    await connectWithCode(deps, code)
    expect(await redis.store.exists(keys.account(HUB).alerts)).toBe(0)
    expect(await new Registry(redis.store, keys).alerting()).toEqual([])
    expect(await outboxOf(redis.store, keys)).toMatchObject([
      { kind: 'token', status: 'resolved', reason: 'recovered', account: { hubDomain: 'new.example.com' } },
    ])
  })

  test('an account that is in another state leaves it in no list of that state', async () => {
    for (const state of ['failing', 'parked', 'reauthorize', 'uninstalling', 'uninstalled'] as const) {
      const keys = redis.freshKeys()
      const { deps, clock } = again(keys)
      await seedAccount(redis.store, keys, { obtainedAt: clock.now() })
      const { state: lists } = keys.partition(HUB % 64)
      await redis.store.hset(keys.account(HUB).account, 'state', state)
      await redis.store.zrem(lists.active, HUB)
      await redis.store.zadd(lists[state], HUB, HUB)
      clock.move(10_000)
      await connectWithCode(deps, code)
      const counts = await new Registry(redis.store, keys).countByState()
      expect(Object.entries(counts).filter(([, count]) => count > 0)).toEqual([['active', 1]])
    }
  })
})

test.each([
  ['has its token', {}, ['refresh-1', 'refresh-9']],
  ['has the token of another account', { tokenOf: '9' }, ['refresh-9']],
])(
  'an account that is being uninstalled and %s stays so when a link for another one is opened with it: its new token goes, too',
  async (_, fields, doomed) => {
    const keys = redis.freshKeys()
    const deleted: string[] = []
    const { deps, clock } = office(redis.store, keys, {
      exchangeCode: async () => tokens('access-9', 'refresh-9'),
      metadata: async () => metadata(),
      deleteRefreshToken: async (token) => {
        deleted.push(token.reveal())
        return { ok: true, value: 'deleted' }
      },
    })
    await seedAccount(redis.store, keys, { obtainedAt: clock.now() })
    if ('tokenOf' in fields) await redis.store.hset(keys.own(HUB), fields)
    expect(await beginUninstall(deps, HUB, { by: 'cli', reason: 'asked' })).toBe('begun')
    clock.move(10_000)
    const outcome = await connectWithCode(deps, code, { only: 7 })
    expect(outcome).toMatchObject({ is: 'other-account', hubId: HUB, wanted: 7, isReconnected: false })
    expect(await redis.store.hget(keys.own(HUB), 'state')).toBe('uninstalling')
    expect(await redis.store.zcard(keys.grants.due)).toBe(0)
    expect(await runUninstall(deps, HUB)).toEqual({ is: 'finished' })
    expect(deleted).toEqual(doomed)
  },
)

test.each([
  ['being uninstalled', false],
  ['uninstalled', true],
])(
  'a grant of an account that is %s since the provider gave another token for it: both go, and the account stays so',
  async (_, isDone) => {
    const keys = redis.freshKeys()
    const deleted: string[] = []
    const { deps, clock } = office(redis.store, keys, {
      exchangeCode: async () => tokens('access-9', 'refresh-9'),
      metadata: async () => {
        clock.move(100)
        return metadata()
      },
      refresh: async () => {
        await beginUninstall(deps, HUB, { by: 'cli', reason: 'asked' })
        if (isDone) await runUninstall(deps, HUB)
        return tokens('access-10', 'refresh-10')
      },
      deleteRefreshToken: async (token) => {
        deleted.push(token.reveal())
        return { ok: true, value: 'deleted' }
      },
    })
    await seedAccount(redis.store, keys, { obtainedAt: clock.now() })
    expect(await connectWithCode(deps, code, { only: 7 })).toMatchObject({ is: 'other-account', isReconnected: false })
    for (const id of await redis.store.zrange(keys.grants.due, 0, '-1')) {
      expect(await finishGrant({ ...deps, endpoint: openEndpoint(redis.store, keys, clock) }, id)).toBe('deleted')
    }
    if (!isDone) expect(await runUninstall(deps, HUB)).toEqual({ is: 'finished' })
    expect(deleted.sort()).toEqual(['refresh-1', 'refresh-10', 'refresh-9'])
    expect(await redis.store.hget(keys.own(HUB), 'state')).toBe('uninstalled')
  },
)

describe('two installs of an account that cross', () => {
  /** The first one's code was exchanged, and it waits for its metadata until the second one is done. */
  async function crossed(
    refresh: ProviderClient['refresh'],
    { meanwhile = async (_: Keys) => {}, storeOf = (store: Store) => store, isOwnerTold = false } = {},
  ) {
    const keys = redis.freshKeys()
    let go = () => {}
    const held = new Promise<void>((resolve) => {
      go = resolve
    })
    const given = tokens('access-1', 'refresh-1')
    const withOwner = { ok: true as const, value: { ...given.value, owner: { hubId: HUB, scopes: ['oauth'] } } }
    const does = { exchangeCode: async () => (isOwnerTold ? held.then(() => withOwner) : given), refresh }
    const first = office(redis.store, keys, { ...does, metadata: () => held.then(() => metadata()) })
    const second = office(redis.store, keys, {
      exchangeCode: async () => tokens('access-2', 'refresh-2'),
      metadata: async () => metadata(),
    })
    const connecting = untroubled(first.clock, connectWithCode({ ...first.deps, store: storeOf(redis.store) }, code))
    expect(await connectWithCode(second.deps, code)).toMatchObject({ is: 'connected' })
    await meanwhile(keys)
    go()
    const outcome = await connecting.catch((error: unknown) => error)
    const ids = await redis.store.zrange(keys.grants.due, '0', '-1')
    const grants = await Promise.all(ids.map((id) => readGrant(first.deps, id)))
    return {
      ...{ ...first, keys, outcome, ids, parked: grants.map((grant) => grant?.refreshToken.reveal()) },
      ...{ stored: await storedTokens(redis.store, keys), asked: first.provider.calls.slice(2) },
    }
  }

  /** Where it pauses, its time is over at once. */
  async function untroubled<T>(clock: HandClock, work: Promise<T>): Promise<T> {
    let isOver = false
    const patience = async () => {
      for (;;) {
        await clock.sleeper()
        if (isOver) return
        clock.move(5_000)
      }
    }
    void patience()
    return work.finally(() => {
      isOver = true
    })
  }

  const SECOND = { access: 'access-2', refresh: 'refresh-2', previous: undefined }

  test('the one that comes last is dropped if the provider refuses its refresh token twice, and the log has it', async () => {
    const { outcome, stored, asked, parked, logged } = await crossed(async () => failure('rejected'))
    expect({ outcome, stored, asked, parked }).toEqual({
      outcome: expect.objectContaining({ is: 'reconnected', hubId: HUB }),
      stored: SECOND,
      asked: [
        ['refresh', 'refresh-1'],
        ['refresh', 'refresh-1'],
      ],
      parked: [],
    })
    expect(logged.lines()).toContainEqual(
      expect.objectContaining({ level: 'warn', code: 'grant.superseded', hubId: HUB, reason: 'rejected' }),
    )
  })

  test('one refusal that is not confirmed drops nothing', async () => {
    const answers = [failure('rejected'), tokens('access-3', 'refresh-3')]
    const { outcome, stored } = await crossed(async () => answers.shift() ?? failure('rejected'))
    expect(outcome).toMatchObject({ is: 'reconnected' })
    expect(stored).toMatchObject({ access: 'access-3', refresh: 'refresh-3' })
  })

  test.each(['reauthorize', 'uninstalling', 'uninstalled'])(
    'one that is dropped has failed if the account that is stored is %s',
    async (state) => {
      const meanwhile = async (keys: Keys) => void (await redis.store.hset(keys.account(HUB).account, { state }))
      const { outcome, parked } = await crossed(async () => failure('rejected'), { meanwhile })
      expect(outcome).toEqual({ is: 'failed', step: 'token', failure: failure('rejected').failure })
      expect(parked).toEqual([])
    },
  )

  test('the one that comes last is stored if its refresh token is alive, with what came back for it', async () => {
    const { outcome, stored, parked } = await crossed(async () => tokens('access-3', 'refresh-3'))
    expect(outcome).toMatchObject({ is: 'reconnected' })
    expect(stored).toEqual({ access: 'access-3', refresh: 'refresh-3', previous: 'refresh-1' })
    expect(parked).toEqual([])
  })

  test('the one that comes last is asked about again while the provider hiccups', async () => {
    const answers = [failure('transient'), failure('transient', { status: 429, retryAfterMs: 60_000 })]
    const { stored, clock } = await crossed(async () => answers.shift() ?? tokens('access-3', 'refresh-3'))
    expect(stored).toMatchObject({ refresh: 'refresh-3' })
    expect(clock.waits).toEqual([500, 5_000])
  })

  test.each(['transient', 'client'] as const)(
    'the one that comes last is parked if the provider gives no clear answer (%s), and stored once it does',
    async (kind) => {
      let answer: Awaited<ReturnType<ProviderClient['refresh']>> = failure(kind)
      const { deps, keys, clock, ids, outcome, stored, parked } = await crossed(async () => answer)
      expect(outcome).toEqual({ is: 'parked', failure: failure(kind).failure })
      expect([stored, parked]).toEqual([SECOND, ['refresh-1']])
      const endpoint = openEndpoint(redis.store, keys, clock)
      const finish = () => untroubled(clock, finishGrant({ ...deps, endpoint }, ids[0] ?? ''))
      expect(await finish()).toBe('later')
      expect(await storedTokens(redis.store, keys)).toEqual(SECOND)
      answer = tokens('access-3', 'refresh-3')
      expect(await finish()).toBe('connected')
      expect(await storedTokens(redis.store, keys)).toMatchObject({ access: 'access-3', refresh: 'refresh-3' })
      expect(await redis.store.zcard(keys.grants.due)).toBe(0)
      await endpoint.close()
    },
  )

  test.each([false, true])(
    'what the proof brings is kept before the account is stored (owner told: %s)',
    async (isOwnerTold) => {
      const storeOf = (store: Store) => {
        let steps = 0
        const connectAccount = (...args: Parameters<Store['connectAccount']>) => {
          if (++steps > 1) throw new Error('Redis is away')
          return store.connectAccount(...args)
        }
        return new Proxy(store, {
          get: (target, name) => {
            if (name === 'connectAccount') return connectAccount
            const value = Reflect.get(target, name)
            return typeof value === 'function' ? value.bind(target) : value
          },
        })
      }
      const { outcome, stored, parked } = await crossed(async () => tokens('access-3', 'refresh-3'), {
        storeOf,
        isOwnerTold,
      })
      expect([outcome, stored, parked]).toEqual([new Error('Redis is away'), SECOND, ['refresh-3']])
    },
  )

  /** An account is taken over by its refresh token, and installed before that is done. */
  async function takenOver(answers: Awaited<ReturnType<ProviderClient['refresh']>>[]) {
    const keys = redis.freshKeys()
    const install = office(redis.store, keys, {
      exchangeCode: async () => tokens('access-2', 'refresh-2'),
      metadata: async () => metadata(),
    })
    const { deps, clock } = office(redis.store, keys, {
      refresh: async () => answers.shift() ?? failure('transient'),
      metadata: async () => {
        await connectWithCode(install.deps, code)
        return metadata()
      },
    })
    const kept: string[] = []
    const connecting = connectWithRefreshToken(deps, new Secret('refresh-0'), (token) => void kept.push(token.reveal()))
    return { outcome: await untroubled(clock, connecting), kept, stored: await storedTokens(redis.store, keys) }
  }

  test('one with a refresh token hands on what the proof brings, too', async () => {
    const answers = [tokens('access-1', 'refresh-1'), tokens('access-3', 'refresh-3')]
    const { outcome, kept, stored } = await takenOver(answers)
    expect([outcome.is, kept]).toEqual(['reconnected', ['refresh-1', 'refresh-3']])
    expect(stored).toMatchObject({ refresh: 'refresh-3', previous: 'refresh-1' })
  })

  test('one with a refresh token fails if the provider gives no clear answer, and nothing is stored', async () => {
    const { outcome, kept, stored } = await takenOver([tokens('access-1', 'refresh-1')])
    expect(outcome).toEqual({ is: 'failed', step: 'proof', failure: failure('transient').failure })
    expect([kept, stored]).toEqual([['refresh-1'], SECOND])
  })
})

describe('what the provider says of a connection', () => {
  const clock = new HandClock()
  const connecting = (keys: ReturnType<typeof redis.freshKeys>, says: Parameters<typeof metadata>[0]) => {
    clock.move(10_000)
    const does = { exchangeCode: async () => tokens('access-1', 'refresh-1'), metadata: async () => metadata(says) }
    return office(redis.store, keys, does, clock)
  }

  test('opens an alert when its scopes do not let limits be read, and closes it when they do again', async () => {
    const keys = redis.freshKeys()
    const scopes = [['oauth'], ['oauth', 'files'], ['oauth', 'crm.objects.contacts.read'], ['oauth']]
    const told: string[][] = []
    for (const granted of scopes) {
      await connectWithCode(connecting(keys, { scopes: granted }).deps, code)
      told.push((await outboxOf(redis.store, keys)).map(({ kind, status }) => `${kind} ${status}`))
    }
    expect(told[0]).toEqual(['poll firing'])
    expect(told[1]).toEqual(['poll firing'])
    expect(told[2]).toEqual(['poll firing', 'poll resolved'])
    expect(told[3]).toEqual(['poll firing', 'poll resolved', 'poll firing'])
    const [opened] = await outboxOf(redis.store, keys)
    expect(opened?.message).toContain('Missing: crm.objects.contacts.read')
    expect(await redis.store.hkeys(keys.account(HUB).alerts)).toEqual(['poll'])
  })

  test('counts where it gives the token less life than its answer did', async () => {
    const keys = redis.freshKeys()
    const { deps, clock } = connecting(keys, { lifeLeftMs: 600_000 })
    await connectWithCode(deps, code)
    const now = clock.now()
    expect(await new Registry(redis.store, keys).get(HUB)).toMatchObject({
      token: { obtainedAt: now, expiresAt: now + 600_000, driftMs: -1_200_000 },
    })
    expect(Number(await redis.store.zscore(keys.partition(HUB % 64).due.refresh, HUB))).toBeLessThan(now + 500_000)
    await connectWithCode(connecting(keys, { lifeLeftMs: 1_799_000 }).deps, code)
    expect(await new Registry(redis.store, keys).get(HUB)).toMatchObject({ token: { driftMs: null } })
  })
})
