import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readAccount } from '../../src/accounts/account.ts'
import type { PollState, PollTurn } from '../../src/limits/poll-state.ts'
import { NEW_POLL_STATE } from '../../src/limits/poll-state-text.ts'
import { ACCOUNT_STATES, type AccountState } from '../../src/redis/keys.ts'
import { worldOfFile } from '../support/world.ts'

const world = worldOfFile()

/** The registry of some accounts, and what puts one of them into another state. */
async function fleet(hubIds: readonly number[]) {
  const { account, services, store, keys, close } = await world()
  await Promise.all(hubIds.map((hubId) => account({ hubId })))
  const setState = async (hubId: number, state: AccountState) => {
    const { state: lists } = keys
    await store.hset(keys.own(hubId), 'state', state)
    await store.zrem(lists.active, hubId)
    await store.zadd(lists[state], hubId, hubId)
  }
  return { registry: services.registry, setState, store, keys, close }
}

describe('the registry', () => {
  test('pages through all accounts by hubId, whatever their partitions', async () => {
    const ids = fc.uniqueArray(fc.integer({ min: 1, max: 2 ** 40 }), { minLength: 1, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(ids, fc.integer({ min: 1, max: 20 }), async (hubIds, limit) => {
        const { registry, close } = await fleet(hubIds)
        const pages: number[][] = []
        for (let after = 0; ; after = pages.at(-1)?.at(-1) ?? 0) {
          const page = await registry.page(limit, after)
          if (page.length === 0) break
          expect(page.length).toBeLessThanOrEqual(limit)
          pages.push(page.map(({ hubId }) => hubId))
        }
        expect(pages.flat()).toEqual([...hubIds].sort((a, b) => a - b))
        expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true)
        await close()
      }),
      { numRuns: 15 },
    )
  })

  test('hands out a page of more than a thousand, in order', async () => {
    const hubIds = Array.from({ length: 1_203 }, (_, n) => 5_000 + n * 3)
    const { registry } = await fleet(hubIds)
    expect((await registry.page(5_000)).map(({ hubId }) => hubId)).toEqual(hubIds)
  })

  test('counts and pages by state', async () => {
    const { registry, setState } = await fleet([1, 2, 3, 65, 66, 130])
    await setState(2, 'failing')
    await setState(66, 'reauthorize')
    await setState(130, 'uninstalled')
    expect(await registry.countByState()).toEqual({
      active: 3,
      failing: 1,
      parked: 0,
      reauthorize: 1,
      uninstalling: 0,
      uninstalled: 1,
    })
    const ids = async (...states: AccountState[]) => (await registry.page(10, 0, states)).map(({ hubId }) => hubId)
    expect(await ids('failing', 'reauthorize')).toEqual([2, 66])
    expect(await ids('parked')).toEqual([])
    expect(await ids(...ACCOUNT_STATES)).toEqual([1, 2, 3, 65, 66, 130])
  })

  test('knows nothing of an account that is not there', async () => {
    const { registry } = await fleet([1])
    expect(await registry.get(2)).toBeUndefined()
    expect((await registry.getMany([2, 1, 3])).map(({ hubId }) => hubId)).toEqual([1])
    expect(await registry.grantedScopes(2)).toEqual([])
    expect(await registry.page(10, 1)).toEqual([])
  })

  test('lists who has an alert, in order', async () => {
    const { registry, store, keys } = await fleet([])
    for (const hubId of [900, 5, 64, 128]) await store.sadd(keys.alerting, hubId)
    expect(await registry.alerting()).toEqual([5, 64, 128, 900])
  })
})

test('a record with everything in it reads back as an account', () => {
  const hash = {
    state: 'failing',
    hubDomain: 'a.example.com',
    user: 'u',
    contact: 'c@example.com',
    connectedAt: '1',
    obtainedAt: '2',
    expiresAt: '3',
    firstConnectedAt: '1',
    failingSince: '4',
    rejectedAt: '3',
    refreshedAt: '2',
    version: '7',
    failures: '4',
    failureClass: 'transient',
    failureReason: 'why',
    failureAt: '5',
    parkedUntil: '6',
    tokenServedAt: '7',
    tokenServedTo: 'billing',
    tokenDriftMs: '-6000',
    uninstallReason: 'asked',
    uninstalledAt: '11',
    uninstallFailureReason: 'no',
    uninstallAskedAt: '9',
    uninstallBy: 'cli',
    uninstallAttempts: '2',
    uninstallFailureAt: '10',
    uninstallEnding: 'deleted',
    purgeAt: '12',
  }
  const turn: PollTurn = { regularAt: 7, because: { is: 'still' } }
  const polls: PollState = {
    ...NEW_POLL_STATE,
    polledAt: 8,
    turn,
    typesLeftOut: 13,
    failing: { count: 9, reason: 'because', at: 10, since: 7 },
    blocked: { what: 'all', since: 6, scopes: ['contacts', 'tickets'] },
    notAvailable: { pipelines: 1_763_719_200_000 },
    bucket: { lastSeen: { used: 12, of: 110, intervalMs: 10_000, at: 8 }, refused: 3 },
    gaps: { '0-1/0-2': ['limit is missing'] },
  }
  expect(readAccount(1, hash, polls)).toEqual({
    hubId: 1,
    hubDomain: 'a.example.com',
    state: 'failing',
    user: 'u',
    contact: 'c@example.com',
    connectedAt: 1,
    firstConnectedAt: 1,
    token: { obtainedAt: 2, expiresAt: 3, refreshedAt: 2, version: 7, driftMs: -6000 },
    refreshFailure: { count: 4, class: 'transient', reason: 'why', at: 5, since: 4 },
    refusedSince: 3,
    parkedUntil: 6,
    tokenServedAt: 7,
    tokenServedTo: 'billing',
    polledAt: 8,
    turn,
    pollFailure: { count: 9, reason: 'because', at: 10, since: 7 },
    pollBlocked: { what: 'all', since: 6, scopes: ['contacts', 'tickets'] },
    objectTypesLeftOut: 13,
    notAvailable: ['pipelines'],
    bucket: { lastSeen: { used: 12, of: 110, intervalMs: 10_000, at: 8 }, refused: 3 },
    gaps: ['0-1/0-2: limit is missing'],
    uninstall: {
      reason: 'asked',
      by: 'cli',
      askedAt: 9,
      attempts: 2,
      failure: 'no',
      failureAt: 10,
      at: 11,
      ending: 'deleted',
      purgeAt: 12,
    },
  })
})
