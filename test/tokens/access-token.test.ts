import { describe, expect, test } from 'vitest'
import type { ProviderClient } from '../../src/provider/client.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { InFlight } from '../../src/runtime/concurrency.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { AccessTokens, hasTimeForACall, judgeAfterRefresh, judgeToken } from '../../src/tokens/access-token.ts'
import { type RefreshDeps, type RefreshOutcome, refreshAccount } from '../../src/tokens/refresh-account.ts'
import { type StoredToken, TokenStore } from '../../src/tokens/token-store.ts'
import { Unstored } from '../../src/tokens/unstored.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { putAccess, putToken, seedAccount, takeLease, vault } from '../support/accounts.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { failure, fakeProvider, slowAnswer, tokens } from '../support/fake-provider.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const HUB = 123
const MINUTE = 60_000
const LIFE = 30 * MINUTE

describe('what to do for who asks', () => {
  const NOW = 1_000_000
  const stored = (more: Partial<StoredToken> = {}): StoredToken => ({
    ...{ state: 'active', generation: '4', obtainedAt: NOW - LIFE / 2, expiresAt: NOW + LIFE / 2, retryAt: null },
    ...{ accessToken: Buffer.from('sealed'), scopes: [], metadataDue: false, isHeld: false },
    ...more,
  })
  const last = { expiresAt: NOW + 10_000 }
  const expired = { expiresAt: NOW }
  const later = { retryAt: NOW + 5_000 }

  test.each([
    ['a token with time left', {}, 'good'],
    ['one with no time left for a call', last, 'refresh'],
    ['one that has expired', expired, 'refresh'],
    ['an account without an access token', { accessToken: null }, 'refresh'],
    ['an account whose refresh failed, token good', { state: 'failing', ...later }, 'good'],
    ['an account whose refresh failed, token nearly over', { state: 'failing', ...later, ...last }, 'good'],
    ['an account whose refresh failed, token over', { state: 'failing', ...later, ...expired }, 'later'],
    ['an account whose next attempt is due', { state: 'failing', retryAt: NOW, ...expired }, 'refresh'],
    ['a parked account, token over', { state: 'parked', ...later, ...expired }, 'later'],
    ['an account to be authorised again, token good', { state: 'reauthorize', ...later }, 'good'],
    ['an account to be authorised again, token over', { state: 'reauthorize', ...expired }, 'reauthorize'],
    ['one that was imported, nobody knows yet whose token it is', { metadataDue: true }, 'unidentified'],
    ['an imported one, token over', { metadataDue: true, ...expired }, 'refresh'],
    ['an imported one without a token', { metadataDue: true, state: 'reauthorize', accessToken: null }, 'reauthorize'],
    ['one that is being uninstalled', { state: 'uninstalling' }, 'gone'],
    ['one that was uninstalled', { state: 'uninstalled', accessToken: null }, 'gone'],
  ] as const)('%s', (_, more, is) => {
    expect(judgeToken(stored(more), NOW).is).toBe(is)
  })

  test('nobody knows the account', () => {
    expect(judgeToken(undefined, NOW)).toEqual({ is: 'unknown' })
  })

  test.each([
    ['failed', { is: 'failed', failure: failure('transient').failure, state: 'failing', reauthorize: false }],
    ['held by somebody for too long', { is: 'held' }],
    ['took too long', undefined],
    ['was put off until a moment', { is: 'waiting', until: NOW + 60_000 } as unknown as RefreshOutcome],
    ['ended as nobody here knows yet', { is: 'odd' } as unknown as RefreshOutcome],
  ] as [string, RefreshOutcome | undefined][])('a refresh that %s leaves a token that is valid still', (_, outcome) => {
    expect(judgeAfterRefresh(stored(last), outcome, NOW).is).toBe('good')
    expect(judgeAfterRefresh(stored(expired), outcome, NOW).is).toBe('later')
    expect(judgeAfterRefresh(stored({ ...last, metadataDue: true }), outcome, NOW).is).toBe('unidentified')
  })

  test('an outcome that says until when says when to ask again', () => {
    const waiting = { is: 'waiting', until: NOW + 60_000 } as unknown as RefreshOutcome
    expect(judgeAfterRefresh(stored(expired), waiting, NOW)).toEqual({ is: 'later', at: NOW + 60_000 })
    expect(judgeAfterRefresh(stored(expired), { is: 'held' }, NOW)).toEqual({ is: 'later', at: NOW + 2_000 })
  })

  test.each([
    [LIFE, 10_001, true],
    [LIFE, 10_000, false],
    [20_000, 2_001, true],
    [20_000, 2_000, false],
    [LIFE, -1, false],
  ])('of a life of %d ms, %d ms left are enough for a call: %s', (life, left, enough) => {
    expect(hasTimeForACall({ obtainedAt: NOW + left - life, expiresAt: NOW + left }, NOW)).toBe(enough)
  })
})

const neverAsked = () => Promise.reject(new Error('not to be asked'))

/** A server of tokens with a worker of its own; several share an account by its keys and a clock. */
function server(refresh: ProviderClient['refresh'], keys = redis.freshKeys(), clock = new HandClock()) {
  const provider = fakeProvider({ refresh })
  const none = () => NO_ALERT_WRITES
  const deps: RefreshDeps = {
    ...{ provider, tokens: new TokenStore(redis.store, keys), store: redis.store, vault },
    announce: { foreign: none, failing: none, reauthorize: none, recovered: none },
    endpoint: openEndpoint(redis.store, keys, systemClock),
    settings: { refreshFrom: 0.5, refreshBy: 0.8 },
    ...{ unstored: new Unstored(() => {}), inFlight: new InFlight(10), clock, random: () => 0.5, log: logLines().log },
  }
  const accessTokens = new AccessTokens({
    ...{ tokens: new TokenStore(redis.store, keys), vault, clock },
    refresh: (hubId, generation) => refreshAccount(deps, hubId, generation),
    identify: neverAsked,
  })
  return {
    ...{ keys, clock, provider, deps, accessTokens },
    seed: () => seedAccount(redis.store, keys, { obtainedAt: clock.now() }),
    ask: async () => {
      const answer = await accessTokens.serve(HUB, 'billing')
      return answer.is === 'served' ? answer.token.reveal() : answer.is
    },
    record: () => redis.store.hgetall(keys.account(HUB).account),
  }
}

/** A server and its account, connected just now. */
async function seeded(refresh: ProviderClient['refresh'] = async () => tokens('access-2')) {
  const s = server(refresh)
  await s.seed()
  return s
}

/** The same, its access token over. */
async function expired(refresh?: ProviderClient['refresh']) {
  const s = await seeded(refresh)
  s.clock.move(LIFE)
  return s
}

/** Lets whoever waits look again and again until it is over. */
async function passTime<T>(clock: HandClock, waiting: Promise<T>): Promise<T> {
  let over = false
  const ended = waiting.finally(() => {
    over = true
  })
  while (!over) {
    clock.move(100)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return ended
}

describe('an access token', () => {
  test('that has time left is served as it is, and who got it is noted', async () => {
    const s = await seeded()
    expect(await s.ask()).toBe('access-1')
    expect(s.provider.calls).toEqual([])
    expect(await s.record()).toMatchObject({ tokenServedAt: String(s.clock.now()), tokenServedTo: 'billing' })
  })

  test('that is over is refreshed once for all who ask at the same time', async () => {
    const s = await expired()
    expect(new Set(await Promise.all(Array.from({ length: 200 }, s.ask)))).toEqual(new Set(['access-2']))
    expect(s.provider.calls).toEqual([['refresh', 'refresh-1']])
  })

  test('that is valid still is served although its refresh has just failed', async () => {
    const s = await seeded(async () => failure('transient'))
    s.clock.move(LIFE - 5_000)
    expect(await s.ask()).toBe('access-1')
    expect(s.provider.calls).toHaveLength(1)
    expect(await s.ask()).toBe('access-1')
    expect(s.provider.calls).toHaveLength(1)
  })

  test('that is valid still is served although Redis refused the refresh', async () => {
    const s = await seeded()
    const refusing = new AccessTokens({
      ...{ tokens: new TokenStore(redis.store, s.keys), vault, clock: s.clock },
      refresh: () => Promise.reject(new Error('OOM command not allowed')),
      identify: neverAsked,
    })
    s.clock.move(LIFE - 5_000)
    expect(await refusing.serve(HUB, 'billing')).toMatchObject({ is: 'served' })
    s.clock.move(5_000)
    await expect(refusing.serve(HUB, 'billing')).rejects.toThrow('OOM')
  })

  test('is not there when it is over and a refresh fails: who asks is told when the next attempt is', async () => {
    const s = await expired(async () => failure('transient', { retryAfterMs: 30_000 }))
    const answer = await s.accessTokens.serve(HUB, 'billing')
    expect(answer).toEqual({ is: 'later', at: Number((await s.record()).retryAt) })
    expect(await s.ask()).toBe('later')
    expect(s.provider.calls).toHaveLength(1)
    expect((await s.record()).tokenServedAt).toBeUndefined()
  })

  test('that was replaced between reading and serving is not the one that is served', async () => {
    const s = await seeded()
    const store = new TokenStore(redis.store, s.keys)
    let reads = 0
    const reading = {
      read: async (hubId: number) => {
        const stored = await store.read(hubId)
        if (reads++ === 0) await refreshAccount(s.deps, HUB, '1')
        return stored
      },
      noteServed: store.noteServed.bind(store),
    }
    const served = await new AccessTokens({
      ...{ tokens: reading, vault, clock: s.clock },
      refresh: () => Promise.reject(new Error('not to be called')),
      identify: neverAsked,
    }).serve(HUB, 'billing')
    expect(served.is === 'served' && served.token.reveal()).toBe('access-2')
  })

  test('is read without asking Redis for its time, unless somebody is at the account', async () => {
    const s = await seeded()
    const store = new TokenStore(redis.store, s.keys)
    const timesAsked = async () => /cmdstat_time:calls=(\d+)/.exec(await redis.store.info('commandstats'))?.[1]
    await redis.store.config('RESETSTAT')
    expect([(await store.read(HUB))?.isHeld, await timesAsked()]).toEqual([false, undefined])
    await store.begin(HUB, 'other', s.clock.now())
    await redis.store.config('RESETSTAT')
    expect([(await store.read(HUB))?.isHeld, await timesAsked()]).toEqual([true, '1'])
  })

  test('of an account that is uninstalled between reading and serving is served to nobody', async () => {
    const s = await seeded()
    const stored = await new TokenStore(redis.store, s.keys).read(HUB)
    await redis.store.beginUninstall(
      s.keys.own(HUB),
      ...[HUB, s.clock.now(), 'asked', 0, JSON.stringify(NO_ALERT_WRITES), 'api', '', 'one'],
    )
    const noted = await new TokenStore(redis.store, s.keys).noteServed(HUB, stored?.generation ?? '', 1, 'billing')
    expect(noted).toBe('stale')
    expect(await s.ask()).toBe('gone')
    expect((await s.record()).tokenServedAt).toBeUndefined()
  })
})

describe('while another worker holds the account', () => {
  test.each([
    ['its result is waited for and served', tokens('access-2'), 'access-2'],
    [
      'its failure is waited for too, and not tried over again',
      failure('transient', { retryAfterMs: 60_000 }),
      'later',
    ],
  ])('%s', async (_, answer, served) => {
    const slow = slowAnswer()
    const worker = await expired(slow.refresh)
    const other = server(async () => tokens('not this one'), worker.keys, worker.clock)
    const first = worker.ask()
    await slow.asked
    const second = other.ask()
    slow.answer(answer)
    expect(await first).toBe(served)
    expect(await passTime(other.clock, second)).toBe(served)
    expect(other.provider.calls).toEqual([])
  })

  test('that died, the account is taken over once its lease has ended', async () => {
    const s = await expired()
    await takeLease(redis.store, s.keys, 'somebody-who-died', 50)
    expect(await passTime(s.clock, s.ask())).toBe('access-2')
    expect(s.provider.calls).toHaveLength(1)
  })

  test('and goes on holding it, who asks is sent away after twelve seconds', async () => {
    const s = await expired()
    await takeLease(redis.store, s.keys, 'somebody-slow', 55_000)
    const begun = s.clock.now()
    expect(await passTime(s.clock, s.ask())).toBe('later')
    expect(s.clock.now() - begun).toBeGreaterThanOrEqual(12_000)
    expect(s.clock.now() - begun).toBeLessThan(14_000)
    expect(s.provider.calls).toEqual([])
  })
})

describe('of an account whose metadata was never read', () => {
  /** `identify` as the test says, on an account that is marked. */
  async function unread(identify: (account: string) => Promise<'asked' | 'later'>) {
    const s = await seeded()
    const { account } = s.keys.account(HUB)
    await redis.store.hset(account, 'metadataDue', '1')
    const asked: number[] = []
    const accessTokens = new AccessTokens({
      ...{ tokens: new TokenStore(redis.store, s.keys), vault, clock: s.clock },
      refresh: (hubId, generation) => refreshAccount(s.deps, hubId, generation),
      identify: (hubId) => {
        asked.push(hubId)
        return identify(account)
      },
    })
    const ask = async () => {
      const answer = await accessTokens.serve(HUB, 'billing')
      return answer.is === 'served' ? answer.token.reveal() : answer
    }
    return { ...s, accessTokens, asked, ask }
  }
  const known = async (account: string) => {
    await redis.store.hdel(account, 'metadataDue')
    return 'asked' as const
  }

  test('the provider is asked whose it is, once for all who ask, and then it is served', async () => {
    const s = await unread(known)
    expect(new Set(await Promise.all(Array.from({ length: 50 }, s.ask)))).toEqual(new Set(['access-1']))
    expect(s.asked).toEqual([HUB])
    expect(await s.ask()).toBe('access-1')
    expect(s.asked).toEqual([HUB])
  })

  test('it is asked about the token that a refresh has just brought', async () => {
    const s = await unread(known)
    s.clock.move(LIFE)
    expect(await s.ask()).toBe('access-2')
    expect(s.asked).toEqual([HUB])
  })

  test('nothing is served while the provider can not be asked, or does not tell', async () => {
    const s = await unread(async () => 'later')
    expect(await s.ask()).toEqual({ is: 'unidentified', at: s.clock.now() + 2_000 })
    const silent = await unread(async () => 'asked')
    expect(await silent.ask()).toMatchObject({ is: 'later' })
    expect((await silent.record()).tokenServedAt).toBeUndefined()
  })

  test('who asks is sent away after twelve seconds, and a stop waits for the answer and asks no more', async () => {
    const answer = Promise.withResolvers<'asked'>()
    const s = await unread(async (account) => {
      await answer.promise
      return known(account)
    })
    expect(await passTime(s.clock, s.ask())).toMatchObject({ is: 'unidentified' })
    const stopped = s.accessTokens.stop(8_000)
    answer.resolve('asked')
    await stopped
    expect(await s.ask()).toBe('access-1')
    await redis.store.hset(s.keys.account(HUB).account, 'metadataDue', '1')
    expect(await s.ask()).toMatchObject({ is: 'unidentified' })
    expect(s.asked).toEqual([HUB])
  })
})

test('a refresh that takes too long goes on when who asked was sent away', async () => {
  const slow = slowAnswer()
  const s = await expired(slow.refresh)
  const asked = s.ask()
  await slow.asked
  expect(await passTime(s.clock, asked)).toBe('later')
  const again = s.ask()
  slow.answer(tokens('access-2', 'refresh-2'))
  expect(await again).toBe('access-2')
  expect(s.provider.calls).toHaveLength(1)
})

describe('an access token that no key opens', () => {
  const strange = createVault([{ id: 'k9', key: Buffer.alloc(32, 9) }])

  test('is refreshed, and the new one is served', async () => {
    const s = await seeded()
    await putAccess(redis.store, s.keys, strange.seal(new Secret('x'), HUB, 'access'), HUB)
    expect(await s.ask()).toBe('access-2')
    expect(s.provider.calls).toEqual([['refresh', 'refresh-1']])
  })

  test('beside a refresh token that none opens either names the key, and when to ask again', async () => {
    const s = await seeded()
    for (const field of ['access', 'refresh'] as const) {
      await putToken(redis.store, s.keys, field, strange.seal(new Secret('x'), HUB, field), HUB)
    }
    const why = 'no key with the id k9 is configured: add it to encryption.keys'
    const answer = { is: 'unopened', at: s.clock.now() + 2_000, why }
    expect(await s.accessTokens.serve(HUB, 'billing')).toEqual(answer)
    expect(await s.accessTokens.serve(HUB, 'billing')).toEqual(answer)
    expect(await s.record()).toMatchObject({ state: 'failing', failures: '1' })
    expect(await s.record()).not.toHaveProperty('tokenServedTo')
    expect(s.provider.calls).toEqual([])
  })
})

test('a stop waits until tokens under way are stored, and begins no more refreshes', async () => {
  const slow = slowAnswer()
  const s = await expired(slow.refresh)
  const asked = s.ask()
  await slow.asked
  const stopped = s.accessTokens.stop(8_000)
  slow.answer(tokens('access-2', 'refresh-2'))
  await stopped
  expect(await asked).toBe('access-2')
  s.clock.move(LIFE)
  expect(await s.ask()).toBe('later')
  expect(s.provider.calls).toHaveLength(1)
})
