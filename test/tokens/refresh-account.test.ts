import { describe, expect, test } from 'vitest'
import { mendAccount } from '../../jobs/mend-account.ts'
import { uninstallAfterRefusal } from '../../src/accounts/uninstall.ts'
import { unreadableAnnouncer } from '../../src/alerts/kinds/poll-alert.ts'
import { tokenAnnouncer } from '../../src/alerts/kinds/token-alert.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { InFlight } from '../../src/runtime/concurrency.ts'
import { formatMoment } from '../../src/text/format-time.ts'
import { type RefreshDeps, refreshAccount } from '../../src/tokens/refresh-account.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { type TokensToStore, Unstored } from '../../src/tokens/unstored.ts'
import { createVault } from '../../src/tokens/vault.ts'
import {
  dump,
  endLease,
  leaseOf,
  outboxOf,
  type SeededAccount,
  seedAccount,
  storedTokens,
  takeLease,
  vault,
} from '../support/accounts.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { failure, fakeProvider, slowAnswer, tokens } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const HUB = 123
const MINUTE = 60_000
const LIFE = 30 * MINUTE

/** An account connected just now, and a worker that may refresh it. */
async function worker(
  refresh: ProviderClient['refresh'],
  account: Partial<SeededAccount> = {},
  keys = redis.freshKeys(),
) {
  const clock = new HandClock()
  const connectedAt = clock.now()
  await seedAccount(redis.store, keys, { obtainedAt: connectedAt, ...account })
  const provider = fakeProvider({ refresh })
  const logged = logLines()
  const deps: RefreshDeps = {
    provider,
    tokens: new TokenStore(redis.store, keys),
    store: redis.store,
    vault,
    announce: tokenAnnouncer({
      pageOf: (hubId) => `https://plimsoll.example.com/accounts/${hubId}`,
    }),
    settings: { refreshFrom: 0.5, refreshBy: 0.8 },
    unstored: new Unstored(() => {}),
    endpoint: openEndpoint(redis.store, keys, systemClock),
    inFlight: new InFlight(10),
    clock,
    random: () => 0.5,
    log: logged.log,
  }
  const due = keys.partition(keys.partitionOf(HUB)).due
  return {
    keys,
    clock,
    connectedAt,
    provider,
    deps,
    logged,
    refresh: (refused?: string) => refreshAccount(deps, HUB, refused),
    record: () => redis.store.hgetall(keys.account(HUB).account),
    tokens: () => storedTokens(redis.store, keys, HUB),
    outbox: () => outboxOf(redis.store, keys, HUB),
    lease: async () => (await leaseOf(redis.store, keys))?.owner ?? null,
    due: async (kind: 'refresh' | 'poll' | 'uninstall') => {
      const score = await redis.store.zscore(due[kind], HUB)
      return score === null ? undefined : Number(score)
    },
  }
}

/** The same, once the account is due. */
async function dueWorker(refresh: ProviderClient['refresh']) {
  const w = await worker(refresh)
  w.clock.move(25 * MINUTE)
  return w
}

/** A refresh that the provider has been asked for; `answer` is what it says. */
async function underWay() {
  const slow = slowAnswer()
  const w = await dueWorker(slow.refresh)
  const refreshing = w.refresh()
  await slow.asked
  return { ...w, refreshing, answer: slow.answer }
}

/** Somebody uninstalls the account. */
async function uninstall(keys: Keys, now: number): Promise<void> {
  const begun = await redis.store.beginUninstall(
    keys.own(HUB),
    ...[HUB, now, 'asked', 0, JSON.stringify(NO_ALERT_WRITES), 'cli', '', 'one'],
  )
  expect(begun).toBe('begun')
}

describe('an account of which nobody knows whose it is', () => {
  const imported = async () => {
    const w = await worker(async () => tokens('access-2', undefined, LIFE))
    const { account } = w.keys.account(HUB)
    const { due } = w.keys.partition(w.keys.partitionOf(HUB))
    await redis.store.hset(account, { metadataDue: '1', obtainedAt: 0, expiresAt: 0 })
    await redis.store.zrem(due.poll, HUB)
    return w
  }

  test('is due again soon after its first refresh, and not polled before that is known', async () => {
    const w = await imported()
    expect(await w.refresh()).toMatchObject({ is: 'refreshed', isUnidentified: true })
    expect(await w.due('refresh')).toBe(w.clock.now() + 15_000)
    expect(await w.due('poll')).toBeUndefined()
  })

  test('comes up each time after as long again as it has waited, and is refreshed as planned', async () => {
    const w = await imported()
    await w.refresh()
    const begun = w.clock.now()
    const waits: number[] = []
    for (;;) {
      w.clock.move(Number(await w.due('refresh')) - w.clock.now())
      const { is } = await w.refresh()
      if (is === 'refreshed') break
      waits.push(Number(await w.due('refresh')) - w.clock.now())
    }
    expect(waits.slice(0, 5)).toEqual([15, 30, 60, 120, 240].map((seconds) => seconds * 1_000))
    expect((w.clock.now() - begun) / LIFE).toBeGreaterThan(0.5)
    expect((w.clock.now() - begun) / LIFE).toBeLessThan(0.8)
  })
})

describe('a refresh', () => {
  test('redeems the stored token and stores what comes: tokens, times, the next refresh', async () => {
    const w = await dueWorker(async () => tokens('access-2', 'refresh-2', LIFE))
    expect(await w.refresh()).toEqual({
      is: 'refreshed',
      isUnidentified: false,
      lateMs: expect.any(Number),
      expired: false,
      unstoredMs: 0,
      leftMs: 300_000,
    })
    expect(w.provider.calls).toEqual([['refresh', 'refresh-1']])
    expect(await w.tokens()).toEqual({ access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' })
    const sentAt = w.clock.now()
    expect(await w.record()).toMatchObject({
      state: 'active',
      generation: '2',
      obtainedAt: String(sentAt),
      refreshedAt: String(sentAt),
      expiresAt: String(sentAt + LIFE),
    })
    const next = (await w.due('refresh')) ?? 0
    expect(next).toBeGreaterThanOrEqual(sentAt + LIFE / 2)
    expect(next).toBeLessThanOrEqual(sentAt + LIFE * 0.8)
    expect(await w.lease()).toBeNull()
  })

  test('counts the life of a token from when the request was sent, not from when the answer came', async () => {
    const slow = slowAnswer()
    const w = await worker(slow.refresh)
    w.clock.move(25 * MINUTE)
    const sentAt = w.clock.now()
    const refreshing = w.refresh()
    await slow.asked
    w.clock.move(8_000)
    slow.answer(tokens('access-2', undefined, LIFE))
    await refreshing
    expect(await w.record()).toMatchObject({ obtainedAt: String(sentAt), expiresAt: String(sentAt + LIFE) })
  })

  test.each([
    ['without a refresh token', undefined],
    ['with the same refresh token', 'refresh-1'],
  ])('whose answer comes %s keeps the one there is', async (_, returned) => {
    const w = await dueWorker(async () => tokens('access-2', returned))
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
    expect(await w.tokens()).toEqual({ access: 'access-2', refresh: 'refresh-1', previous: undefined })
  })

  test('after a rotated one forgets the token before it, once the new one has worked', async () => {
    let answer = tokens('access-2', 'refresh-2')
    const w = await worker(async () => answer)
    w.clock.move(25 * MINUTE)
    await w.refresh()
    expect(await w.tokens()).toMatchObject({ refresh: 'refresh-2', previous: 'refresh-1' })
    answer = tokens('access-3')
    w.clock.move(25 * MINUTE)
    await w.refresh()
    expect(await w.tokens()).toEqual({ access: 'access-3', refresh: 'refresh-2', previous: undefined })
    expect(w.provider.calls.map(([, token]) => token)).toEqual(['refresh-1', 'refresh-2'])
  })

  test('that is not due asks nobody, gives the lease back and puts the account where its plan says', async () => {
    const w = await worker(async () => tokens('access-2'))
    const planned = await w.due('refresh')
    await redis.store.zadd(w.keys.partition(HUB % 64).due.refresh, 1, HUB)
    w.clock.move(MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'fresh' })
    expect(w.provider.calls).toEqual([])
    expect(await w.lease()).toBeNull()
    const again = (await w.due('refresh')) ?? 0
    expect(Math.abs(again - (planned ?? 0))).toBeLessThan(LIFE * 0.3)
    expect(again).toBeGreaterThan(w.clock.now())
  })

  test('of tokens that were refused is made although they look good', async () => {
    const w = await worker(async () => tokens('access-2'))
    expect(await w.refresh('1')).toMatchObject({ is: 'refreshed', expired: false })
  })

  test('of tokens that were refused is made once: the ones after them are not those', async () => {
    const w = await worker(async () => tokens('access-2'))
    const outcomes = [await w.refresh('1'), await w.refresh('1'), await w.refresh('0')]
    expect(outcomes.map(({ is }) => is)).toEqual(['refreshed', 'fresh', 'fresh'])
    expect(w.provider.calls).toHaveLength(1)
  })

  test('that comes after the token had expired says so', async () => {
    const w = await worker(async () => tokens('access-2'))
    w.clock.move(31 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed', expired: true })
  })

  test('of an account that is not there is nothing', async () => {
    const w = await worker(async () => tokens('access-2'))
    expect(await refreshAccount(w.deps, 999)).toEqual({ is: 'gone' })
    expect(w.provider.calls).toEqual([])
    expect(await redis.store.exists(w.keys.own(999))).toBe(0)
  })
})

describe('of several workers', () => {
  test('one refreshes: the provider is asked once', async () => {
    const slow = slowAnswer()
    const keys = redis.freshKeys()
    const first = await worker(slow.refresh, {}, keys)
    const others = await Promise.all(Array.from({ length: 5 }, () => worker(async () => tokens('x'), {}, keys)))
    first.clock.move(25 * MINUTE)
    const winner = first.refresh()
    await slow.asked
    for (const other of others) {
      other.clock.move(25 * MINUTE)
      expect(await other.refresh()).toEqual({ is: 'held' })
      expect(other.provider.calls).toEqual([])
    }
    slow.answer(tokens('access-2', 'refresh-2'))
    expect(await winner).toMatchObject({ is: 'refreshed' })
    for (const other of others) expect(await other.refresh()).toMatchObject({ is: 'fresh' })
  })

  test('that begin in the same moment one refreshes', async () => {
    let asked = 0
    const w = await worker(async () => {
      asked++
      return tokens('access-2')
    })
    w.clock.move(25 * MINUTE)
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => w.refresh()))
    expect(asked).toBe(1)
    expect(outcomes.filter(({ is }) => is === 'refreshed')).toHaveLength(1)
    expect(outcomes.every(({ is }) => ['refreshed', 'held', 'fresh'].includes(is))).toBe(true)
  })

  test('one whose lease was lost does not take the lease of the one that has it now', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await takeLease(redis.store, w.keys, 'somebody-else', 10_000)
    answer(tokens('access-2', 'refresh-2'))
    await refreshing
    expect(await w.lease()).toBe('somebody-else')
  })

  test('one that fails after it lost the lease says nothing of the account: the one that has it now will', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await takeLease(redis.store, w.keys, 'somebody-else', 10_000)
    const before = await w.record()
    answer(failure('rejected'))
    expect(await refreshing).toEqual({ is: 'lost' })
    expect(await w.record()).toEqual(before)
  })

  test('one whose lease ran out while its process stood still is not begun anew there: its token is on the way', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await endLease(redis.store, w.keys)
    expect(await w.refresh()).toEqual({ is: 'held' })
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    w.clock.move(2 * LIFE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
  })
})

describe('a late writer', () => {
  test('whose account was refreshed by somebody else meanwhile overwrites nothing', async () => {
    const slow = slowAnswer()
    const keys = redis.freshKeys()
    const late = await worker(slow.refresh, {}, keys)
    late.clock.move(25 * MINUTE)
    const refreshing = late.refresh()
    await slow.asked
    await endLease(redis.store, keys) // It ran out.
    const quick = fakeProvider({ refresh: async () => tokens('access-9', 'refresh-9') })
    const other = { ...late.deps, provider: quick, unstored: new Unstored(() => {}) }
    expect(await refreshAccount(other, HUB)).toMatchObject({ is: 'refreshed' })
    const before = await dump(redis.store, keys)
    slow.answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'lost' })
    // It is kept to be deleted one day.
    expect(await redis.store.hdel(keys.account(HUB).tokens, 'previous2')).toBe(1)
    expect(await dump(redis.store, keys)).toEqual(before)
  })

  test('whose account was connected again meanwhile overwrites nothing', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await seedAccount(redis.store, w.keys, {
      obtainedAt: w.clock.now(),
      accessToken: 'access-new',
      refreshToken: 'refresh-new',
    })
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'lost' })
    expect(await w.tokens()).toEqual({ access: 'access-new', refresh: 'refresh-new', previous: undefined })
  })

  test('with a failure changes nothing either', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await seedAccount(redis.store, w.keys, { obtainedAt: w.clock.now(), refreshToken: 'refresh-new' })
    answer(failure('rejected'))
    expect(await refreshing).toEqual({ is: 'lost' })
    expect(await w.record()).toMatchObject({ state: 'active' })
    expect(await w.record()).not.toHaveProperty('rejectedAt')
    expect(await w.outbox()).toEqual([])
  })
})

describe('an account whose record was spoiled', () => {
  const mend = (w: Awaited<ReturnType<typeof worker>>) =>
    mendAccount(
      {
        ...{ store: redis.store, keys: w.keys, clock: w.clock, log: w.deps.log },
        ...{ queues: { wake: async () => {} }, announceUnreadable: unreadableAnnouncer({ pageOf: String }) },
      },
      HUB,
    )

  test.each([
    ...['x', '', '1e3', 'nan', '-1', undefined].map((value) => ['generation', value] as const),
    ...['expiresAt', 'failures', 'interruptedAt', 'refreshedAt'].map((name) => [name, '1e300'] as const),
  ])('with %s as %s is not redeemed, and is refreshed once that is fixed', async (field, value) => {
    const w = await dueWorker(async () => tokens('access-2', 'refresh-2'))
    const account = w.keys.own(HUB)
    await (value === undefined ? redis.store.hdel(account, field) : redis.store.hset(account, field, value))
    await expect(w.refresh()).rejects.toThrow(`account ${HUB}: its record has unreadable ${field}`)
    expect(w.provider.calls).toEqual([])
    expect(await w.lease()).toBeNull()
    await mend(w)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
    expect(await w.record()).not.toHaveProperty('interruptedAt')
    expect(await w.tokens()).toMatchObject({ access: 'access-2', refresh: 'refresh-2' })
    w.clock.move(25 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
  })

  test.each([
    ['at that moment', false],
    ['and fixed meanwhile', true],
  ])('%s still takes the answer of a refresh that was under way: nothing newer is there', async (_, isMended) => {
    const { refreshing, answer, ...w } = await underWay()
    await redis.store.hset(w.keys.own(HUB), 'generation', 'x')
    if (isMended) await mend(w)
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    expect(await w.tokens()).toMatchObject({ access: 'access-2', refresh: 'refresh-2' })
    if (!isMended) await mend(w)
    w.clock.move(25 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
  })

  test('does not take an answer over a newer one', async () => {
    const slow = slowAnswer()
    const keys = redis.freshKeys()
    const late = await worker(slow.refresh, {}, keys)
    late.clock.move(25 * MINUTE)
    const refreshing = late.refresh()
    await slow.asked
    await endLease(redis.store, keys)
    late.clock.move(1)
    const quick = fakeProvider({ refresh: async () => tokens('access-9', 'refresh-9') })
    const other = { ...late.deps, provider: quick, unstored: new Unstored(() => {}) }
    expect(await refreshAccount(other, HUB)).toMatchObject({ is: 'refreshed' })
    await redis.store.hset(keys.own(HUB), 'generation', 'x')
    slow.answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'lost' })
    expect(await late.tokens()).toMatchObject({ refresh: 'refresh-9' })
  })

  test('takes the answer once what the step failed at is fixed, though no poll comes by', async () => {
    const { refreshing, answer, ...w } = await underWay()
    w.deps.mend = () => mend(w)
    const { tokens: own } = w.keys.account(HUB)
    await redis.store.set(own, 'garbage')
    answer(tokens('access-2', 'refresh-2'))
    await eventually('the account is fixed', async () =>
      w.logged.lines().some(({ code }) => code === 'account.unreadable'),
    )
    w.clock.move(1_000)
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    expect(await w.tokens()).toMatchObject({ access: 'access-2', refresh: 'refresh-2' })
  })

  test('can be connected anew', async () => {
    const w = await worker(async () => tokens('access-3', 'refresh-3'))
    await redis.store.hset(w.keys.own(HUB), { generation: 'x', connectedAt: 'x' })
    w.clock.move(MINUTE)
    await seedAccount(redis.store, w.keys, { obtainedAt: w.clock.now(), refreshToken: 'refresh-2' })
    expect(await w.tokens()).toMatchObject({ refresh: 'refresh-2' })
    w.clock.move(25 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
  })

  test('can be uninstalled', async () => {
    const w = await worker(async () => tokens('access-2'))
    await redis.store.hset(w.keys.own(HUB), 'generation', 'x')
    await uninstall(w.keys, w.clock.now())
    expect(await w.record()).toMatchObject({ state: 'uninstalling', generation: expect.stringMatching(/^\d+$/) })
  })
})

describe('an account that is uninstalled while it is refreshed', () => {
  test('does not come back: no tokens, no next refresh, no poll', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await uninstall(w.keys, w.clock.now())
    answer(tokens('access-2'))
    expect(await refreshing).toEqual({ is: 'gone' })
    expect(await w.record()).toMatchObject({ state: 'uninstalling' })
    expect(await w.tokens()).toEqual({ access: undefined, refresh: 'refresh-1', previous: undefined })
    expect([await w.due('refresh'), await w.due('poll')]).toEqual([undefined, undefined])
    expect(await w.lease()).toBeNull()
  })

  test('leaves a rotated token to be deleted', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await uninstall(w.keys, w.clock.now())
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'gone' })
    expect(await w.tokens()).toMatchObject({ access: undefined, refresh: 'refresh-2' })
    expect(await w.due('uninstall')).toBeDefined()
  })

  test('even if it had been forgotten already leaves a rotated token to be deleted', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await uninstall(w.keys, w.clock.now())
    const deleted = await redis.store.hgetBuffer(w.keys.account(HUB).tokens, 'refresh')
    const end = [HUB, w.clock.now(), deleted ?? '', 'deleted', w.clock.now(), JSON.stringify(NO_ALERT_WRITES)]
    await redis.store.finishUninstall(w.keys.own(HUB), ...end)
    expect(await w.record()).toMatchObject({ state: 'uninstalled' })
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'gone' })
    expect(await w.record()).toMatchObject({ state: 'uninstalling' })
    expect(await w.tokens()).toEqual({ access: undefined, refresh: 'refresh-2', previous: undefined })
    expect(await w.due('uninstall')).toBeDefined()
  })

  test('of which Redis knows nothing, because it was emptied, is not ended at the provider: its answer is sealed', async () => {
    const slow = slowAnswer()
    const w = await worker(slow.refresh)
    const sealed: TokensToStore[] = []
    const unstored = new Unstored((answers) => {
      sealed.push(...answers)
      return undefined
    })
    w.clock.move(25 * MINUTE)
    const refreshing = refreshAccount({ ...w.deps, unstored }, HUB)
    await slow.asked
    await redis.store.del(...(await redis.store.keys(`${w.keys.prefix}:*`)))
    slow.answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'held' })
    expect(sealed.map(({ hubId, refresh }) => [hubId, refresh?.reveal()])).toEqual([[HUB, 'refresh-2']])
    expect(await redis.store.keys(`${w.keys.prefix}:*`)).toEqual([])
    expect(w.logged.lines().filter(({ code }) => code === 'token.not-stored')).toHaveLength(1)
  })

  test('and given up meanwhile by others is polled again once its late answer is stored', async () => {
    const { refreshing, answer, ...w } = await underWay()
    const { account } = w.keys.account(HUB)
    await redis.store.hset(account, 'state', 'reauthorize')
    await redis.store.zrem(w.keys.partition(w.keys.partitionOf(HUB)).due.poll, HUB)
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    expect(await w.due('poll')).toBeDefined()
  })

  test('and connected anew in a Redis that was emptied keeps what was granted then', async () => {
    const slow = slowAnswer()
    const w = await worker(slow.refresh)
    await redis.store.hset(w.keys.account(HUB).account, 'generation', 7)
    w.clock.move(25 * MINUTE)
    const refreshing = w.refresh()
    await slow.asked
    w.clock.move(MINUTE)
    await redis.store.del(...Object.values(w.keys.account(HUB)))
    await seedAccount(redis.store, w.keys, { obtainedAt: w.clock.now() })
    slow.answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'lost' })
    expect(await w.tokens()).toMatchObject({ access: 'access-1', refresh: 'refresh-1' })
  })

  test('is not even asked about afterwards', async () => {
    const w = await dueWorker(async () => tokens('access-2'))
    await uninstall(w.keys, w.clock.now())
    expect(await w.refresh()).toEqual({ is: 'gone' })
    expect(w.provider.calls).toEqual([])
  })
})

describe('a refresh that fails', () => {
  test('leaves the tokens, says why and when it is tried again, and frees the lease', async () => {
    const w = await dueWorker(async () => failure('transient', { code: '503', message: 'the provider answered 503' }))
    const outcome = await w.refresh()
    expect(outcome).toMatchObject({ is: 'failed', state: 'failing', alerted: false, failure: { code: '503' } })
    expect(await w.tokens()).toEqual({ access: 'access-1', refresh: 'refresh-1', previous: undefined })
    expect(await w.record()).toMatchObject({
      state: 'failing',
      failures: '1',
      failureClass: 'transient',
      failureReason: 'the provider answered 503',
      failureAt: String(w.clock.now()),
      retryAt: String(w.clock.now() + 1_000),
    })
    expect(await w.due('refresh')).toBe(w.clock.now() + 1_000)
    expect(await w.lease()).toBeNull()
    expect(await w.outbox()).toEqual([])
  })

  test('once in the early window leaves the account active', async () => {
    const w = await worker(async () => failure('transient'))
    w.clock.move(23.9 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'active' })
    expect(await w.due('refresh')).toBe(w.connectedAt + 24 * MINUTE)
  })

  test('and works again later makes the account active and forgets the failures', async () => {
    let answer: Awaited<ReturnType<ProviderClient['refresh']>> = failure('transient')
    const w = await worker(async () => answer)
    w.clock.move(25 * MINUTE)
    await w.refresh()
    answer = tokens('access-2')
    w.clock.move(1_000)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
    const record = await w.record()
    expect(record.state).toBe('active')
    for (const field of ['failures', 'failureClass', 'failureReason', 'failureAt', 'rejectedAt', 'retryAt']) {
      expect(record).not.toHaveProperty(field)
    }
    expect(record).not.toHaveProperty('parkedUntil')
    expect(w.logged.text()).toContain('token.recovered')
  })

  test('has a next moment that nobody goes ahead of, not even for tokens that were refused', async () => {
    const w = await dueWorker(async () => failure('transient', { retryAfterMs: 90_000 }))
    await w.refresh()
    const again = w.clock.now() + 90_000
    await redis.store.zadd(w.keys.partition(HUB % 64).due.refresh, 1, HUB)
    w.clock.move(89_999)
    expect(await w.refresh()).toMatchObject({ is: 'fresh' })
    expect(await w.refresh('1')).toMatchObject({ is: 'fresh' })
    expect(w.provider.calls).toHaveLength(1)
    expect(await w.due('refresh')).toBe(again)
    expect(await w.lease()).toBeNull()
    w.clock.move(1)
    expect(await w.refresh('1')).toMatchObject({ is: 'failed' })
    expect(w.provider.calls).toHaveLength(2)
  })

  test('because the app is refused changes no state, and no poll', async () => {
    const w = await worker(async () => failure('client'))
    const poll = await w.due('poll')
    w.clock.move(25 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'active', alerted: false })
    expect(await w.record()).toMatchObject({ state: 'active', failureClass: 'client' })
    expect(await w.due('poll')).toBe(poll)
    expect(await w.outbox()).toEqual([])
  })

  test('because the account is told to wait parks it, polls too', async () => {
    const w = await dueWorker(async () => failure('parked', { retryAfterMs: 3_600_000 }))
    const until = w.clock.now() + 3_600_000
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'parked' })
    expect(await w.record()).toMatchObject({ state: 'parked', parkedUntil: String(until) })
    expect([await w.due('refresh'), await w.due('poll')]).toEqual([until, until])
  })

  test('by an exception leaves the account to be refreshed once its lease has ended', async () => {
    const w = await worker(async () => {
      throw new Error('a bug')
    })
    w.clock.move(25 * MINUTE)
    await expect(w.refresh()).rejects.toThrow('a bug')
    expect((await leaseOf(redis.store, w.keys))?.leftMs).toBeLessThanOrEqual(15_000)
    await endLease(redis.store, w.keys)
    const provider = fakeProvider({ refresh: async () => tokens('access-2') })
    expect(await refreshAccount({ ...w.deps, provider }, HUB)).toMatchObject({ is: 'refreshed' })
  })
})

describe('a rotated refresh token that is refused', () => {
  /** An account whose first refresh brought a new refresh token; what the provider says of each from now on. */
  async function rotated(says: Record<string, Awaited<ReturnType<ProviderClient['refresh']>>>) {
    const answers = { ...says, 'refresh-1': tokens('access-2', 'refresh-2') }
    const w = await worker(async (token) => answers[token.reveal() as 'refresh-1'])
    w.clock.move(25 * MINUTE)
    await w.refresh()
    expect(await w.tokens()).toMatchObject({ refresh: 'refresh-2', previous: 'refresh-1' })
    Object.assign(answers, says)
    w.provider.calls.length = 0
    w.clock.move(25 * MINUTE)
    return { ...w, asked: () => w.provider.calls.map(([, token]) => token) }
  }

  test.each([
    ['which stays', undefined, 'refresh-1', 'refresh-2'],
    // It may be alive until the new one has worked.
    ['which brings another one', 'refresh-3', 'refresh-3', 'refresh-1'],
  ])('gives way to the one before, %s', async (_, returned, stored, previous) => {
    const w = await rotated({ 'refresh-2': failure('rejected'), 'refresh-1': tokens('access-3', returned) })
    const sentAt = w.clock.now()
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
    expect(w.asked()).toEqual(['refresh-2', 'refresh-1'])
    expect(await w.tokens()).toEqual({ access: 'access-3', refresh: stored, previous })
    expect(await w.record()).toMatchObject({ state: 'active', generation: '3', obtainedAt: String(sentAt) })
    expect(await w.outbox()).toEqual([])
    expect(await w.lease()).toBeNull()
  })

  test('is what the failure says where the one before is no good either, and both are kept', async () => {
    const w = await rotated({
      'refresh-2': failure('rejected', { message: 'no to the new one' }),
      'refresh-1': failure('rejected', { message: 'no to the old one' }),
    })
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'failing', alerted: false })
    expect(w.asked()).toEqual(['refresh-2', 'refresh-1'])
    expect(await w.record()).toMatchObject({ failureClass: 'rejected', failureReason: 'no to the new one' })
    expect(await w.tokens()).toEqual({ access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' })
    expect(w.logged.text()).toContain('token.rejected')
    expect(w.logged.text()).not.toMatch(/(?:refresh|access)-[123]/)
    w.clock.move(3 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'reauthorize', alerted: true })
  })

  test.each(['transient', 'parked', 'client'] as const)(
    'is not what a %s failure says: the one before is not asked for',
    async (kind) => {
      const w = await rotated({ 'refresh-2': failure(kind), 'refresh-1': tokens('access-3') })
      expect(await w.refresh()).toMatchObject({ is: 'failed', failure: { class: kind } })
      expect(w.asked()).toEqual(['refresh-2'])
    },
  )

  test('has none before it any more once it has worked', async () => {
    const w = await rotated({ 'refresh-2': tokens('access-3'), 'refresh-1': tokens('access-x') })
    await w.refresh()
    w.clock.move(25 * MINUTE)
    const asked = fakeProvider({ refresh: async () => failure('rejected') })
    expect(await refreshAccount({ ...w.deps, provider: asked }, HUB)).toMatchObject({ is: 'failed' })
    expect(asked.calls).toEqual([['refresh', 'refresh-2']])
  })
})

describe('a refresh token that is refused twice over time', () => {
  async function refused() {
    const w = await dueWorker(async () =>
      failure('rejected', { code: 'BAD_REFRESH_TOKEN', message: 'token is no good' }),
    )
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'failing', alerted: false })
    expect(await w.outbox()).toEqual([])
    w.clock.move(3 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'reauthorize', alerted: true })
    return w
  }

  test('needs authorisation: one alert, committed with the state, no more polls, a look once a day', async () => {
    const w = await refused()
    expect(await w.record()).toMatchObject({ state: 'reauthorize', failures: '2' })
    expect(await w.outbox()).toEqual([
      {
        id: expect.any(String),
        kind: 'token',
        status: 'firing',
        level: 'critical',
        reason: 'entered',
        rule: 'token',
        account: { hubId: HUB, hubDomain: 'acme.example.com' },
        measuredAt: new Date(w.clock.now()).toISOString(),
        since: new Date(w.clock.now()).toISOString(),
        message: expect.stringMatching(
          /token is no good.*last worked 2026-11-21 10:00.*plimsoll accounts reconnect-link 123/,
        ),
        url: 'https://plimsoll.example.com/accounts/123',
      },
    ])
    expect(await redis.store.smembers(w.keys.partition(HUB % 64).alerting)).toEqual([String(HUB)])
    expect(await w.due('poll')).toBeUndefined()
    expect(await w.due('refresh')).toBe(w.clock.now() + 24 * 60 * MINUTE)
    expect(await w.tokens()).toMatchObject({ refresh: 'refresh-1' })
  })

  test('is told once, however often it is refused afterwards', async () => {
    const w = await refused()
    for (let day = 0; day < 3; day++) {
      w.clock.move(24 * 60 * MINUTE)
      expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'reauthorize', alerted: false })
    }
    expect(await w.outbox()).toHaveLength(1)
  })

  test('and works after all is told as recovered, under the same alert, and is polled again', async () => {
    const w = await refused()
    w.clock.move(24 * 60 * MINUTE)
    const provider = fakeProvider({ refresh: async () => tokens('access-2') })
    expect(await refreshAccount({ ...w.deps, provider }, HUB)).toMatchObject({ is: 'refreshed', expired: false })
    const [opened, closed] = await w.outbox()
    expect(closed).toMatchObject({ kind: 'token', status: 'resolved', reason: 'recovered', since: opened?.since })
    const alertOf = (alert?: Record<string, unknown>) => String(alert?.id).split('-')[0]
    expect(alertOf(closed)).toBe(alertOf(opened))
    expect(closed?.id).not.toBe(opened?.id)
    expect(await redis.store.exists(w.keys.account(HUB).alerts)).toBe(0)
    expect(await redis.store.smembers(w.keys.partition(HUB % 64).alerting)).toEqual([])
    expect(await w.due('poll')).toBe(w.clock.now())
    expect(await w.record()).toMatchObject({ state: 'active' })
  })

  test('by two workers at once is told once', async () => {
    const w = await dueWorker(async () => failure('rejected'))
    await w.refresh()
    w.clock.move(3 * MINUTE)
    await Promise.all(Array.from({ length: 5 }, () => w.refresh()))
    expect(await w.outbox()).toHaveLength(1)
  })
})

describe('the lease', () => {
  test.each([
    ['20 seconds', 20_000, 2_000],
    ['a minute', 60_000, 6_000],
    ['half an hour', LIFE, 15_000],
  ])('of an account whose token lives %s is a tenth of that, within bounds', async (_, lifeMs, longest) => {
    const slow = slowAnswer()
    const w = await worker(slow.refresh, { lifeMs })
    w.clock.move(lifeMs)
    const refreshing = w.refresh()
    await slow.asked
    const left = (await leaseOf(redis.store, w.keys))?.leftMs
    expect(left).toBeLessThanOrEqual(longest)
    expect(left).toBeGreaterThan(longest - 1_000)
    slow.answer(tokens('access-2'))
    await refreshing
  })

  test('is renewed while a slow answer is waited for, and no longer', async () => {
    const slow = slowAnswer()
    const w = await worker(slow.refresh, { lifeMs: 20_000 })
    w.clock.move(15_000)
    const refreshing = w.refresh()
    await slow.asked
    const owner = await w.lease()
    // Almost over: only a renewal can make it longer again.
    const left = async () => (await leaseOf(redis.store, w.keys))?.leftMs ?? 0
    await takeLease(redis.store, w.keys, String(owner), 1_500)
    await eventually('the lease is renewed', async () => (await left()) > 1_500)
    expect(await w.lease()).toBe(owner)
    slow.answer(failure('transient'))
    await refreshing
    expect(await w.lease()).toBeNull()
  })
})

describe('a lease that somebody else has by now', () => {
  test('is not renewed, and who had it before gets to know', async () => {
    const w = await dueWorker(async () => tokens('access-2'))
    await takeLease(redis.store, w.keys, 'somebody-else', 10_000)
    const mine = { owner: 'me', ms: 600, sinceTaken: w.clock.stopwatch() }
    const kept = w.deps.tokens.keepLease(HUB, mine, w.clock)
    await eventually('it is known as lost', async () => !kept.isHeld())
    kept.end()
    const lease = await leaseOf(redis.store, w.keys)
    expect([lease?.owner, Number(lease?.leftMs) > 600]).toEqual(['somebody-else', true])
  })

  test('plans nothing when it is given back', async () => {
    const w = await dueWorker(async () => tokens('access-2'))
    await takeLease(redis.store, w.keys, 'somebody-else', 10_000)
    const planned = await w.due('refresh')
    await w.deps.tokens.leave(HUB, 'me', w.clock.now())
    expect([await w.lease(), await w.due('refresh')]).toEqual(['somebody-else', planned])
  })

  test('counts as over where it would last longer than any does: the clock of Redis was set back', async () => {
    const w = await dueWorker(async () => tokens('access-2'))
    await takeLease(redis.store, w.keys, 'somebody-else', 3_600_000)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
  })
})

describe('a worker that dies between its lease and its answer', () => {
  /** It took the lease and was killed: the lease ran out, nothing was written. */
  async function killed(w: Awaited<ReturnType<typeof worker>>, owner = 'dead'): Promise<number> {
    const at = w.clock.now()
    expect((await w.deps.tokens.begin(HUB, owner, at)).is).toBe('begun')
    await endLease(redis.store, w.keys)
    return at
  }
  const interruptedAt = async (w: Awaited<ReturnType<typeof worker>>) => (await w.record()).interruptedAt

  test('is told in the log, and forgotten when the refresh works', async () => {
    const w = await dueWorker(async () => tokens('access-2'))
    const diedAt = await killed(w)
    w.clock.move(MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
    expect(w.logged.lines()).toMatchObject([
      { code: 'token.interrupted', level: 'warn', hubId: HUB, died: new Date(diedAt).toISOString() },
    ])
    expect(await w.record()).not.toHaveProperty('interruptedAt')
    expect(await w.record()).not.toHaveProperty('refreshing')
  })

  test('is told in the alert when the refresh token is refused from then on, whatever failed in between', async () => {
    let answer = failure('transient')
    const w = await worker(async () => answer)
    w.clock.move(25 * MINUTE)
    const diedAt = await killed(w)
    for (const next of ['transient', 'rejected', 'rejected'] as const) {
      w.clock.move(10 * MINUTE)
      answer = failure(next)
      expect(await w.refresh()).toMatchObject({ is: 'failed' })
      expect(await interruptedAt(w)).toBe(String(diedAt))
    }
    const [alert] = await w.outbox()
    expect(alert).toMatchObject({ level: 'critical', kind: 'token' })
    expect(alert?.message).toContain(`a refresh of this account broke off at ${formatMoment(diedAt)}`)
    w.clock.move(24 * 60 * MINUTE)
    const provider = fakeProvider({ refresh: async () => tokens('access-2') })
    expect(await refreshAccount({ ...w.deps, provider }, HUB)).toMatchObject({ is: 'refreshed' })
    expect(await interruptedAt(w)).toBeUndefined()
  })

  test('is remembered by whoever finds that the account is not due', async () => {
    const w = await worker(async () => tokens('access-2'))
    const diedAt = await killed(w)
    expect(await w.refresh()).toMatchObject({ is: 'fresh' })
    expect(await interruptedAt(w)).toBe(String(diedAt))
    expect(await w.record()).not.toHaveProperty('refreshing')
  })

  test('is forgotten when the account is connected again', async () => {
    const w = await worker(async () => tokens('access-2'))
    await killed(w)
    await w.refresh()
    await seedAccount(redis.store, w.keys, { obtainedAt: w.clock.now() })
    expect(await interruptedAt(w)).toBeUndefined()
  })

  test('is not a worker that failed, found nothing due or came too late', async () => {
    const w = await worker(async () => failure('transient'))
    await w.refresh()
    w.clock.move(25 * MINUTE)
    await w.refresh()
    expect(await w.record()).not.toHaveProperty('refreshing')
    w.clock.move(MINUTE)
    const begun = await w.deps.tokens.begin(HUB, 'late', w.clock.now())
    if (begun.is !== 'begun') throw new Error(begun.is)
    const record = { state: 'failing' as const, refreshAt: 0, pollAt: 'unchanged' as const, fields: {} }
    // Somebody else has opened the alert meanwhile.
    const alerts = { changes: [['token', 'as it was', ''] as [string, string, string]], entries: [] }
    const { generation } = begun.context
    expect(await w.deps.tokens.recordFailure(HUB, 'late', generation, { ...record, alerts })).toBe('lost')
    expect(await w.record()).not.toHaveProperty('refreshing')
    await w.refresh()
    expect(w.logged.text()).not.toContain('token.interrupted')
  })

  test('is not taken for itself by a worker that asks twice because the answer was lost', async () => {
    const w = await worker(async () => tokens('access-2'))
    const { tokens: store } = w.deps
    await store.begin(HUB, 'me', w.clock.now())
    expect(await store.begin(HUB, 'me', w.clock.now() + 5)).toMatchObject({
      is: 'begun',
      context: { interruptedAt: null },
    })
  })
})

describe('a token endpoint that is closed', () => {
  test('lets the account wait: no lease, no call, nothing changed', async () => {
    const w = await dueWorker(async () => tokens('access-2'))
    const endpoint = openEndpoint(redis.store, w.keys, w.clock)
    const down = failure('transient', { status: 503 }).failure
    await endpoint.room(0, 1_000)
    await Promise.all(Array.from({ length: 10 }, (_, n) => endpoint.failed(1_000 + n, down)))
    const before = await dump(redis.store, w.keys)
    const outcome = await refreshAccount({ ...w.deps, endpoint }, HUB)
    expect(outcome).toEqual({ is: 'waiting', until: w.clock.now() + 5_000 })
    expect(w.provider.calls).toEqual([])
    expect(await dump(redis.store, w.keys)).toEqual(before)
  })

  test('lets one through as a probe, whose refusal is not held against the account', async () => {
    const w = await dueWorker(async () => failure('rejected'))
    const endpoint = openEndpoint(redis.store, w.keys, w.clock)
    await endpoint.room(0, 1_000)
    const refused = failure('rejected').failure
    await Promise.all(Array.from({ length: 10 }, (_, n) => endpoint.failed(1_000 + n, refused)))
    w.clock.move(5_000)
    const deps = { ...w.deps, endpoint }
    expect(await refreshAccount(deps, HUB)).toMatchObject({ is: 'failed', state: 'active', alerted: false })
    const record = await w.record()
    expect(record).toMatchObject({ state: 'active', failures: '0', failureClass: 'rejected' })
    expect(record).not.toHaveProperty('rejectedAt')
    expect(await w.due('refresh')).toBe(w.clock.now() + 5_000 + 500)
  })
})

describe('a store that takes no writes any more', () => {
  const writesNeed = (replicas: number) => redis.store.config('SET', 'min-replicas-to-write', String(replicas))

  test('is asked again until it takes the new tokens, which are nowhere else; nobody redeems the old ones meanwhile', async () => {
    const w = await worker(async () => {
      await writesNeed(1)
      return tokens('access-2', 'refresh-2')
    })
    w.clock.move(25 * MINUTE)
    const sentAt = w.clock.now()
    const refreshing = w.refresh()
    try {
      for (const pause of [250, 250, 250]) {
        await w.clock.sleeper(250)
        expect(w.clock.waits.at(-1)).toBe(pause)
        // Redis refuses to renew the lease as well; whoever comes is held back by this process itself.
        expect(await refreshAccount(w.deps, HUB)).toEqual({ is: 'held' })
        expect(await w.tokens()).toMatchObject({ access: 'access-1', refresh: 'refresh-1' })
        w.clock.move(pause)
      }
      await w.clock.sleeper(250)
    } finally {
      await writesNeed(0)
    }
    w.clock.move(60_000)
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    expect(w.provider.calls).toHaveLength(1)
    expect(await w.tokens()).toEqual({ access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' })
    expect(await w.record()).toMatchObject({ generation: '2', obtainedAt: String(sentAt) })
    expect(await w.lease()).toBeNull()
    const said = w.logged.lines().filter(({ code }) => code === 'token.not-stored')
    expect(said).toMatchObject([{ level: 'error', hubId: HUB, attempt: 1 }])
    expect(JSON.stringify(said)).toContain('NOREPLICAS')
    expect(w.logged.text()).not.toMatch(/(?:refresh|access)-[12]/)
  })

  test('is asked again for as long as the process lives: an hour later the tokens are stored', async () => {
    const w = await worker(async () => {
      await writesNeed(1)
      return tokens('access-2', 'refresh-2')
    })
    w.clock.move(25 * MINUTE)
    const refreshing = w.refresh()
    const gaveUp = refreshing.then((outcome) => JSON.stringify(outcome), String)
    try {
      for (let ms = 0; ms < 60 * MINUTE; ms += 1_000) {
        expect(await Promise.race([w.clock.sleeper(250), gaveUp])).toBeUndefined()
        w.clock.move(1_000)
      }
      await w.clock.sleeper(250)
    } finally {
      await writesNeed(0)
    }
    w.clock.move(5_000)
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    expect(w.provider.calls).toHaveLength(1)
    expect(await w.tokens()).toEqual({ access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' })
  })
})

describe('a store that takes no writes', () => {
  test('is noticed before the refresh token is redeemed', async () => {
    const w = await dueWorker(async () => tokens('access-2', 'refresh-2'))
    const before = (await redis.store.config('GET', 'maxmemory')) as string[]
    await redis.store.config('SET', 'maxmemory', '1')
    try {
      expect(await w.refresh()).toMatchObject({ is: 'waiting' })
    } finally {
      await redis.store.config('SET', 'maxmemory', before[1] ?? '0')
    }
    expect(w.provider.calls).toEqual([])
  })
})

describe('a refresh token that no key opens', () => {
  const other = createVault([{ id: 'k9', key: Buffer.alloc(32, 9) }])

  /** As after a change of keys that left the old one out. */
  async function locked() {
    const w = await dueWorker(async () => tokens('access-2'))
    return { ...w, refresh: () => refreshAccount({ ...w.deps, vault: other }, HUB), unlocked: w.refresh }
  }

  test('is a failure of its account that names the key; the provider is not asked, and nothing of the fleet is told', async () => {
    const w = await locked()
    expect(await w.refresh()).toMatchObject({
      ...{ is: 'failed', state: 'failing', alerted: false, rejectedAt: null },
      failure: { class: 'unopened', code: 'vault', message: expect.stringContaining('no key with the id k1') },
    })
    expect(w.provider.calls).toEqual([])
    expect(await w.lease()).toBeNull()
    expect(await w.record()).toMatchObject({ state: 'failing', failures: '1', failureClass: 'unopened' })
    expect(await w.record()).not.toHaveProperty('refreshing')
    expect(await w.due('refresh')).toBe(w.clock.now() + 1_000)
    await w.deps.endpoint.room(0, undefined)
    const { breaker } = JSON.parse((await redis.store.get(w.keys.endpoint)) ?? '')
    expect(breaker.suspects).toMatchObject({ credentials: [], refused: [], unreachable: [] })
    expect(w.logged.lines().at(-1)).toMatchObject({
      code: 'token.unopened',
      level: 'error',
      hubId: HUB,
      reason: 'vault',
    })
  })

  test('waits longer each time, is told once its access token has been over for a while, and works with the key', async () => {
    const w = await locked()
    const waits = []
    for (let attempt = 1; attempt <= 10; attempt++) {
      expect(await w.refresh()).toMatchObject({ is: 'failed' })
      const wait = Number(await w.due('refresh')) - w.clock.now()
      waits.push(wait / 1_000)
      w.clock.move(wait)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300])
    expect(await w.outbox()).toMatchObject([
      { kind: 'token', status: 'firing', message: expect.stringContaining('no key with the id k1 is configured') },
    ])
    expect(await w.unlocked()).toMatchObject({ is: 'refreshed' })
    expect(await w.record()).toMatchObject({ state: 'active' })
    expect((await w.outbox()).at(-1)).toMatchObject({ kind: 'token', status: 'resolved' })
  })

  test('of an account that waits to be connected again uninstalls nobody, and is asked of once a day', async () => {
    const w = await locked()
    await redis.store.hset(w.keys.account(HUB).account, { state: 'reauthorize' })
    const outcome = await w.refresh()
    expect(outcome).toMatchObject({ is: 'failed', state: 'reauthorize' })
    expect(Number(await w.due('refresh')) - w.clock.now()).toBe(24 * 60 * MINUTE)
    const refused = { ...(outcome as Extract<typeof outcome, { is: 'failed' }>), rejectedAt: 1 }
    expect(uninstallAfterRefusal(refused, 1, w.clock.now())).toBeUndefined()
  })
})
