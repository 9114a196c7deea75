import { describe, expect, test } from 'vitest'
import { uninstallAfterRefusal } from '../../src/accounts/uninstall.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { refreshTokensOf } from '../../src/tokens/refresh-account.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { dump, REFRESH_CLAIM_MS, SEEDED_VERSION } from '../support/accounts.ts'
import { failure, tokens } from '../support/fake-provider.ts'
import { accountIn, HUB, type World } from '../support/world.ts'
import { type Answered, DAY, LIFE, MINUTE, refreshesOfFile } from './a-refresh.ts'

const { connected, due, underWay } = refreshesOfFile()

/** From now on the account is due, whatever its plan says. */
const makeDue = ({ store, keys }: World) => store.zadd(keys.due.refresh, 1, HUB)

describe('an account of which nobody knows whose it is', () => {
  test('is not polled, and comes up each time after as long again as it has waited until its next refresh', async () => {
    const w = await connected(async () => tokens('access-2', undefined, LIFE))
    const { due: dueSets } = w.keys
    await w.store.hset(w.keys.own(HUB), { metadataDue: '1', obtainedAt: 0, expiresAt: 0 })
    await w.store.zrem(dueSets.poll, HUB)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed', isUnidentified: true })
    const begun = w.clock.now()
    const waits: number[] = []
    for (let is = ''; is !== 'refreshed'; ) {
      waits.push(Number(await w.dueAt('refresh')) - w.clock.now())
      w.clock.move(waits.at(-1) ?? 0)
      is = (await w.refresh()).is
    }
    expect(waits.slice(0, 6)).toEqual([15, 15, 30, 60, 120, 240].map((seconds) => seconds * 1_000))
    expect((w.clock.now() - begun) / LIFE).toBeGreaterThan(0.5)
    expect((w.clock.now() - begun) / LIFE).toBeLessThan(0.8)
    expect(await w.dueAt('poll')).toBeNull()
  })
})

describe('a refresh', () => {
  test('redeems the stored token and stores what comes, its life counted from when the request was sent', async () => {
    const { refreshing, answer, ...w } = await underWay()
    const sentAt = w.clock.now()
    w.clock.move(8_000)
    answer(tokens('access-2', 'refresh-2', LIFE))
    const lateMs = expect.any(Number)
    expect(await refreshing).toEqual({
      is: 'refreshed',
      isUnidentified: false,
      lateMs,
      expired: false,
      unstoredMs: 0,
      leftMs: 300_000,
    })
    expect(w.provider.calls).toEqual([['refresh', 'refresh-1']])
    expect(await w.tokens()).toEqual({ access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' })
    expect(await w.record()).toMatchObject({
      state: 'active',
      version: '1000001',
      obtainedAt: `${sentAt}`,
      expiresAt: `${sentAt + LIFE}`,
      refreshedAt: `${sentAt}`,
    })
    const next = (Number(await w.dueAt('refresh')) - sentAt) / LIFE
    expect(next).toBeGreaterThanOrEqual(0.5)
    expect(next).toBeLessThanOrEqual(0.8)
    expect(await w.underWay()).toBeUndefined()
  })

  test.each([undefined, 'refresh-1'])(
    'whose answer has %s for a refresh token keeps the one there is',
    async (same) => {
      const w = await due(async () => tokens('access-2', same))
      expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
      expect(await w.tokens()).toEqual({ access: 'access-2', refresh: 'refresh-1', previous: undefined })
    },
  )

  test('that is not due asks nobody, gives the claim back and puts the account where its plan says', async () => {
    const w = await connected(async () => tokens('access-2'))
    const planned = Number(await w.dueAt('refresh'))
    await makeDue(w)
    w.clock.move(MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'fresh' })
    expect(w.provider.calls).toEqual([])
    expect(await w.underWay()).toBeUndefined()
    const again = Number(await w.dueAt('refresh'))
    expect(Math.abs(again - planned)).toBeLessThan(LIFE * 0.3)
    expect(again).toBeGreaterThan(w.clock.now())
  })

  test('of tokens that were refused is made although they look good, once: the ones after them are not those', async () => {
    const w = await connected(async () => tokens('access-2'))
    expect(await w.refresh(SEEDED_VERSION)).toMatchObject({ is: 'refreshed', expired: false })
    expect([(await w.refresh(SEEDED_VERSION)).is, (await w.refresh('0')).is]).toEqual(['fresh', 'fresh'])
    expect(w.provider.calls).toHaveLength(1)
  })

  test('that comes after the token had expired says so', async () => {
    const w = await connected(async () => tokens('access-2'))
    w.clock.move(31 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed', expired: true })
  })

  test('of an account that is not there is nothing', async () => {
    const w = await connected(async () => tokens('access-2'))
    expect(await accountIn(w.services, 999).refresh()).toEqual({ is: 'gone' })
    expect(w.provider.calls).toEqual([])
    expect(await w.store.exists(w.keys.own(999))).toBe(0)
  })
})

/** An account whose failures are told one by one; what the provider says from now on is `says.next`. */
async function answered(first: Answered) {
  const says = { next: first }
  return { ...(await due(async () => says.next)), says }
}

describe('a refresh that fails', () => {
  test('leaves the tokens, says why and when it is tried again, and works later as if nothing had been', async () => {
    const w = await answered(failure('transient', { code: '503', message: 'the provider answered 503' }))
    const outcome = { is: 'failed', state: 'failing', alerted: false, failure: { code: '503' } }
    expect(await w.refresh()).toMatchObject(outcome)
    expect(await w.tokens()).toEqual({ access: 'access-1', refresh: 'refresh-1', previous: undefined })
    const retryAt = w.clock.now() + 1_000
    expect(await w.record()).toMatchObject({
      state: 'failing',
      failures: '1',
      failureClass: 'transient',
      failureReason: 'the provider answered 503',
      failureAt: `${w.clock.now()}`,
      retryAt: `${retryAt}`,
    })
    expect(await w.dueAt('refresh')).toBe(retryAt)
    expect(await w.underWay()).toBeUndefined()
    w.says.next = tokens('access-2')
    w.clock.move(1_000)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
    const record = await w.record()
    expect(record.state).toBe('active')
    const gone = ['failures', 'failureClass', 'failureReason', 'failureAt', 'rejectedAt', 'retryAt', 'parkedUntil']
    expect(Object.keys(record).filter((field) => gone.includes(field))).toEqual([])
    expect(w.codes()).toContain('token.recovered')
    expect(await w.outbox()).toEqual([])
  })

  test('has a next moment that nobody goes ahead of, not even for tokens that were refused', async () => {
    const w = await due(async () => failure('transient', { retryAfterMs: 90_000 }))
    await w.refresh()
    const again = w.clock.now() + 90_000
    await makeDue(w)
    w.clock.move(89_999)
    expect([(await w.refresh()).is, (await w.refresh('1')).is]).toEqual(['fresh', 'fresh'])
    expect(w.provider.calls).toHaveLength(1)
    expect(await w.dueAt('refresh')).toBe(again)
    expect(await w.underWay()).toBeUndefined()
    w.clock.move(1)
    expect(await w.refresh(SEEDED_VERSION)).toMatchObject({ is: 'failed' })
    expect(w.provider.calls).toHaveLength(2)
  })

  test('because the account is told to wait parks it, polls too', async () => {
    const w = await due(async () => failure('parked', { retryAfterMs: 3_600_000 }))
    const until = w.clock.now() + 3_600_000
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'parked' })
    expect(await w.record()).toMatchObject({ state: 'parked', parkedUntil: `${until}` })
    expect([await w.dueAt('refresh'), await w.dueAt('poll')]).toEqual([until, until])
  })

  test('by an exception leaves the account to be refreshed once its claim has ended', async () => {
    let isBroken = true
    const w = await due(async () => {
      if (isBroken) throw new Error('a bug')
      return tokens('access-2')
    })
    await expect(w.refresh()).rejects.toThrow('a bug')
    w.clock.move(REFRESH_CLAIM_MS + 1)
    isBroken = false
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
  })
})

describe('a rotated refresh token', () => {
  /** The first refresh brought a new refresh token; what the provider says of each from now on. */
  async function rotated(says: Record<string, Answered>) {
    const answers: Record<string, Answered> = { 'refresh-1': tokens('access-2', 'refresh-2') }
    const slow = { ms: 0 }
    const w = await due(async (token) => {
      w.clock.move(slow.ms)
      return answers[token.reveal()] ?? failure('rejected')
    })
    await w.refresh()
    expect(await w.tokens()).toMatchObject({ refresh: 'refresh-2', previous: 'refresh-1' })
    Object.assign(answers, says)
    w.provider.calls.length = 0
    w.clock.move(25 * MINUTE)
    return { ...w, answers, slow, asked: () => w.provider.calls.map(([, token]) => token) }
  }

  test.each([
    ['which stays', undefined, 'refresh-1', 'refresh-2'],
    // It may be alive until the new one has worked.
    ['which brings another one', 'refresh-3', 'refresh-3', 'refresh-1'],
  ])('that is refused gives way to the one before, %s', async (_, returned, stored, previous) => {
    const w = await rotated({ 'refresh-2': failure('rejected'), 'refresh-1': tokens('access-3', returned) })
    const sentAt = w.clock.now()
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
    expect(w.asked()).toEqual(['refresh-2', 'refresh-1'])
    expect(await w.tokens()).toEqual({ access: 'access-3', refresh: stored, previous })
    expect(await w.record()).toMatchObject({ state: 'active', version: '1000002', obtainedAt: `${sentAt}` })
    expect(await w.outbox()).toEqual([])
    expect(await w.underWay()).toBeUndefined()
  })

  test('that is refused is what the failure says where the one before is no good either, and both are kept', async () => {
    const w = await rotated({
      'refresh-2': failure('rejected', { message: 'no to the new one' }),
      'refresh-1': failure('rejected', { message: 'no to the old one' }),
    })
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'failing', alerted: false })
    expect(w.asked()).toEqual(['refresh-2', 'refresh-1'])
    expect(await w.record()).toMatchObject({ failureClass: 'rejected', failureReason: 'no to the new one' })
    expect(await w.tokens()).toEqual({ access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' })
    expect(w.codes()).toContain('token.rejected')
    expect(w.logged.text()).not.toMatch(/(?:refresh|access)-[123]/)
    w.clock.move(3 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'reauthorize', alerted: true })
  })

  test('that is refused after nearly all the time that a call may take gives way to the one before all the same', async () => {
    const w = await rotated({ 'refresh-1': tokens('access-3', 'refresh-3') })
    w.slow.ms = 9_000
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
    expect(w.asked()).toEqual(['refresh-2', 'refresh-1'])
  })

  test('that is refused is a failure also where there is no time left for all those before it', async () => {
    const w = await rotated({ 'refresh-1': failure('rejected') })
    const sealed = w.services.vault.seal(new Secret('refresh-0'), HUB, 'refresh')
    await w.store.hset(w.keys.account(HUB).tokens, 'previous2', sealed)
    w.slow.ms = 9_000
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'failing' })
    expect(w.asked()).toEqual(['refresh-2', 'refresh-1'])
    expect(await w.dueAt('refresh')).toBeGreaterThan(w.clock.now())
  })

  test.each(['transient', 'parked', 'client'] as const)(
    'that fails as %s is not refused: the one before is not asked for',
    async (kind) => {
      const w = await rotated({ 'refresh-2': failure(kind), 'refresh-1': tokens('access-3') })
      expect(await w.refresh()).toMatchObject({ is: 'failed', failure: { class: kind } })
      expect(w.asked()).toEqual(['refresh-2'])
    },
  )

  test('has none before it any more once it has worked', async () => {
    const w = await rotated({ 'refresh-2': tokens('access-3') })
    await w.refresh()
    expect(await w.tokens()).toEqual({ access: 'access-3', refresh: 'refresh-2', previous: undefined })
    w.answers['refresh-2'] = failure('rejected')
    w.clock.move(25 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'failed' })
    expect(w.asked()).toEqual(['refresh-2', 'refresh-2'])
  })
})

describe('a refresh token that is refused twice over time', () => {
  test('needs authorisation: one alert, committed with the state, no polls, a look a day until it works after all', async () => {
    const w = await answered(failure('rejected', { code: 'BAD_REFRESH_TOKEN', message: 'token is no good' }))
    const { alerting } = w.keys
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'failing', alerted: false })
    expect(await w.outbox()).toEqual([])
    w.clock.move(3 * MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'reauthorize', alerted: true })
    expect(await w.record()).toMatchObject({ state: 'reauthorize', failures: '2' })
    const at = new Date(w.clock.now()).toISOString()
    const [opened] = await w.outbox()
    expect(await w.outbox()).toEqual([
      {
        id: expect.any(String),
        kind: 'token',
        status: 'firing',
        level: 'critical',
        reason: 'entered',
        rule: 'token',
        account: { hubId: HUB, hubDomain: 'acme.example.com' },
        measuredAt: at,
        since: at,
        message: expect.stringMatching(
          /token is no good.*last worked 2026-11-21 10:00.*plimsoll accounts reconnect-link 123/,
        ),
        url: 'https://plimsoll.example.com/accounts/123',
      },
    ])
    expect(await w.store.smembers(alerting)).toEqual([`${HUB}`])
    expect(await w.dueAt('poll')).toBeNull()
    expect(await w.dueAt('refresh')).toBe(w.clock.now() + DAY)
    expect(await w.tokens()).toMatchObject({ refresh: 'refresh-1' })

    for (let day = 0; day < 3; day++) {
      w.clock.move(DAY)
      expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'reauthorize', alerted: false })
    }
    expect(await w.outbox()).toHaveLength(1)

    w.clock.move(DAY)
    w.says.next = tokens('access-2')
    expect(await w.refresh()).toMatchObject({ is: 'refreshed', expired: false })
    const [, closed] = await w.outbox()
    expect(closed).toMatchObject({ kind: 'token', status: 'resolved', reason: 'recovered', since: at })
    const alertOf = (alert?: Record<string, unknown>) => String(alert?.id).split('-')[0]
    expect(alertOf(closed)).toBe(alertOf(opened))
    expect(closed?.id).not.toBe(opened?.id)
    expect(await w.store.exists(w.keys.account(HUB).alerts)).toBe(0)
    expect(await w.store.smembers(alerting)).toEqual([])
    expect(await w.dueAt('poll')).toBe(w.clock.now())
    expect(await w.record()).toMatchObject({ state: 'active' })
  })

  test('by several workers at once is told once', async () => {
    const w = await due(async () => failure('rejected'))
    await w.refresh()
    w.clock.move(3 * MINUTE)
    await Promise.all(Array.from({ length: 5 }, () => w.refresh()))
    expect(await w.outbox()).toHaveLength(1)
  })
})

describe('a token endpoint that is closed', () => {
  const closed = async (answer: Answered, why: 'transient' | 'rejected') => {
    const w = await due(async () => answer)
    const { endpoint } = w.services
    await endpoint.room(0, 1_000)
    const { failure: one } = failure(why, { status: why === 'transient' ? 503 : 400 })
    await Promise.all(Array.from({ length: 10 }, (_, n) => endpoint.failed(1_000 + n, one)))
    return w
  }

  test('lets the account wait: no claim, no call, nothing changed', async () => {
    const w = await closed(tokens('access-2'), 'transient')
    const before = await dump(w.store, w.keys)
    expect(await w.refresh()).toEqual({ is: 'waiting', until: w.clock.now() + 5_000 })
    expect(w.provider.calls).toEqual([])
    expect(await dump(w.store, w.keys)).toEqual(before)
  })

  test('lets one through as a probe, whose refusal is not held against the account', async () => {
    const w = await closed(failure('rejected'), 'rejected')
    w.clock.move(5_000)
    expect(await w.refresh()).toMatchObject({ is: 'failed', state: 'active', alerted: false })
    const record = await w.record()
    expect(record).toMatchObject({ state: 'active', failures: '0', failureClass: 'rejected' })
    expect(record).not.toHaveProperty('rejectedAt')
    expect(await w.dueAt('refresh')).toBe(w.clock.now() + 5_000 + 500)
  })
})

describe('a refresh token that no key opens', () => {
  /** As after a change of keys that left the old one out. */
  async function locked() {
    const w = await due(async () => tokens('access-2'))
    const vault = createVault([{ id: 'k9', key: Buffer.alloc(32, 9) }])
    return { ...w, refresh: () => refreshTokensOf({ ...w.services, vault }, HUB), unlocked: w.refresh }
  }

  test('is a failure of its account that names the key; the provider is not asked, and nothing of the fleet is told', async () => {
    const w = await locked()
    expect(await w.refresh()).toMatchObject({
      is: 'failed',
      state: 'failing',
      alerted: false,
      rejectedAt: null,
      failure: { class: 'unopened', code: 'vault', message: expect.stringContaining('no key with the id k1') },
    })
    expect(w.provider.calls).toEqual([])
    expect(await w.underWay()).toBeUndefined()
    expect(await w.record()).toMatchObject({ state: 'failing', failures: '1', failureClass: 'unopened' })
    await w.services.endpoint.room(0, undefined)
    const { breaker } = JSON.parse((await w.store.hget(w.keys.fleet, 'endpoint')) ?? '')
    expect(breaker.suspects).toMatchObject({ credentials: [], refused: [], unreachable: [] })
    const said = { code: 'token.unopened', level: 'error', hubId: HUB, reason: 'vault' }
    expect(w.logged.lines().at(-1)).toMatchObject(said)
  })

  test('waits longer each time, is told once its access token has been over for a while, and works with the key', async () => {
    const w = await locked()
    const waits = []
    for (let attempt = 1; attempt <= 10; attempt++) {
      expect(await w.refresh()).toMatchObject({ is: 'failed' })
      const wait = Number(await w.dueAt('refresh')) - w.clock.now()
      waits.push(wait / 1_000)
      w.clock.move(wait)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300])
    const message = expect.stringContaining('no key with the id k1 is configured')
    expect(await w.outbox()).toMatchObject([{ kind: 'token', status: 'firing', message }])
    expect(await w.unlocked()).toMatchObject({ is: 'refreshed' })
    expect(await w.record()).toMatchObject({ state: 'active' })
    expect((await w.outbox()).at(-1)).toMatchObject({ kind: 'token', status: 'resolved' })
  })

  test('of an account that waits to be connected again uninstalls nobody, and is asked of once a day', async () => {
    const w = await locked()
    await w.store.hset(w.keys.own(HUB), { state: 'reauthorize' })
    const outcome = await w.refresh()
    if (outcome.is !== 'failed') throw new Error(outcome.is)
    expect(outcome.state).toBe('reauthorize')
    expect(Number(await w.dueAt('refresh')) - w.clock.now()).toBe(DAY)
    expect(uninstallAfterRefusal({ ...outcome, rejectedAt: 1 }, 1, w.clock.now())).toBeUndefined()
  })
})
