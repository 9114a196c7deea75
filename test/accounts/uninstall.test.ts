import { describe, expect, test } from 'vitest'
import { connectWithCode } from '../../src/accounts/connect-account.ts'
import { beginUninstall, purgeAccount } from '../../src/accounts/uninstall.ts'
import { encodeState } from '../../src/alerts/alert-state.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import { retryAfterMs } from '../../src/runtime/retry-after.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { dump, REFRESH_CLAIM_MS, seedAccount, vault } from '../support/accounts.ts'
import { changePolls } from '../support/changed-polls.ts'
import { failure, slowAnswer, tokens } from '../support/fake-provider.ts'
import { HandClock } from '../support/hand-clock.ts'
import { uninstallNow } from '../support/uninstall-now.ts'
import { accountIn, HUB, type World, worldOfFile } from '../support/world.ts'
import { KEEP_MS, metadata } from './connected.ts'

const world = worldOfFile()

/** What a `Retry-After` header makes of a failure. */
const told = (header: string) => ({ retryAfterMs: retryAfterMs(header, new HandClock().now()) ?? 0 })
const DELETED = { ok: true, value: 'deleted' } as const

/** A connected account with everything an account can have. */
async function installed(
  deleteRefreshToken: ProviderClient['deleteRefreshToken'] = async () => DELETED,
  settings: Record<string, object> = {},
) {
  const does = { exchangeCode: async () => tokens('access-2', 'refresh-2'), metadata: async () => metadata() }
  const w = await world({ settings, provider: { deleteRefreshToken, ...does } })
  const account = await w.account()
  const { store, keys, clock, services } = w
  await store.hset(keys.own(HUB), { user: 'ada@acme.example.com' })
  await changePolls(store, keys, HUB, { polledAt: clock.now() })
  await store.set(keys.account(HUB).samples, 'x')
  await store.rpush(keys.account(HUB).history, 'x')
  return {
    ...w,
    ...account,
    registry: services.registry,
    begin: () => beginUninstall(services, HUB, { by: 'cli', reason: 'asked by ops' }),
    run: (more: Partial<typeof services> = {}) => uninstallNow({ ...services, ...more }, HUB),
    when: () => Promise.all((['refresh', 'poll', 'uninstall'] as const).map(account.dueAt)),
    connectAgain: () => seedAccount(store, keys, { obtainedAt: clock.now(), refreshToken: 'refresh-new' }),
    /** Refresh tokens that were deleted, or were to be. */
    deleted: () => w.provider.calls.filter(([name]) => name === 'deleteRefreshToken').map(([, token]) => token),
  }
}

/** A refresh of the account that the provider has been asked for. */
async function refreshUnderWay({ beside, store, keys }: World) {
  const slow = slowAnswer()
  const other = await beside({ provider: { refresh: slow.refresh } })
  const version = (await store.hget(keys.own(HUB), 'version')) ?? ''
  const refreshing = accountIn(other.services).refresh(version)
  await slow.asked
  return { refreshing, answer: slow.answer }
}

describe('an uninstall that begins', () => {
  test('stops everything at once, and only the refresh token is left, to be deleted', async () => {
    const one = await installed()
    one.clock.move(1_000)
    expect(await one.begin()).toBe('begun')
    expect(await one.read()).toMatchObject({
      state: 'uninstalling',
      uninstall: { reason: 'asked by ops', at: null, failure: null },
    })
    expect(await one.tokens()).toEqual({
      access: undefined,
      refresh: 'refresh-1',
      previous: undefined,
    })
    expect(await one.when()).toEqual([null, null, one.clock.now()])
    expect(one.provider.calls).toEqual([])
  })

  test('closes its open alerts in the same step; what was only pending goes without a word', async () => {
    const one = await installed()
    const state = { rule: 'r', since: 1, transitions: 2, sentAt: 1, pending: null }
    await one.store.hset(one.keys.account(HUB).alerts, {
      overall: encodeState({ ...state, level: 'critical', lastSent: { level: 'critical', usage: 960, at: 1 } }),
      'at/0-1/0-2': encodeState({
        ...state,
        level: 'ok',
        lastSent: null,
        pending: { warning: 1, critical: 0, sinceFirstReading: false },
      }),
    })
    await one.store.sadd(one.keys.alerting, HUB)
    await one.begin()
    expect(await one.outbox()).toMatchObject([
      {
        status: 'resolved',
        reason: 'uninstalled',
        series: { metric: 'customProperties.overall' },
        message: expect.stringContaining('uninstalled'),
        url: 'https://plimsoll.example.com/accounts/123',
      },
    ])
    expect(await one.store.exists(one.keys.account(HUB).alerts)).toBe(0)
    expect(await one.registry.alerting()).toEqual([])
  })

  test('twice begins once; of an account that is not there says so', async () => {
    const one = await installed()
    const begun = await Promise.all([one.begin(), one.begin(), one.begin()])
    expect(begun.sort()).toEqual(['already', 'already', 'begun'])
    expect(await beginUninstall(one.services, 999, { by: 'cli', reason: 'x' })).toBe('unknown')
    expect(await one.store.exists(one.keys.account(999).account)).toBe(0)
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
    const account = await one.read()
    expect(account).toMatchObject({
      state: 'uninstalled',
      hubDomain: 'acme.example.com',
      user: null,
      polledAt: askedAt,
      uninstall: {
        reason: 'asked by ops',
        by: 'cli',
        askedAt,
        attempts: 1,
        failure: null,
        failureAt: null,
        at: one.clock.now(),
        ending: 'deleted',
        purgeAt: one.clock.now() + KEEP_MS,
      },
    })
    const { tokens: tokenKey, poll, history } = one.keys.account(HUB)
    expect(await one.store.exists(tokenKey)).toBe(0)
    expect(await one.store.exists(poll, history)).toBe(2)
    expect(await one.when()).toEqual([null, null, one.clock.now() + KEEP_MS])
  })

  test('that the provider fails is tried again later and later, at most an hour, until it works', async () => {
    let answer: Awaited<ReturnType<ProviderClient['deleteRefreshToken']>> = failure('transient', { message: 'a 503' })
    const one = await installed(async () => answer)
    await one.begin()
    const waits: number[] = []
    for (let attempt = 0; attempt < 14; attempt++) {
      expect(await one.run()).toMatchObject({ is: 'failed' })
      waits.push(Number(await one.dueAt('uninstall')) - one.clock.now())
      one.clock.move(waits.at(-1) ?? 0)
    }
    expect([waits.slice(0, 4), Math.max(...waits)]).toEqual([[2_000, 4_000, 8_000, 16_000], 3_600_000])
    expect(one.logged.text()).toContain('uninstall.failed')
    expect(one.logged.text()).not.toMatch(/refresh-1|access-1/)
    expect(await one.read()).toMatchObject({ state: 'uninstalling', uninstall: { failure: 'a 503' } })
    answer = DELETED
    expect(await one.run()).toEqual({ is: 'finished' })
    const uninstall = { failure: 'a 503', attempts: 15, ending: 'deleted' }
    expect(await one.read()).toMatchObject({ state: 'uninstalled', uninstall })
  })

  test('of two workers at once deletes once', async () => {
    const one = await installed()
    await one.begin()
    const outcomes = await Promise.all([one.run(), one.run(), one.run()])
    expect(one.provider.calls).toHaveLength(1)
    expect(outcomes.filter(({ is }) => is === 'finished').length).toBeGreaterThanOrEqual(1)
    expect(await one.read()).toMatchObject({ state: 'uninstalled' })
  })

  test('whose token is encrypted anew just while it is deleted copes: it looks again, and is finished', async () => {
    const deletions: string[] = []
    const one = await installed(async (token) => {
      deletions.push(token.reveal())
      if (deletions.length > 1) return { ok: true, value: 'was-gone' }
      const { tokens: key, access } = one.keys.account(HUB)
      const before = (await one.store.hgetBuffer(key, 'refresh')) ?? ''
      const anew = vault.seal(new Secret('refresh-1'), HUB, 'refresh')
      expect(await one.store.rekeyAccount(key, access, 'refresh', before, anew)).toBe(1)
      return DELETED
    })
    await one.begin()
    expect(await one.run()).toMatchObject({ is: 'again' })
    expect(await one.dueAt('uninstall')).toBe(one.clock.now())
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(deletions).toEqual(['refresh-1', 'refresh-1'])
    expect(await one.store.exists(one.keys.account(HUB).tokens)).toBe(0)
  })

  test('deletes also the newer token that a refresh under way brings', async () => {
    const one = await installed()
    const { refreshing, answer } = await refreshUnderWay(one)
    await one.begin()
    // The worker's claim runs out while it waits, so that the uninstall gets its turn.
    one.clock.move(REFRESH_CLAIM_MS + 1)
    expect(await one.run()).toEqual({ is: 'finished' })
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'gone' })
    expect(await one.dueAt('uninstall')).not.toBeNull()
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(one.deleted()).toEqual(['refresh-1', 'refresh-2'])
    expect(await one.store.exists(one.keys.account(HUB).tokens)).toBe(0)
  })

  test('deletes each token that may be alive, though a refresh under way brings one to two', async () => {
    const one = await installed()
    const { refreshing, answer } = await refreshUnderWay(one)
    const sealed = vault.seal(new Secret('refresh-0'), HUB, 'refresh')
    await one.store.hset(one.keys.account(HUB).tokens, 'previous', sealed)
    await one.begin()
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'gone' })
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(one.deleted().sort()).toEqual(['refresh-0', 'refresh-1', 'refresh-2'])
  })

  test('is called off by connecting again, which keeps its new token', async () => {
    const one = await installed()
    await one.begin()
    await one.connectAgain()
    expect(await one.run()).toEqual({ is: 'reconnected' })
    expect(one.provider.calls).toEqual([])
    expect(await one.read()).toMatchObject({ state: 'active', uninstall: null })
    expect(await one.tokens()).toMatchObject({ refresh: 'refresh-new' })
  })

  test.each([
    ['that works', DELETED],
    ['that fails', failure('transient')],
  ])(
    'by a deletion %s just while the account is connected again forgets nothing of the new connection',
    async (_, answer) => {
      let reconnect = async () => {}
      const one = await installed(async () => {
        await reconnect()
        return answer
      })
      reconnect = one.connectAgain
      await one.begin()
      expect(await one.run()).toMatchObject({ is: 'reconnected' })
      expect(await one.read()).toMatchObject({ state: 'active', uninstall: null })
      expect(await one.tokens()).toMatchObject({ refresh: 'refresh-new', access: 'access-1' })
      expect(await one.dueAt('uninstall')).toBeNull()
      // It may have been the very token that was deleted: a refresh now tells.
      expect(await one.dueAt('refresh')).toBe(one.clock.now())
    },
  )

  test('whose token no key opens names the key, and ends once that is back', async () => {
    const one = await installed()
    await one.begin()
    const others = createVault([{ id: 'k2', key: Buffer.alloc(32, 2) }])
    expect(await one.run({ vault: others })).toEqual({ is: 'failed', announced: false })
    const uninstall = { attempts: 1, failure: 'no key with the id k1 is configured: add it to encryption.keys' }
    expect(await one.read()).toMatchObject({ state: 'uninstalling', uninstall })
    expect(one.provider.calls).toEqual([])
    one.clock.move(3_600_000)
    expect(await one.run({ vault: others })).toEqual({ is: 'failed', announced: true })
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(one.deleted()).toEqual(['refresh-1'])
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
    answer = DELETED
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(await one.registry.alerting()).toEqual([])
    expect(await one.outbox()).toMatchObject([
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
    await connectWithCode(one.services, new Secret('code'))
    expect((await one.outbox()).at(-1)).toMatchObject({ rule: 'uninstall', status: 'resolved' })
    expect(await one.registry.alerting()).toEqual([])
    expect(await one.read()).toMatchObject({ state: 'active', uninstall: null })
  })
})

describe('an account that was uninstalled', () => {
  async function gone() {
    const one = await installed()
    await one.begin()
    await one.run()
    return { ...one, purge: () => purgeAccount(one.services, HUB) }
  }
  /** Everything that is left of the account, in any key, but for the numbers of accounts that came and went. */
  async function leftOf({ store, keys }: World): Promise<string[]> {
    const names = Object.keys(await dump(store, keys))
    return names.filter((name) => !/:(account-log|account-events|fleet|account:123)$/.test(name))
  }

  test('is kept until its time is over, then everything of it is forgotten', async () => {
    const one = await gone()
    one.clock.move(KEEP_MS - 1)
    expect(await one.run()).toEqual({ is: 'kept' })
    expect((await one.when())[2]).toBe(one.clock.now() + 1)
    one.clock.move(1)
    for (const key of Object.values(one.keys.account(HUB))) {
      if ((await one.store.exists(key)) === 0) await one.store.set(key, 'whatever it may be')
    }
    expect(await one.run()).toEqual({ is: 'purged' })
    expect(await leftOf(one)).toEqual([])
    expect(await one.run()).toEqual({ is: 'unknown' })
    expect(await leftOf(one)).toEqual([])
  })

  test('is forgotten right away where nothing is to be kept', async () => {
    const one = await installed(undefined, { uninstall: { keep: 0 } })
    await one.begin()
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(await leftOf(one)).toEqual([])
  })

  test('and is connected again comes back with its history, and nothing of the uninstall', async () => {
    const one = await gone()
    one.clock.move(1_000)
    await one.connectAgain()
    expect(await one.store.llen(one.keys.account(HUB).history)).toBe(1)
    const account = await one.read()
    expect(account).toMatchObject({ state: 'active', uninstall: null, connectedAt: one.clock.now() })
    expect(account?.firstConnectedAt).toBe(one.clock.now() - 1_000)
    expect(await one.store.hkeys(one.keys.own(HUB))).not.toContain('purgeAt')
    expect((await one.when())[2]).toBeNull()
  })

  test('is not forgotten by a worker that comes late: it was connected again, or is uninstalled once more', async () => {
    const one = await gone()
    one.clock.move(KEEP_MS)
    await one.connectAgain()
    expect(await one.purge()).toBe('reconnected')
    expect(await one.tokens()).toMatchObject({ refresh: 'refresh-new' })
    await one.begin()
    expect(await one.purge()).toBe('kept')
    expect((await one.when())[2]).toBe(one.clock.now())
    await one.run()
    expect(await one.purge()).toBe('kept')
    expect(await one.read()).toMatchObject({ state: 'uninstalled' })
  })
})

describe('a refresh that comes back after the account was forgotten', () => {
  /** A refresh whose worker stalls for longer than its claim, while the account is uninstalled and forgotten. */
  async function stalled() {
    const one = await installed()
    const { refreshing, answer } = await refreshUnderWay(one)
    await one.begin()
    one.clock.move(REFRESH_CLAIM_MS + 1)
    const forgetting = { ...one.services, uninstallKeepMs: 0 }
    expect(await uninstallNow(forgetting, HUB)).toEqual({ is: 'finished' })
    return { ...one, forgetting, end: () => answer(tokens('access-2', 'refresh-2')), refreshing }
  }

  test('has its rotated token deleted too, and the account is forgotten again', async () => {
    const one = await stalled()
    one.end()
    expect(await one.refreshing).toEqual({ is: 'gone' })
    expect(await one.read()).toMatchObject({ state: 'uninstalling' })
    expect(await uninstallNow(one.forgetting, HUB)).toEqual({ is: 'finished' })
    expect(one.deleted()).toEqual(['refresh-1', 'refresh-2'])
    expect(await one.registry.get(HUB)).toBeUndefined()
  })

  test('writes nothing over the tokens of a new connection', async () => {
    const one = await stalled()
    await one.connectAgain()
    one.end()
    expect(await one.refreshing).toEqual({ is: 'lost' })
    expect(await one.tokens()).toMatchObject({ refresh: 'refresh-new', access: 'access-1' })
  })
})

describe('an uninstall by evidence', () => {
  async function refused() {
    const one = await installed(async () => ({ ok: true, value: 'was-gone' }))
    const { account } = one.keys.account(HUB)
    const since = one.clock.now()
    await one.store.hset(account, { state: 'reauthorize', rejectedAt: since })
    const request = { by: 'evidence' as const, reason: 'refresh token refused', refusedSince: since }
    return { ...one, account, since, ask: () => beginUninstall(one.services, HUB, request) }
  }

  test('is void once the account is connected again, also if the new token is refused by now', async () => {
    const one = await refused()
    await one.connectAgain()
    expect(await one.ask()).toBe('refuted')
    await one.store.hset(one.account, { state: 'reauthorize', rejectedAt: one.since + 1 })
    expect(await one.ask()).toBe('refuted')
    expect(await one.tokens()).toMatchObject({ refresh: 'refresh-new', access: 'access-1' })
  })
})
