import { describe, expect, test } from 'vitest'
import { refreshTokens } from '../../jobs/refresh-tokens.ts'
import { identifyAccount } from '../../src/accounts/identify-account.ts'
import { tokenDrift } from '../../src/accounts/identity.ts'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import { seedAccount } from '../support/accounts.ts'
import { failure, slowAnswer, tokens } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { uninstallNow } from '../support/uninstall-now.ts'
import { accountIn, HUB, worldOfFile } from '../support/world.ts'
import { metadata } from './connected.ts'

const world = worldOfFile()
const LIFE = 1_800_000

/** An account that was imported and has been refreshed once since. */
async function unread(ask: ProviderClient['metadata'], hubIds = [HUB]) {
  const deleteRefreshToken = async () => ({ ok: true as const, value: 'deleted' as const })
  const w = await world({ provider: { metadata: ask, deleteRefreshToken } })
  const { services } = w
  for (const hubId of hubIds) {
    await w.account({ hubId, hubDomain: 'imported.example.com' })
    await w.store.hset(w.keys.own(hubId), 'metadataDue', '1')
  }
  return {
    ...w,
    ...accountIn(services),
    deps: services,
    due: services.due,
    registry: services.registry,
    isDue: async (hubId = HUB) => (await services.polls.loadOne(hubId))?.record?.metadataDue,
    read: async (hubId = HUB) => identifyAccount(services, hubId),
  }
}

describe('the metadata of an imported account', () => {
  test('is stored: domain, user, scopes; the mark goes', async () => {
    const one = await unread(async () => metadata({ scopes: ['oauth', 'tickets'], hublet: 'eu1', lifeLeftMs: LIFE }))
    expect(await one.isDue()).toBe(true)
    expect(await one.read()).toEqual({ is: 'stored', alerted: false })
    expect(one.provider.calls).toEqual([['metadata', 'access-1']])
    expect(await one.isDue()).toBe(false)
    expect(await one.registry.get(HUB)).toMatchObject({
      hubDomain: 'acme.example.com',
      hublet: 'eu1',
      user: 'ada@acme.example.com',
      state: 'active',
      token: { driftMs: null },
    })
    expect(await one.registry.grantedScopes(HUB)).toEqual(['oauth', 'tickets'])
    expect(await one.outbox()).toEqual([])
  })

  test('leaves an account to the worker that refreshes it', async () => {
    const slow = slowAnswer()
    const w = await world({ provider: { metadata: async () => metadata(), refresh: slow.refresh } })
    await w.account({ hubDomain: '' })
    w.clock.move(25 * 60_000)
    const refreshing = accountIn(w.services).refresh()
    await slow.asked
    expect(await identifyAccount(w.services, HUB)).toMatchObject({ is: 'stored' })
    slow.answer(tokens('access-2'))
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    expect(Number(await w.store.zscore(w.keys.due.refresh, HUB)) % 1).toBe(0)
  })

  test('keeps the domain of the file where the provider tells none', async () => {
    const one = await unread(async () => metadata({ hubDomain: undefined, user: undefined }))
    expect(await one.read()).toMatchObject({ is: 'stored' })
    expect(await one.registry.get(HUB)).toMatchObject({ hubDomain: 'imported.example.com' })
  })

  test('opens the alert about scopes that do not let limits be read, in the same step', async () => {
    const one = await unread(async () => metadata({ scopes: ['oauth'] }))
    expect(await one.read()).toMatchObject({ is: 'stored', alerted: true })
    expect(await one.outbox()).toMatchObject([
      { kind: 'poll', status: 'firing', account: { hubId: HUB, hubDomain: 'acme.example.com' } },
    ])
    expect(await one.registry.alerting()).toEqual([HUB])
  })

  test('that gives the token less life moves its end and its next refresh', async () => {
    const one = await unread(async () => metadata({ lifeLeftMs: 600_000 }))
    const now = one.clock.now()
    expect(await one.due.when('refresh', HUB)).toBeGreaterThan(now + 600_000)
    await one.read()
    expect(await one.registry.get(HUB)).toMatchObject({ token: { expiresAt: now + 600_000, driftMs: 600_000 - LIFE } })
    expect(await one.due.when('refresh', HUB)).toBeLessThanOrEqual(now + 480_000)
  })

  test('is asked through the door of the token endpoint: not while that is closed', async () => {
    const one = await unread(async () => metadata())
    await one.deps.endpoint.failed(456, failure('transient', { status: 429, retryAfterMs: 30_000 }).failure)
    expect(await one.read()).toEqual({ is: 'later' })
    expect(one.provider.calls).toEqual([])
    one.clock.move(31_000)
    expect(await one.read()).toMatchObject({ is: 'stored' })
  })

  test('that is answered 429 closes that door for everybody, and is read later', async () => {
    const one = await unread(async () => failure('transient', { status: 429, retryAfterMs: 30_000 }))
    expect(await one.read()).toEqual({ is: 'later' })
    expect(await one.deps.endpoint.enter()).toMatchObject({ is: 'closed' })
    expect(await one.isDue()).toBe(true)
    expect(one.logged.text()).toContain('metadata.failed')
  })

  test('once known has the account polled at once, and refreshed as planned', async () => {
    const one = await unread(async () => metadata())
    const { due } = one.keys
    const planned = Number(await one.due.when('refresh', HUB))
    await one.store.zrem(due.poll, HUB)
    await one.store.zadd(due.refresh, one.clock.now() + 15_000, HUB)
    await one.read()
    expect(await one.due.when('poll', HUB)).toBe(one.clock.now())
    expect(Math.abs(Number(await one.due.when('refresh', HUB)) - planned)).toBeLessThan(600_000)
    expect(await one.due.when('refresh', HUB)).toBeGreaterThan(one.clock.now() + 600_000)
  })

  test('that was stored meanwhile plans no second poll over the one in hand', async () => {
    const slow = Promise.withResolvers<void>()
    const answers = [slow.promise, Promise.resolve()]
    const one = await unread(async () => {
      await answers.shift()
      return metadata()
    })
    const second = one.read()
    await eventually('the provider is asked', async () => one.provider.calls.length === 1)
    expect(await one.read()).toMatchObject({ is: 'stored' })
    const [claimed, ...others] = await one.due.claim('poll', 64, 60_000)
    expect([claimed?.hubId, others]).toEqual([HUB, []])
    slow.resolve()
    expect(await second).toEqual({ is: 'known' })
    const { due } = one.keys
    expect(Number(await one.store.zscore(due.poll, HUB))).toBe(claimed?.claim)
  })

  test('of tokens that somebody replaced meanwhile is not stored', async () => {
    const one = await unread(async () => {
      await one.store.hincrby(one.keys.account(HUB).account, 'version', 1)
      return metadata({ hubDomain: 'other.example.com' })
    })
    expect(await one.read()).toEqual({ is: 'lost' })
    expect(await one.registry.get(HUB)).toMatchObject({ hubDomain: 'imported.example.com' })
    expect(await one.isDue()).toBe(true)
  })
})

test('an account without a domain is asked for it after its next refresh, and polled as planned', async () => {
  const w = await world({
    provider: { metadata: async () => metadata(), refresh: async () => tokens('access-2') },
  })
  await w.account({ hubId: HUB, hubDomain: '' })
  const { registry, due } = w.services
  w.clock.move(LIFE * 0.85)
  const polledNext = await due.when('poll', HUB)
  await refreshTokens(w.services, new AbortController().signal)
  expect((await registry.get(HUB))?.hubDomain).toBe('acme.example.com')
  expect((await w.services.polls.loadOne(HUB))?.hubDomain).toBe('acme.example.com')
  expect(await due.when('poll', HUB)).toBe(polledNext)
  w.clock.move(LIFE * 0.85)
  await refreshTokens(w.services, new AbortController().signal)
  expect(w.provider.calls.map(([name]) => name)).toEqual(['refresh', 'metadata', 'refresh'])
})

describe('a token that belongs to another account', () => {
  const foreign = async () => {
    const one = await unread(async () => metadata({ hubId: 456 }))
    // Its tokens had troubles of their own before.
    await one.store.hset(one.keys.own(HUB), { rejectedAt: 1, retryAt: 2, parkedUntil: 3 })
    one.clock.move(1_000)
    expect(await one.read()).toEqual({ is: 'foreign' })
    return one
  }

  test('ends polling and refreshing under the wrong name, and says whose it is', async () => {
    const one = await foreign()
    expect(await one.registry.get(HUB)).toMatchObject({
      state: 'reauthorize',
      hubDomain: 'imported.example.com',
      refusedSince: null,
      parkedUntil: null,
      refreshFailure: { class: 'foreign', reason: 'its refresh token belongs to account 456', at: one.clock.now() },
    })
    expect(await one.due.when('poll', HUB)).toBeNull()
    expect(await one.due.when('refresh', HUB)).toBeNull()
    expect(await one.services.tokens.claimOne(HUB, 60_000)).toMatchObject({ context: 'gone' })
    expect(await one.tokens()).toMatchObject({ access: undefined, refresh: 'refresh-1' })
    expect(await one.outbox()).toMatchObject([
      {
        kind: 'token',
        level: 'critical',
        status: 'firing',
        cause: 'foreign',
        message: expect.stringContaining('belongs to account 456'),
      },
    ])
    expect(one.logged.lines()).toMatchObject([{ level: 'error', code: 'token.foreign', hubId: HUB, owner: 456 }])
    expect(await one.store.exists(one.keys.account(456).account)).toBe(0)
  })

  test('is not deleted at the provider when the wrong account is uninstalled', async () => {
    const one = await foreign()
    await beginUninstall(one.deps, HUB, { by: 'cli', reason: 'a mistake' })
    expect(await uninstallNow(one.deps, HUB)).toEqual({ is: 'finished' })
    expect(one.provider.calls.map(([name]) => name)).toEqual(['metadata'])
  })

  test('is forgotten when the account is connected again', async () => {
    const one = await foreign()
    await seedAccount(one.store, one.keys, { obtainedAt: one.clock.now() })
    expect(await one.services.tokens.claimOne(HUB, 60_000)).toMatchObject({ context: { state: 'active' } })
    expect(await one.registry.get(HUB)).toMatchObject({ state: 'active', refreshFailure: null })
    expect(await one.isDue()).toBe(false)
  })
})

const OBTAINED = 1_763_719_200_000
const TIMES = { obtainedAt: OBTAINED, expiresAt: OBTAINED + LIFE }

/** The provider is asked a minute after the token came and answers `told` seconds. */
function drift(told: number | undefined, callMs = 0) {
  const askedAt = OBTAINED + 60_000
  const lifeLeftMs = told === undefined ? undefined : told * 1_000
  return tokenDrift(TIMES, { askedAt, answeredAt: askedAt + callMs, lifeLeftMs })
}

test.each([
  ['agrees within its whole seconds', drift(1738), null, LIFE],
  ['agrees within its whole seconds', drift(1742), null, LIFE],
  ['is not told', drift(undefined), null, LIFE],
  ['is blurred by a slow answer', drift(1730, 9_000), null, LIFE],
  ['is longer, and not believed', drift(1800), 60_000, LIFE],
  ['is shorter by a few seconds, and not believed', drift(1735), -5_000, LIFE],
  ['is shorter, and believed', drift(1734), -6_000, LIFE - 6_000],
  ['is nothing, and leaves a life to plan with', drift(-60), -LIFE, 1_000],
])("the provider's count of a token's life %s", (_, { driftMs, times }, wanted, life) => {
  expect([driftMs, times]).toEqual([wanted, { obtainedAt: OBTAINED, expiresAt: OBTAINED + life }])
})
