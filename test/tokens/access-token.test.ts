import { describe, expect, test } from 'vitest'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { AccessTokens, hasTimeForACall, judgeToken } from '../../src/tokens/access-token.ts'
import { refreshTokensOf } from '../../src/tokens/refresh-account.ts'
import type { StoredToken } from '../../src/tokens/token-store.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { claimRefresh, putAccess, putToken, SEEDED_VERSION } from '../support/accounts.ts'
import { failure, slowAnswer, tokens } from '../support/fake-provider.ts'
import type { HandClock } from '../support/hand-clock.ts'
import { accountIn, HUB, type World, worldOfFile } from '../support/world.ts'

const world = worldOfFile()
const MINUTE = 60_000
const LIFE = 30 * MINUTE

describe('what to do for who asks', () => {
  const NOW = 1_000_000
  const stored = (more: Partial<StoredToken> = {}): StoredToken => ({
    state: 'active',
    version: '4',
    obtainedAt: NOW - LIFE / 2,
    expiresAt: NOW + LIFE / 2,
    retryAt: null,
    accessToken: Buffer.from('sealed'),
    scopes: [],
    metadataDue: false,
    isHeld: false,
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

  test('after a refresh was tried a token that is valid still is served, else it is said when to ask again', () => {
    const judge = (more: Partial<StoredToken>, triedUntil = 0) => judgeToken(stored(more), NOW, triedUntil)
    expect(judge(last).is).toBe('good')
    expect(judge({ ...last, metadataDue: true }).is).toBe('unidentified')
    expect(judge(expired)).toEqual({ is: 'later', at: NOW + 2_000 })
    expect(judge(expired, NOW + 60_000)).toEqual({ is: 'later', at: NOW + 60_000 })
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

/** A server of tokens and its account, connected just now. */
async function seeded(refresh: ProviderClient['refresh'] = async () => tokens('access-2'), open: typeof world = world) {
  const w = await open({ provider: { refresh } })
  const account = open === world ? await w.account() : accountIn(w.services)
  const served = accessTokensOf(w)
  return { ...w, ...account, accessTokens: served, ask: () => askOf(served) }
}

/** `AccessTokens` of this daemon, some of what they ask another thing. */
function accessTokensOf({ services }: World, more: Partial<ConstructorParameters<typeof AccessTokens>[0]> = {}) {
  const { tokens: stored, vault, clock } = services
  return new AccessTokens({
    tokens: stored,
    vault,
    clock,
    refresh: (hubId, version) => refreshTokensOf(services, hubId, { refused: version }),
    identify: () => Promise.reject(new Error('not to be asked')),
    ...more,
  })
}

async function askOf(accessTokens: AccessTokens) {
  const answer = await accessTokens.serve(HUB, 'billing')
  return answer.is === 'served' ? answer.token.reveal() : answer.is
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
    const refusing = accessTokensOf(s, { refresh: () => Promise.reject(new Error('OOM command not allowed')) })
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
    const own = s.services.tokens
    let reads = 0
    const reading = {
      read: async (hubId: number) => {
        const stored = await own.read(hubId)
        if (reads++ === 0) await s.refresh(SEEDED_VERSION)
        return stored
      },
      noteServed: own.noteServed.bind(own),
    }
    const refresh = () => Promise.reject(new Error('not to be called'))
    expect(await askOf(accessTokensOf(s, { tokens: reading, refresh }))).toBe('access-2')
  })

  test('of an account that is uninstalled between reading and serving is served to nobody', async () => {
    const s = await seeded()
    const stored = await s.services.tokens.read(HUB)
    await beginUninstall(s.services, HUB, { by: 'api', reason: 'asked' })
    const noted = await s.services.tokens.noteServed(HUB, stored?.version ?? '', 1, 'billing')
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
    const other = await seeded(async () => tokens('not this one'), worker.beside)
    const first = worker.ask()
    await slow.asked
    const second = other.ask()
    slow.answer(answer)
    expect(await first).toBe(served)
    expect(await passTime(other.clock, second)).toBe(served)
    expect(other.provider.calls).toEqual([])
  })

  test('that died, the account is taken over once its claim has ended', async () => {
    const s = await expired()
    await claimRefresh(s.store, s.keys, HUB, 50)
    expect(await passTime(s.clock, s.ask())).toBe('access-2')
    expect(s.provider.calls).toHaveLength(1)
  })

  test('and goes on holding it, who asks is sent away after twelve seconds', async () => {
    const s = await expired()
    await claimRefresh(s.store, s.keys, HUB, 55_000)
    const begun = s.clock.now()
    expect(await passTime(s.clock, s.ask())).toBe('later')
    expect(s.clock.now() - begun).toBeGreaterThanOrEqual(12_000)
    expect(s.clock.now() - begun).toBeLessThan(30_000)
    expect(s.provider.calls).toEqual([])
  })
})

describe('of an account whose metadata was never read', () => {
  /** `identify` as the test says, on an account that is marked. */
  async function unread(identify: (s: World) => Promise<'asked' | 'later'>) {
    const s = await seeded()
    await s.store.hset(s.keys.own(HUB), 'metadataDue', '1')
    const asked: number[] = []
    const accessTokens = accessTokensOf(s, {
      identify: (hubId) => {
        asked.push(hubId)
        return identify(s)
      },
    })
    const ask = async () => {
      const answer = await accessTokens.serve(HUB, 'billing')
      return answer.is === 'served' ? answer.token.reveal() : answer
    }
    return { ...s, accessTokens, asked, ask }
  }
  const known = async ({ store, keys }: World) => {
    await store.hdel(keys.own(HUB), 'metadataDue')
    return 'asked' as const
  }

  test('the provider is asked whose it is, once for all who ask, and then it is served', async () => {
    const s = await unread(known)
    expect(new Set(await Promise.all(Array.from({ length: 50 }, s.ask)))).toEqual(new Set(['access-1']))
    expect(s.asked).toEqual([HUB])
    expect(await s.ask()).toBe('access-1')
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
    const s = await unread(async (one) => {
      await answer.promise
      return known(one)
    })
    expect(await passTime(s.clock, s.ask())).toMatchObject({ is: 'unidentified' })
    const stopped = s.accessTokens.stop(8_000)
    answer.resolve('asked')
    await stopped
    expect(await s.ask()).toBe('access-1')
    await s.store.hset(s.keys.own(HUB), 'metadataDue', '1')
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
    await putAccess(s.store, s.keys, strange.seal(new Secret('x'), HUB, 'access'), HUB)
    expect(await s.ask()).toBe('access-2')
    expect(s.provider.calls).toEqual([['refresh', 'refresh-1']])
  })

  test('beside a refresh token that none opens either names the key, and when to ask again', async () => {
    const s = await seeded()
    for (const field of ['access', 'refresh'] as const) {
      await putToken(s.store, s.keys, field, strange.seal(new Secret('x'), HUB, field), HUB)
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
