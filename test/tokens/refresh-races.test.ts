import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { formatMoment } from '../../src/text/format-time.ts'
import type { Admission } from '../../src/tokens/endpoint/wait-queue.ts'
import { Lease, Leases } from '../../src/tokens/leases.ts'
import { dump, endLease, seedAccount, takeLease } from '../support/accounts.ts'
import { failure, slowAnswer, tokens } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { memoryFile } from '../support/memory-file.ts'
import { accountIn, HUB, type World } from '../support/world.ts'
import { type Answered, DAY, LIFE, MINUTE, type Refresh, refreshesOfFile } from './a-refresh.ts'

const { connected, due, underWay } = refreshesOfFile()
const ownerOf = async (w: Awaited<ReturnType<typeof due>>) => (await w.lease())?.owner

/** Another daemon, whose provider answers this. */
async function another(w: World, refresh: Refresh) {
  const other = await w.beside({ provider: { refresh } })
  return { provider: other.provider, ...accountIn(other.services) }
}

/** Somebody uninstalls the account. */
async function uninstall({ store, keys, clock }: World): Promise<void> {
  const begun = [HUB, clock.now(), 'asked', 0, JSON.stringify(NO_ALERT_WRITES), 'cli', '', '']
  expect(await store.beginUninstall(keys.own(HUB), ...begun)).toBe('begun')
}

const connectAgain = ({ store, keys, clock }: World, more = {}) =>
  seedAccount(store, keys, { obtainedAt: clock.now(), refreshToken: 'refresh-new', ...more })

describe('of several workers', () => {
  test('one refreshes: the provider is asked once', async () => {
    const { refreshing, answer, ...w } = await underWay()
    for (let n = 0; n < 3; n++) {
      const other = await another(w, async () => tokens('x'))
      expect(await other.refresh()).toEqual({ is: 'held' })
      expect(other.provider.calls).toEqual([])
    }
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    expect(await (await another(w, async () => tokens('x'))).refresh()).toMatchObject({ is: 'fresh' })
  })

  test('that begin in the same moment one refreshes', async () => {
    const w = await due(async () => tokens('access-2'))
    const outcomes = (await Promise.all(Array.from({ length: 8 }, () => w.refresh()))).map(({ is }) => is)
    expect(w.provider.calls).toHaveLength(1)
    expect(outcomes.filter((is) => is === 'refreshed')).toHaveLength(1)
    expect(outcomes.every((is) => ['refreshed', 'held', 'fresh'].includes(is))).toBe(true)
  })

  test('one whose lease was lost does not take the lease of the one that has it now', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await takeLease(w.store, w.keys, 'somebody-else', 10_000)
    answer(tokens('access-2', 'refresh-2'))
    await refreshing
    expect(await ownerOf(w)).toBe('somebody-else')
  })

  test('one that fails after it lost the lease says nothing of the account: the one that has it now will', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await takeLease(w.store, w.keys, 'somebody-else', 10_000)
    const before = await w.record()
    answer(failure('rejected'))
    expect(await refreshing).toEqual({ is: 'lost' })
    expect(await w.record()).toEqual(before)
  })

  test('one whose lease ran out while its process stood still is not begun anew there: its token is on the way', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await endLease(w.store, w.keys)
    expect(await w.refresh()).toEqual({ is: 'held' })
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    w.clock.move(2 * LIFE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
  })

  test('one that waited in line meanwhile does not begin anew either, though the lease ran out', async () => {
    const slow = slowAnswer()
    const w = await due(slow.refresh)
    const { promise: admitted, resolve: admit } = Promise.withResolvers<Admission>()
    const enter = vi.spyOn(w.services.endpoint, 'enter').mockReturnValueOnce(admitted)
    onTestFinished(() => enter.mockRestore())
    const waiting = w.refresh()
    const refreshing = w.refresh()
    await slow.asked
    await endLease(w.store, w.keys)
    admit({ is: 'admitted' })
    expect(await waiting).toEqual({ is: 'held' })
    slow.answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    expect(w.provider.calls).toHaveLength(1)
  })
})

describe('a late writer', () => {
  test('whose account was refreshed by somebody else meanwhile overwrites nothing', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await endLease(w.store, w.keys)
    w.clock.move(1)
    const quick = await another(w, async () => tokens('access-9', 'refresh-9'))
    expect(await quick.refresh()).toMatchObject({ is: 'refreshed' })
    // But for what the daemon reports of the endpoint.
    const kept = async () => ({ ...(await dump(w.store, w.keys)), [w.keys.endpoint]: null })
    const before = await kept()
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'lost' })
    // It is kept: the provider may hold it to be the last one.
    expect(await w.store.hdel(w.keys.account(HUB).tokens, 'previous2')).toBe(1)
    expect(await kept()).toEqual(before)
  })

  test.each([
    ['', tokens('access-2', 'refresh-2')],
    [' with a failure', failure('rejected')],
  ])('whose account was connected again meanwhile overwrites nothing%s', async (_, late) => {
    const { refreshing, answer, ...w } = await underWay()
    await connectAgain(w, { accessToken: 'access-new' })
    answer(late)
    expect(await refreshing).toEqual({ is: 'lost' })
    expect(await w.tokens()).toEqual({ access: 'access-new', refresh: 'refresh-new', previous: 'refresh-1' })
    expect(await w.record()).toMatchObject({ state: 'active' })
    expect(await w.record()).not.toHaveProperty('rejectedAt')
    expect(await w.outbox()).toEqual([])
  })

  test('whose account was connected anew in a Redis that was emptied keeps what was granted then', async () => {
    const slow = slowAnswer()
    const w = await connected(slow.refresh)
    await w.store.hset(w.keys.own(HUB), 'version', 7)
    w.clock.move(25 * MINUTE)
    const refreshing = w.refresh()
    await slow.asked
    w.clock.move(MINUTE)
    await w.store.del(...Object.values(w.keys.account(HUB)))
    await connectAgain(w)
    slow.answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'lost' })
    expect(await w.tokens()).toMatchObject({ access: 'access-1', refresh: 'refresh-new' })
  })

  test('whose account was given up by others meanwhile has it polled again', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await w.store.hset(w.keys.own(HUB), 'state', 'reauthorize')
    await w.store.zrem(w.keys.due.poll, HUB)
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    expect(await w.dueAt('poll')).not.toBeNull()
  })

  test('of whose account Redis knows nothing, because it was emptied, ends nothing at the provider: its answer is sealed', async () => {
    const file = memoryFile()
    const { refreshing, answer, ...w } = await underWay({ file })
    await w.store.del(...(await w.store.keys(`{${w.keys.prefix}}:*`)))
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'held' })
    w.clock.move(5_000)
    w.services.pending.seal()
    expect(file.tokens.map(({ hubId, refresh }) => [hubId, refresh?.reveal()])).toEqual([[HUB, 'refresh-2']])
    expect(await w.store.keys(`{${w.keys.prefix}}:*`)).toEqual([])
    expect(w.codes().filter((code) => code === 'token.not-stored')).toHaveLength(1)
  })
})

describe('an account that is uninstalled while it is refreshed', () => {
  test('does not come back: no tokens, no next refresh, no poll', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await uninstall(w)
    answer(tokens('access-2'))
    expect(await refreshing).toEqual({ is: 'gone' })
    expect(await w.record()).toMatchObject({ state: 'uninstalling' })
    expect(await w.tokens()).toEqual({ access: undefined, refresh: 'refresh-1', previous: undefined })
    expect([await w.dueAt('refresh'), await w.dueAt('poll')]).toEqual([null, null])
    expect(await ownerOf(w)).toBeUndefined()
  })

  test.each([
    ['', () => {}],
    [
      ' even if it had been forgotten already',
      async ({ store, keys, clock }: World) => {
        const deleted = (await store.hgetBuffer(keys.account(HUB).tokens, 'refresh')) ?? ''
        const end = [HUB, clock.now(), deleted, 'deleted', clock.now(), JSON.stringify(NO_ALERT_WRITES)]
        await store.finishUninstall(keys.own(HUB), ...end)
        expect(await store.hget(keys.own(HUB), 'state')).toBe('uninstalled')
      },
    ],
  ])('leaves a rotated token to be deleted%s', async (_, meanwhile) => {
    const { refreshing, answer, ...w } = await underWay()
    await uninstall(w)
    await meanwhile(w)
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toEqual({ is: 'gone' })
    expect(await w.record()).toMatchObject({ state: 'uninstalling' })
    expect(await w.tokens()).toMatchObject({ access: undefined, refresh: 'refresh-2' })
    expect(await w.dueAt('uninstall')).not.toBeNull()
  })

  test('is not even asked about afterwards', async () => {
    const w = await due(async () => tokens('access-2'))
    await uninstall(w)
    expect(await w.refresh()).toEqual({ is: 'gone' })
    expect(w.provider.calls).toEqual([])
  })
})

describe('the lease', () => {
  test.each([
    ['20 seconds', 20_000, 2_000],
    ['a minute', 60_000, 6_000],
    ['half an hour', LIFE, 15_000],
  ])('of an account whose token lives %s is a tenth of that, within bounds', async (_, lifeMs, longest) => {
    const slow = slowAnswer()
    const w = await connected(slow.refresh, { lifeMs })
    w.clock.move(lifeMs)
    const refreshing = w.refresh()
    await slow.asked
    const left = (await w.lease())?.leftMs
    expect(left).toBeLessThanOrEqual(longest)
    expect(left).toBeGreaterThan(longest - 1_000)
    slow.answer(tokens('access-2'))
    await refreshing
  })

  test('is renewed while a slow answer is waited for, and no longer', async () => {
    const slow = slowAnswer()
    const w = await connected(slow.refresh, { lifeMs: 20_000 })
    w.clock.move(15_000)
    const refreshing = w.refresh()
    await slow.asked
    const owner = await ownerOf(w)
    // Almost over: only a renewal can make it longer again.
    await takeLease(w.store, w.keys, String(owner), 1_500)
    await eventually('the lease is renewed', async () => ((await w.lease())?.leftMs ?? 0) > 1_500)
    expect(await ownerOf(w)).toBe(owner)
    slow.answer(failure('transient'))
    await refreshing
    expect(await ownerOf(w)).toBeUndefined()
  })
})

describe('a lease that somebody else has by now', () => {
  const taken = async (ms: number) => {
    const w = await due(async () => tokens('access-2'))
    await takeLease(w.store, w.keys, 'somebody-else', ms)
    return { ...w, own: w.services.tokens }
  }

  test('is not renewed, and who had it before gets to know', async () => {
    const w = await taken(10_000)
    const lost = new Lease(HUB, 'me', w.clock)
    lost.ms = 600
    const leases = new Leases(w.own, w.clock)
    leases.keep(lost)
    w.clock.move(200)
    await eventually('it is known as lost', async () => !lost.isHeld())
    leases.end(lost)
    const lease = await w.lease()
    expect([lease?.owner, Number(lease?.leftMs) > 600]).toEqual(['somebody-else', true])
  })

  test('plans nothing when it is given back', async () => {
    const w = await taken(10_000)
    const planned = await w.dueAt('refresh')
    await w.own.leave(HUB, 'me', w.clock.now())
    expect([await ownerOf(w), await w.dueAt('refresh')]).toEqual(['somebody-else', planned])
  })

  test('counts as over where it would last longer than any does: the clock of Redis was set back', async () => {
    expect(await (await taken(3_600_000)).refresh()).toMatchObject({ is: 'refreshed' })
  })
})

describe('a worker that dies between its lease and its answer', () => {
  /** One took the lease and was killed: the lease ran out, nothing was written. */
  async function killed(opened: ReturnType<typeof due>) {
    const w = await opened
    const diedAt = w.clock.now()
    expect((await w.services.tokens.begin(HUB, 'dead', diedAt)).is).toBe('begun')
    await endLease(w.store, w.keys)
    return { ...w, diedAt, interruptedAt: async () => (await w.record()).interruptedAt }
  }

  test('is told in the log, and forgotten when the refresh works', async () => {
    const w = await killed(due(async () => tokens('access-2')))
    w.clock.move(MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
    const died = new Date(w.diedAt).toISOString()
    expect(w.logged.lines()).toMatchObject([{ code: 'token.interrupted', level: 'warn', hubId: HUB, died }])
    expect(await w.interruptedAt()).toBeUndefined()
    expect(await w.record()).not.toHaveProperty('refreshing')
  })

  test('is told in the alert when the refresh token is refused from then on, whatever failed in between', async () => {
    const says: { next: Answered } = { next: failure('transient') }
    const w = await killed(due(async () => says.next))
    for (const next of ['transient', 'rejected', 'rejected'] as const) {
      w.clock.move(10 * MINUTE)
      says.next = failure(next)
      expect(await w.refresh()).toMatchObject({ is: 'failed' })
      expect(await w.interruptedAt()).toBe(`${w.diedAt}`)
    }
    const message = expect.stringContaining(`A refresh broke off at ${formatMoment(w.diedAt)}`)
    expect(await w.outbox()).toMatchObject([{ level: 'critical', kind: 'token', message }])
    w.clock.move(DAY)
    says.next = tokens('access-2')
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
    expect(await w.interruptedAt()).toBeUndefined()
  })

  test('is remembered by whoever finds that the account is not due, until it is connected again', async () => {
    const w = await killed(connected(async () => tokens('access-2')))
    expect(await w.refresh()).toMatchObject({ is: 'fresh' })
    expect(await w.interruptedAt()).toBe(`${w.diedAt}`)
    expect(await w.record()).not.toHaveProperty('refreshing')
    await connectAgain(w)
    expect(await w.interruptedAt()).toBeUndefined()
  })

  test('is not a worker that failed, found nothing due or came too late', async () => {
    const w = await connected(async () => failure('transient'))
    await w.refresh()
    w.clock.move(25 * MINUTE)
    await w.refresh()
    expect(await w.record()).not.toHaveProperty('refreshing')
    w.clock.move(MINUTE)
    const own = w.services.tokens
    const begun = await own.begin(HUB, 'late', w.clock.now())
    if (begun.is !== 'begun') throw new Error(begun.is)
    // Somebody else has opened the alert meanwhile.
    const alerts = { changes: [['token', 'as it was', ''] as [string, string, string]], entries: [] }
    const record = { state: 'failing' as const, refreshAt: 0, pollAt: 'unchanged' as const, fields: {}, alerts }
    expect(await own.recordFailure(HUB, 'late', begun.context.version, record)).toBe('lost')
    expect(await w.record()).not.toHaveProperty('refreshing')
    await w.refresh()
    expect(w.codes()).not.toContain('token.interrupted')
  })

  test('is not taken for itself by a worker that asks twice because the answer was lost', async () => {
    const { services, clock } = await connected(async () => tokens('access-2'))
    await services.tokens.begin(HUB, 'me', clock.now())
    const again = await services.tokens.begin(HUB, 'me', clock.now() + 5)
    expect(again).toMatchObject({ is: 'begun', context: { interruptedAt: null } })
  })
})
