import { describe, expect, test } from 'vitest'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import type { DueKind } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { seedAccount } from '../support/accounts.ts'
import { failure, tokens } from '../support/fake-provider.ts'
import { worldOfFile } from '../support/world.ts'

const world = worldOfFile()

async function fleet(hubIds: readonly number[]) {
  const w = await world()
  for (const hubId of hubIds) await w.account({ hubId })
  const plan = (kind: DueKind, at: number, ...hubIds: number[]) =>
    w.store.zadd(w.keys.due[kind], ...hubIds.flatMap((hubId) => [at, hubId]))
  return { ...w, due: w.services.due, deps: w.services, plan }
}

describe('the due sets', () => {
  test('give out what is due, and say when the next is', async () => {
    const hubIds = Array.from({ length: 130 }, (_, n) => 1_000 + n)
    const { due, clock } = await fleet(hubIds)
    expect(await due.next('poll')).toBe(clock.now())
    const claimed = (await due.claim('poll', 1_000, 60_000)).map(({ hubId }) => hubId)
    expect(claimed.sort((a, b) => a - b)).toEqual(hubIds)
    expect(await due.next('poll')).toBe(clock.now() + 60_000)
    expect(await due.claim('poll', 1_000, 60_000)).toEqual([])
    expect([await due.claim('uninstall', 10, 60_000), await due.next('uninstall')]).toEqual([[], undefined])
  })

  test('pass over what is no account', async () => {
    const { due, clock, keys, store } = await fleet([7])
    const junk = ['junk', '1,2', '-8', '99999999999999999']
    for (const set of [keys.due.poll, keys.due.refresh])
      await store.zadd(set, ...junk.flatMap((member) => [1, member]), clock.now() - 120_000, 7)
    expect((await due.claim('poll', 100, 60_000)).map(({ hubId }) => hubId)).toEqual([7])
    const refreshes = await new TokenStore(store, keys, systemClock).claim(100, 60_000)
    expect(refreshes.map(({ hubId, context }) => [hubId, typeof context])).toContainEqual([7, 'object'])
    expect(await due.countOverdue(clock.now() - 60_000)).toBe(0)
  })

  test('take back what was claimed and not begun: it is due at once', async () => {
    const { due, clock } = await fleet([7, 8])
    const [seven, eight] = await due.claim('poll', 100, 60_000)
    if (seven === undefined || eight === undefined) return expect.fail('not claimed')
    await due.move('poll', seven, clock.now())
    // Another worker has it by now.
    await due.move('poll', { ...eight, claim: eight.claim - 1 }, clock.now())
    expect((await due.claim('poll', 100, 60_000)).map(({ hubId }) => hubId)).toEqual([7])
  })

  test('never take an uninstalled account back', async () => {
    const { due, clock, deps } = await fleet([7])
    const [claimed] = await due.claim('poll', 100, 60_000)
    await beginUninstall(deps, 7, { by: 'cli', reason: 'asked' })
    for (const kind of ['refresh', 'poll'] as const) expect(await due.when(kind, 7)).toBeNull()
    await due.move('poll', claimed ?? { hubId: 7, claim: 0 }, clock.now())
    expect(await due.when('poll', 7)).toBeNull()
  })

  test('count what is due', async () => {
    const { due, clock, plan } = await fleet([1, 2, 3, 65])
    await plan('poll', clock.now() + 1, 3)
    expect(await due.countDue('poll', clock.now())).toBe(3)
    expect(await due.countDue('poll', clock.now() + 1)).toBe(4)
    expect(await due.countDue('uninstall', clock.now())).toBe(0)
    expect(await due.outlook('poll', clock.now())).toEqual({ count: 3, next: clock.now(), first: 1 })
    expect(await due.outlook('uninstall', clock.now())).toEqual({ count: 0, next: undefined })
  })
})

describe('overdue refreshes', () => {
  const SINCE = 60_000

  /** One account in a state, due in a minute at its next attempt. */
  async function failing(fields: Record<string, string | number>) {
    const { keys, clock, due, store, plan } = await fleet([7])
    const { state } = keys
    await store.zrem(state.active, 7)
    await store.zadd(state.failing, 7, 7)
    await store.hset(keys.account(7).account, { state: 'failing', ...fields })
    await plan('refresh', clock.now() + 60_000, 7)
    return { due, plan, at: clock.now() - SINCE }
  }

  test('are those that nobody took up', async () => {
    const { due, clock, plan } = await fleet([1, 2, 65])
    await plan('refresh', clock.now() - SINCE, 2, 65)
    await plan('refresh', clock.now() - SINCE + 1, 1)
    expect(await due.countOverdue(clock.now() - SINCE)).toBe(2)
  })

  test('are those that fail, from a minute after the end of the token on; each once', async () => {
    const { due, plan, at } = await failing({ expiresAt: 1, failingSince: 1 })
    expect(await due.countOverdue(at)).toBe(1)
    await plan('refresh', at, 7)
    expect(await due.countOverdue(at)).toBe(1)
    const alive = await failing({ expiresAt: at + 1, failingSince: 1 })
    expect(await alive.due.countOverdue(alive.at)).toBe(0)
  })

  test('are those that were imported and have failed for a minute', async () => {
    const { at } = await failing({})
    const lately = await failing({ expiresAt: 0, failingSince: at + 1 })
    expect(await lately.due.countOverdue(lately.at)).toBe(0)
    const long = await failing({ expiresAt: 0, failingSince: at })
    expect(await long.due.countOverdue(long.at)).toBe(1)
  })
})

describe('the first expiry', () => {
  test('is that of the token that ends first, wherever its account stands among the due', async () => {
    const { due, keys, clock, store, plan } = await fleet([1, 2, 3, 64, 65])
    await seedAccount(store, keys, { hubId: 7, obtainedAt: clock.now() - 60_000, lifeMs: 600_000 })
    // Due first of all, and lives longer: its refresh was asked for early.
    await seedAccount(store, keys, { hubId: 8, obtainedAt: clock.now(), lifeMs: 3_600_000 })
    await plan('refresh', clock.now(), 8)
    expect(await due.nearestExpiry()).toBe(clock.now() + 540_000)
  })

  test('has passed for an account that should be alive, and goes by the next token; one that fails has an alert of its own', async () => {
    const { due, clock, of, says } = await fleet([1, 2])
    const expiresAt = clock.now() + 1_800_000
    clock.move(1_800_500)
    expect([await due.nearestExpiry(), await due.expired(clock.now())]).toEqual([expiresAt, [1, 2]])
    expect(await due.countLate(clock.now())).toEqual({ late: 2, kept: 2 })
    says.refresh = async () => tokens('access-2')
    await of(1).refresh()
    says.refresh = async () => failure('rejected')
    await of(2).refresh()
    expect([await due.nearestExpiry(), await due.expired(clock.now())]).toEqual([clock.now() + 1_800_000, []])
    expect(await due.countLate(clock.now())).toEqual({ late: 0, kept: 2 })
  })

  test('is nobody’s where all wait for somebody, or there is no account', async () => {
    const { due, of, says, clock, deps } = await fleet([1])
    says.refresh = async () => failure('parked', { retryAfterMs: 60_000 })
    clock.move(1_500_000)
    await of(1).refresh()
    expect(await due.nearestExpiry()).toBeUndefined()
    await beginUninstall(deps, 1, { by: 'cli', reason: 'asked' })
    expect(await due.nearestExpiry()).toBeUndefined()
    expect(await (await fleet([])).due.nearestExpiry()).toBeUndefined()
  })
})
