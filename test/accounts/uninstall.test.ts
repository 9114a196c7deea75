import { describe, expect, test } from 'vitest'
import { connectWithCode } from '../../src/accounts/connect-account.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { beginUninstall, purgeAccount, runUninstall } from '../../src/accounts/uninstall.ts'
import { encodeState } from '../../src/alerts/alert-state.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import { type Keys, PARTITIONS } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { InFlight } from '../../src/runtime/concurrency.ts'
import { retryAfterMs } from '../../src/runtime/retry-after.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { refreshAccount } from '../../src/tokens/refresh-account.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { Unstored } from '../../src/tokens/unstored.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { dyingAt } from '../alerts/a-relay.ts'
import { dump, endLease, leaseOf, outboxOf, seedAccount, storedTokens, takeLease, vault } from '../support/accounts.ts'
import { changeWatch } from '../support/changed-watch.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { failure, fakeProvider, slowAnswer, tokens } from '../support/fake-provider.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'
import { announce, HUB, KEEP_MS, metadata, office } from './connected.ts'

const redis = redisOfFile()

/** What a `Retry-After` header makes of a failure. */
const told = (header: string) => ({ retryAfterMs: retryAfterMs(header, new HandClock().now()) ?? 0 })

/** A connected account with everything an account can have. */
async function installed(
  deleteRefreshToken: ProviderClient['deleteRefreshToken'] = async () => ({ ok: true, value: 'deleted' }),
  refreshToken = 'refresh-1',
) {
  const keys = redis.freshKeys()
  const at = office(redis.store, keys, { deleteRefreshToken })
  await seedAccount(redis.store, keys, { obtainedAt: at.clock.now(), refreshToken })
  await redis.store.hset(keys.account(HUB).account, { user: 'ada@acme.example.com' })
  await changeWatch(redis.store, keys, HUB, { polledAt: at.clock.now() }, Buffer.from('x'))
  await redis.store.set(keys.account(HUB).samples, 'x')
  await redis.store.rpush(keys.account(HUB).history, 'x')
  const due = new DueSets(redis.store, keys)
  return {
    ...at,
    keys,
    due,
    registry: new Registry(redis.store, keys),
    begin: () => beginUninstall(at.deps, HUB, { by: 'cli', reason: 'asked by ops' }),
    run: () => runUninstall(at.deps, HUB),
    when: () => Promise.all((['refresh', 'poll', 'uninstall'] as const).map((kind) => due.when(kind, HUB))),
  }
}

/** A refresh of the account that the provider has been asked for. */
async function refreshUnderWay({ deps, keys }: Awaited<ReturnType<typeof installed>>) {
  const slow = slowAnswer()
  const more = {
    ...{ tokens: new TokenStore(redis.store, keys), unstored: new Unstored(() => {}), random: () => 0.5 },
    ...{ endpoint: openEndpoint(redis.store, keys, systemClock), inFlight: new InFlight(4), announce },
  }
  const provider = fakeProvider({ refresh: slow.refresh })
  const generation = (await redis.store.hget(keys.own(HUB), 'generation')) ?? ''
  const refreshing = refreshAccount({ ...deps, ...more, provider }, HUB, generation)
  await slow.asked
  return { refreshing, answer: slow.answer }
}

describe('an uninstall that begins', () => {
  test('stops everything at once, and only the refresh token is left, to be deleted', async () => {
    const one = await installed()
    one.clock.move(1_000)
    expect(await one.begin()).toBe('begun')
    expect(await one.registry.get(HUB)).toMatchObject({
      state: 'uninstalling',
      uninstall: { reason: 'asked by ops', at: null, failure: null },
    })
    expect(await storedTokens(redis.store, one.keys)).toEqual({
      access: undefined,
      refresh: 'refresh-1',
      previous: undefined,
    })
    expect(await one.when()).toEqual([null, null, one.clock.now()])
    expect(one.provider.calls).toEqual([])
  })

  test('closes its open alerts in the same step; what was only pending goes without a word', async () => {
    const one = await installed()
    const state = { rule: 'r', since: 1, transitions: 2, toldAt: 1, pending: null }
    await redis.store.hset(one.keys.account(HUB).alerts, {
      overall: encodeState({ ...state, level: 'critical', said: { level: 'critical', usage: 960, at: 1 } }),
      'at/0-1/0-2': encodeState({
        ...state,
        level: 'ok',
        said: null,
        pending: { warning: 1, critical: 0, sinceFirstReading: false },
      }),
    })
    await redis.store.sadd(one.keys.partition(HUB % 64).alerting, HUB)
    await one.begin()
    expect(await outboxOf(redis.store, one.keys)).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{16}-3$/),
        kind: 'limit',
        status: 'resolved',
        level: 'critical',
        reason: 'uninstalled',
        rule: 'r',
        account: { hubId: HUB, hubDomain: 'acme.example.com' },
        series: { metric: 'customProperties.overall' },
        usage: 960,
        measuredAt: new Date(one.clock.now()).toISOString(),
        since: new Date(1).toISOString(),
        message: expect.stringContaining('uninstalled'),
        url: 'https://plimsoll.example.com/accounts/123',
      },
    ])
    expect(await redis.store.exists(one.keys.account(HUB).alerts)).toBe(0)
    expect(await one.registry.alerting()).toEqual([])
  })

  test('twice begins once; of an account that is not there says so', async () => {
    const one = await installed()
    const begun = await Promise.all([one.begin(), one.begin(), one.begin()])
    expect(begun.sort()).toEqual(['already', 'already', 'begun'])
    expect(await beginUninstall(one.deps, 999, { by: 'cli', reason: 'x' })).toBe('unknown')
    expect(await redis.store.exists(one.keys.account(999).account)).toBe(0)
  })

  test('sent again after others were asked for takes away nothing that was connected since', async () => {
    const { deps, keys } = await installed()
    const sent: Parameters<typeof redis.store.beginUninstall>[] = []
    const noting = new Proxy(redis.store, {
      get(store, name) {
        const own = Reflect.get(store, name, store)
        if (typeof own !== 'function') return own
        return (...args: never[]) => {
          if (name === 'beginUninstall') sent.push(args)
          return own.apply(store, args)
        }
      },
    })
    const request = { by: 'cli', reason: 'asked' } as const
    for (let n = 0; n < 8; n++) await beginUninstall({ ...deps, store: noting }, HUB, request)
    await seedAccount(redis.store, keys, { obtainedAt: deps.clock.now() })
    await redis.store.beginUninstall(...(sent[0] ?? []))
    expect(await redis.store.hget(keys.own(HUB), 'state')).toBe('active')
  })

  test('of an account that is not there sends no step: sent again it would take away what was connected meanwhile', async () => {
    const one = await installed()
    const deps = { ...one.deps, store: dyingAt(redis.store, 'beginUninstall', 'before') }
    expect(await beginUninstall(deps, 999, { by: 'cli', reason: 'x' })).toBe('unknown')
    await expect(beginUninstall(deps, HUB, { by: 'cli', reason: 'x' })).rejects.toThrow('dead')
  })
})

describe('an uninstall', () => {
  test('deletes the refresh token at the provider, then forgets the tokens; record and readings stay for a while', async () => {
    const one = await installed()
    const askedAt = one.clock.now()
    await one.begin()
    one.clock.move(5_000)
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(one.provider.calls).toEqual([['deleteRefreshToken', 'refresh-1']])
    const account = await one.registry.get(HUB)
    expect(account).toMatchObject({
      state: 'uninstalled',
      hubDomain: 'acme.example.com',
      user: null,
      polledAt: askedAt,
      uninstall: {
        ...{ reason: 'asked by ops', by: 'cli', askedAt, attempts: 1, failure: null, failureAt: null },
        ...{ at: one.clock.now(), ending: 'deleted', purgeAt: one.clock.now() + KEEP_MS },
      },
    })
    const { tokens: tokenKey, watch, history } = one.keys.account(HUB)
    expect(await redis.store.exists(tokenKey)).toBe(0)
    expect(await redis.store.exists(watch, history)).toBe(2)
    expect(await one.when()).toEqual([null, null, one.clock.now() + KEEP_MS])
  })

  test('whose token the provider does not know any more is finished', async () => {
    const one = await installed(async () => ({ ok: true, value: 'was-gone' }))
    await one.begin()
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(await one.registry.get(HUB)).toMatchObject({ uninstall: { ending: 'was-gone' } })
  })

  test('deletes also the token before the last one, which may be alive while its successor has not worked', async () => {
    const one = await installed()
    const sealed = vault.seal(new Secret('refresh-0'), HUB, 'refresh')
    await redis.store.hset(one.keys.account(HUB).tokens, 'previous', sealed)
    await one.begin()
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(one.provider.calls.map(([, token]) => token)).toEqual(['refresh-0', 'refresh-1'])
  })

  test('that the provider fails is tried again later and later, at most an hour, until it works', async () => {
    let answer: Awaited<ReturnType<ProviderClient['deleteRefreshToken']>> = failure('transient', { message: 'a 503' })
    const one = await installed(async () => answer)
    await one.begin()
    const waits: number[] = []
    for (let attempt = 0; attempt < 14; attempt++) {
      const outcome = await one.run()
      if (outcome.is !== 'failed') throw new Error(outcome.is)
      expect(await one.due.when('uninstall', HUB)).toBe(outcome.at)
      waits.push(outcome.at - one.clock.now())
      one.clock.move(waits.at(-1) ?? 0)
    }
    expect(waits.slice(0, 4)).toEqual([2_000, 4_000, 8_000, 16_000])
    expect(Math.max(...waits)).toBe(3_600_000)
    expect(await one.registry.get(HUB)).toMatchObject({ state: 'uninstalling', uninstall: { failure: 'a 503' } })
    expect(await storedTokens(redis.store, one.keys)).toMatchObject({ refresh: 'refresh-1' })
    answer = { ok: true, value: 'deleted' }
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(await one.registry.get(HUB)).toMatchObject({
      state: 'uninstalled',
      uninstall: { failure: 'a 503', attempts: 15, ending: 'deleted' },
    })
  })

  test('that is told when to come back comes back then', async () => {
    const one = await installed(async () => failure('transient', { retryAfterMs: 90_000 }))
    await one.begin()
    expect(await one.run()).toMatchObject({ is: 'failed', at: one.clock.now() + 90_000 })
  })

  test('that is told to come back at once still waits a while', async () => {
    const one = await installed(async () => failure('transient', told('0')))
    await one.begin()
    const outcome = await one.run()
    expect(outcome.is === 'failed' && outcome.at).toBeGreaterThan(one.clock.now())
  })

  test('waits for a refresh that is under way, and touches nothing meanwhile', async () => {
    const one = await installed()
    await takeLease(redis.store, one.keys, 'a-worker', 10_000)
    await one.begin()
    expect(await one.run()).toEqual({ is: 'again', at: one.clock.now() + 1_000 })
    expect(one.provider.calls).toEqual([])
    expect(await leaseOf(redis.store, one.keys)).toMatchObject({ owner: 'a-worker' })
    expect(await one.due.when('uninstall', HUB)).toBe(one.clock.now() + 1_000)
  })

  test('of two workers at once deletes once', async () => {
    const one = await installed()
    await one.begin()
    const outcomes = await Promise.all([one.run(), one.run(), one.run()])
    expect(one.provider.calls).toHaveLength(1)
    expect(outcomes.filter(({ is }) => is === 'finished').length).toBeGreaterThanOrEqual(1)
    expect(await one.registry.get(HUB)).toMatchObject({ state: 'uninstalled' })
  })

  test('whose token is encrypted anew just while it is deleted copes: it looks again, and is finished', async () => {
    const deletions: string[] = []
    const one = await installed(async (token) => {
      deletions.push(token.reveal())
      if (deletions.length > 1) return { ok: true, value: 'was-gone' }
      const { tokens: key } = one.keys.account(HUB)
      const before = (await redis.store.hgetBuffer(key, 'refresh')) ?? ''
      const anew = vault.seal(new Secret('refresh-1'), HUB, 'refresh')
      expect(await redis.store.rekeyTokens(key, 'refresh', before, anew)).toBe(1)
      return { ok: true, value: 'deleted' }
    })
    await one.begin()
    expect(await one.run()).toMatchObject({ is: 'again' })
    expect(await one.due.when('uninstall', HUB)).toBe(one.clock.now())
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(deletions).toEqual(['refresh-1', 'refresh-1'])
    expect(await redis.store.exists(one.keys.account(HUB).tokens)).toBe(0)
  })

  test('deletes also the newer token that a refresh under way brings', async () => {
    const one = await installed()
    const { refreshing, answer } = await refreshUnderWay(one)
    await one.begin()
    // The worker's lease runs out while it waits, so that the uninstall gets its turn.
    await endLease(redis.store, one.keys)
    expect(await one.run()).toEqual({ is: 'finished' })
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'gone' })
    expect(await one.due.when('uninstall', HUB)).not.toBeNull()
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(one.provider.calls.map(([, token]) => token)).toEqual(['refresh-1', 'refresh-2'])
    expect(await redis.store.exists(one.keys.account(HUB).tokens)).toBe(0)
  })

  test('deletes each token that may be alive, though a refresh under way brings one to two', async () => {
    const one = await installed()
    const { refreshing, answer } = await refreshUnderWay(one)
    const sealed = vault.seal(new Secret('refresh-0'), HUB, 'refresh')
    await redis.store.hset(one.keys.account(HUB).tokens, 'previous', sealed)
    await one.begin()
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'gone' })
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(one.provider.calls.map(([, token]) => token).sort()).toEqual(['refresh-0', 'refresh-1', 'refresh-2'])
  })

  test('deletes also the token of a refresh that came second, which the provider may have given out beside the first', async () => {
    const one = await installed()
    const { refreshing, answer } = await refreshUnderWay(one)
    await endLease(redis.store, one.keys)
    const second = await refreshUnderWay(one)
    answer(tokens('access-2', 'refresh-2'))
    await refreshing
    second.answer(tokens('access-3', 'refresh-3'))
    await second.refreshing
    expect(await storedTokens(redis.store, one.keys)).toMatchObject({ refresh: 'refresh-2', previous: 'refresh-1' })
    await one.begin()
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(one.provider.calls.map(([, token]) => token).sort()).toEqual(['refresh-1', 'refresh-2', 'refresh-3'])
  })

  test('is called off by connecting again, which keeps its new token', async () => {
    const one = await installed()
    await one.begin()
    await seedAccount(redis.store, one.keys, { obtainedAt: one.clock.now(), refreshToken: 'refresh-new' })
    expect(await one.run()).toEqual({ is: 'reconnected' })
    expect(one.provider.calls).toEqual([])
    expect(await one.registry.get(HUB)).toMatchObject({ state: 'active', uninstall: null })
    expect(await storedTokens(redis.store, one.keys)).toMatchObject({ refresh: 'refresh-new' })
  })

  test('that deletes just while the account is connected again forgets nothing of the new connection', async () => {
    let reconnect = async () => {}
    const one = await installed(async () => {
      await reconnect()
      return { ok: true, value: 'deleted' }
    })
    reconnect = () =>
      seedAccount(redis.store, one.keys, {
        obtainedAt: one.clock.now(),
        refreshToken: 'refresh-new',
        accessToken: 'new',
      })
    await one.begin()
    expect(await one.run()).toEqual({ is: 'reconnected' })
    expect(await one.registry.get(HUB)).toMatchObject({ state: 'active' })
    expect(await storedTokens(redis.store, one.keys)).toMatchObject({ refresh: 'refresh-new', access: 'new' })
    expect(await one.due.when('uninstall', HUB)).toBeNull()
    // It may have been the very token that was deleted: a refresh now tells.
    expect(await one.due.when('refresh', HUB)).toBe(one.clock.now())
  })

  test('whose deletion fails just while the account is connected again leaves no trace of it', async () => {
    let reconnect = async () => {}
    const one = await installed(async () => {
      await reconnect()
      return failure('transient')
    })
    reconnect = () => seedAccount(redis.store, one.keys, { obtainedAt: one.clock.now(), refreshToken: 'refresh-new' })
    await one.begin()
    await one.run()
    expect(await one.registry.get(HUB)).toMatchObject({ state: 'active', uninstall: null })
    expect(await one.due.when('uninstall', HUB)).toBeNull()
  })

  test('writes no token to the log', async () => {
    const one = await installed(async () => failure('transient'))
    await one.begin()
    await one.run()
    expect(one.logged.text()).toContain('uninstall.failed')
    expect(one.logged.text()).not.toMatch(/refresh-1|access-1/)
  })

  test('that broke off is tried again once its lease has ended', async () => {
    let broken = true
    const one = await installed(async () => {
      if (broken) throw new Error('a bug')
      return { ok: true, value: 'deleted' }
    })
    await one.begin()
    await expect(one.run()).rejects.toThrow('a bug')
    broken = false
    expect(await one.run()).toMatchObject({ is: 'again' })
    await endLease(redis.store, one.keys)
    expect(await one.run()).toEqual({ is: 'finished' })
  })
})

describe('an uninstall whose token no key opens', () => {
  /** As after a change of keys that left the old one out; `unlocked` runs with it again. */
  async function locked() {
    const one = await installed()
    await one.begin()
    const others = createVault([{ id: 'k2', key: Buffer.alloc(32, 2) }])
    return { ...one, run: () => runUninstall({ ...one.deps, vault: others }, HUB), unlocked: one.run }
  }

  test('is a failure like others: it names the key, waits longer each time, and is told after an hour', async () => {
    const one = await locked()
    const waits = []
    for (let attempt = 1; attempt <= 3; attempt++) {
      expect(await one.run()).toMatchObject({ is: 'failed', failure: { code: 'vault' }, announced: false })
      waits.push(Number(await one.due.when('uninstall', HUB)) - one.clock.now())
    }
    expect(waits).toEqual([2_000, 4_000, 8_000])
    expect(one.provider.calls).toEqual([])
    expect(await one.registry.get(HUB)).toMatchObject({
      state: 'uninstalling',
      uninstall: { attempts: 3, failure: 'no key with the id k1 is configured: add it to encryption.keys' },
    })
    expect(one.logged.lines().at(-1)).toMatchObject({ code: 'uninstall.failed', reason: 'vault' })
    one.clock.move(3_600_000)
    expect(await one.run()).toMatchObject({ is: 'failed', announced: true })
    expect(await outboxOf(redis.store, one.keys)).toMatchObject([
      { rule: 'uninstall', status: 'firing', message: expect.stringContaining('no key with the id k1') },
    ])
  })

  test('ends as any other once the key is back', async () => {
    const one = await locked()
    await one.run()
    expect(await one.unlocked()).toEqual({ is: 'finished' })
    expect(one.provider.calls).toEqual([['deleteRefreshToken', 'refresh-1']])
  })
})

describe('a deletion that fails for over an hour', () => {
  const fails = async () => failure('transient', { message: 'a 503' })

  test('is told once, and told to be over when the token is deleted', async () => {
    let answer: Awaited<ReturnType<ProviderClient['deleteRefreshToken']>> = failure('transient', { message: 'a 503' })
    const one = await installed(async () => answer)
    await one.begin()
    one.clock.move(3_599_000)
    expect(await one.run()).toMatchObject({ is: 'failed', announced: false })
    one.clock.move(1_000)
    expect(await one.run()).toMatchObject({ is: 'failed', announced: true })
    one.clock.move(3_600_000)
    expect(await one.run()).toMatchObject({ is: 'failed', announced: false })
    expect(await one.registry.alerting()).toEqual([HUB])
    answer = { ok: true, value: 'deleted' }
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(await one.registry.alerting()).toEqual([])
    expect(await outboxOf(redis.store, one.keys)).toMatchObject([
      {
        kind: 'token',
        rule: 'uninstall',
        level: 'warning',
        status: 'firing',
        message: expect.stringContaining('a 503'),
      },
      { kind: 'token', rule: 'uninstall', level: 'warning', status: 'resolved', reason: 'recovered' },
    ])
  })

  test('is told at once where the provider wants to be left alone for longer than that', async () => {
    const one = await installed(async () => failure('transient', told('86400')))
    await one.begin()
    expect(await one.run()).toMatchObject({ is: 'failed', announced: true })
  })

  test('is over when the account is connected again', async () => {
    const one = await installed(fails)
    await one.begin()
    one.clock.move(3_600_000)
    await one.run()
    const does = { exchangeCode: async () => tokens('access-2', 'refresh-2'), metadata: async () => metadata() }
    await connectWithCode(office(redis.store, one.keys, does, one.clock).deps, new Secret('code'))
    expect((await outboxOf(redis.store, one.keys)).at(-1)).toMatchObject({ rule: 'uninstall', status: 'resolved' })
    expect(await one.registry.alerting()).toEqual([])
    expect(await one.registry.get(HUB)).toMatchObject({ state: 'active', uninstall: null })
  })
})

describe('an account that was uninstalled', () => {
  async function gone() {
    const one = await installed()
    await one.begin()
    await one.run()
    return { ...one, purge: () => purgeAccount(one.deps, HUB) }
  }
  /** Everything that is left of the account, in any key, but for the numbers of accounts that came and went. */
  async function leftOf(keys: Keys): Promise<string[]> {
    const names = Object.keys(await dump(redis.store, keys))
    return names.filter(
      (name) => !/:(forgotten|outbox|domains-version|account-log|account-events|{grants}:order|left:123)$/.test(name),
    )
  }

  test('is kept until its time is over, then everything of it is forgotten', async () => {
    const one = await gone()
    one.clock.move(KEEP_MS - 1)
    expect(await one.run()).toEqual({ is: 'kept' })
    expect((await one.when())[2]).toBe(one.clock.now() + 1)
    one.clock.move(1)
    for (const key of Object.values(one.keys.account(HUB))) {
      if ((await redis.store.exists(key)) === 0) await redis.store.set(key, 'whatever it may be')
    }
    expect(await one.run()).toEqual({ is: 'purged' })
    expect(await leftOf(one.keys)).toEqual([])
    expect(await one.run()).toEqual({ is: 'unknown' })
    expect(await leftOf(one.keys)).toEqual([])
  })

  test('is found by the sweep when its time is over', async () => {
    const one = await gone()
    expect((await one.due.claim('uninstall', one.clock.now() + KEEP_MS - 1, 64)).hubIds).toEqual([])
    expect((await one.due.claim('uninstall', one.clock.now() + KEEP_MS, 64)).hubIds).toEqual([HUB])
  })

  test('is forgotten right away where nothing is to be kept', async () => {
    const one = await installed()
    await one.begin()
    expect(await runUninstall({ ...one.deps, uninstallKeepMs: 0 }, HUB)).toEqual({ is: 'finished' })
    expect(await leftOf(one.keys)).toEqual([])
  })

  test('where a daemon dies between the end and the forgetting is forgotten by the next one', async () => {
    const one = await gone()
    await redis.store.hset(one.keys.account(HUB).account, 'purgeAt', one.clock.now())
    expect(await one.run()).toEqual({ is: 'purged' })
  })

  test('and is connected again comes back with its history, and nothing of the uninstall', async () => {
    const one = await gone()
    one.clock.move(1_000)
    await seedAccount(redis.store, one.keys, { obtainedAt: one.clock.now(), refreshToken: 'refresh-new' })
    expect(await redis.store.llen(one.keys.account(HUB).history)).toBe(1)
    const account = await one.registry.get(HUB)
    expect(account).toMatchObject({ state: 'active', uninstall: null, connectedAt: one.clock.now() })
    expect(account?.firstConnectedAt).toBe(one.clock.now() - 1_000)
    expect(await redis.store.hkeys(one.keys.account(HUB).account)).not.toContain('purgeAt')
    expect((await one.when())[2]).toBeNull()
  })

  test('is not forgotten by a worker that comes late: it was connected again, or is uninstalled once more', async () => {
    const one = await gone()
    one.clock.move(KEEP_MS)
    await seedAccount(redis.store, one.keys, { obtainedAt: one.clock.now(), refreshToken: 'refresh-new' })
    expect(await one.purge()).toBe('kept')
    expect(await storedTokens(redis.store, one.keys)).toMatchObject({ refresh: 'refresh-new' })
    await one.begin()
    expect(await one.purge()).toBe('kept')
    expect((await one.when())[2]).toBe(one.clock.now())
    await one.run()
    expect(await one.purge()).toBe('kept')
    expect(await one.registry.get(HUB)).toMatchObject({ state: 'uninstalled' })
  })

  test('and is forgotten and connected again in any order, at once, is connected with all it needs', async () => {
    for (let round = 0; round < 20; round++) {
      const one = await gone()
      one.clock.move(KEEP_MS)
      const connect = () =>
        seedAccount(redis.store, one.keys, { obtainedAt: one.clock.now(), refreshToken: 'refresh-new' })
      const steps = [one.purge, connect, one.purge]
      await Promise.all(round % 2 === 0 ? steps.map((step) => step()) : steps.reverse().map((step) => step()))
      expect(await one.registry.get(HUB)).toMatchObject({ state: 'active', uninstall: null })
      expect(await storedTokens(redis.store, one.keys)).toMatchObject({ refresh: 'refresh-new', access: 'access-1' })
      expect(await one.when()).toEqual([expect.any(Number), one.clock.now(), null])
      const page = await one.registry.page(10, 0, ['active'])
      expect(page.map(({ hubId }) => hubId)).toEqual([HUB])
    }
  })
})

describe('a refresh that comes back after the account was forgotten', () => {
  /** A refresh whose worker stalls for longer than its lease, while the account is uninstalled and forgotten. */
  async function stalled(before?: Awaited<ReturnType<typeof installed>>) {
    const one = before ?? (await installed())
    const { refreshing, answer } = await refreshUnderWay(one)
    await one.begin()
    await endLease(redis.store, one.keys)
    const forgetting = { ...one.deps, uninstallKeepMs: 0 }
    expect(await runUninstall(forgetting, HUB)).toEqual({ is: 'finished' })
    const end = (refresh: string) => answer(tokens('access-2', refresh))
    return { ...one, forgetting, end, fail: () => answer(failure('rejected')), refreshing }
  }

  test('has its rotated token deleted too, and the account is forgotten again', async () => {
    const one = await stalled()
    one.end('refresh-2')
    expect(await one.refreshing).toEqual({ is: 'gone' })
    expect(await one.registry.get(HUB)).toMatchObject({ state: 'uninstalling' })
    expect(await runUninstall(one.forgetting, HUB)).toEqual({ is: 'finished' })
    expect(one.provider.calls.map(([, token]) => token)).toEqual(['refresh-1', 'refresh-2'])
    expect(await one.registry.get(HUB)).toBeUndefined()
  })

  test('has it deleted also where one of its partition was forgotten since, with fewer tokens behind it', async () => {
    const connected = await installed()
    const [other, obtainedAt] = [HUB + PARTITIONS, connected.clock.now()]
    await seedAccount(redis.store, connected.keys, { hubId: other, obtainedAt })
    await seedAccount(redis.store, connected.keys, { obtainedAt })
    const one = await stalled(connected)
    await beginUninstall(one.deps, other, { by: 'cli', reason: 'asked by ops' })
    expect(await runUninstall(one.forgetting, other)).toEqual({ is: 'finished' })
    one.end('refresh-2')
    expect(await one.refreshing).toEqual({ is: 'gone' })
    expect(await one.registry.get(HUB)).toMatchObject({ state: 'uninstalling' })
  })

  test('writes nothing over the tokens of a new connection', async () => {
    const one = await stalled()
    await seedAccount(redis.store, one.keys, { obtainedAt: one.clock.now(), refreshToken: 'refresh-new' })
    one.end('refresh-2')
    expect(await one.refreshing).toEqual({ is: 'lost' })
    expect(await storedTokens(redis.store, one.keys)).toMatchObject({ refresh: 'refresh-new', access: 'access-1' })
  })

  test('and fails is no failure of a new connection', async () => {
    const one = await stalled()
    await seedAccount(redis.store, one.keys, { obtainedAt: one.clock.now(), refreshToken: 'refresh-new' })
    one.fail()
    expect(await one.refreshing).toEqual({ is: 'lost' })
    expect(await one.registry.get(HUB)).toMatchObject({ state: 'active', refreshFailure: null })
  })
})

describe('an uninstall by evidence', () => {
  async function refused() {
    const one = await installed(async () => ({ ok: true, value: 'was-gone' }))
    const { account } = one.keys.account(HUB)
    const since = one.clock.now()
    await redis.store.hset(account, { state: 'reauthorize', rejectedAt: since })
    const request = { by: 'evidence' as const, reason: 'refresh token refused', refusedSince: since }
    return { ...one, account, since, ask: () => beginUninstall(one.deps, HUB, request) }
  }

  test('begins where the refresh token is refused still', async () => {
    const one = await refused()
    expect(await one.ask()).toBe('begun')
    expect(await one.registry.get(HUB)).toMatchObject({ uninstall: { by: 'evidence' }, refusedSince: one.since })
  })

  test('is void once the account is connected again, also if the new token is refused by now', async () => {
    const one = await refused()
    await seedAccount(redis.store, one.keys, { obtainedAt: one.clock.now(), refreshToken: 'refresh-new' })
    expect(await one.ask()).toBe('refuted')
    await redis.store.hset(one.account, { state: 'reauthorize', rejectedAt: one.since + 1 })
    expect(await one.ask()).toBe('refuted')
    expect(await storedTokens(redis.store, one.keys)).toMatchObject({ refresh: 'refresh-new', access: 'access-1' })
  })
})
