import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { NO_ACCOUNT, NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { formatMoment } from '../../src/text/format-time.ts'
import type { Admission } from '../../src/tokens/endpoint/wait-queue.ts'
import { claimRefresh, dump, REFRESH_CLAIM_MS, seedAccount } from '../support/accounts.ts'
import { failure, slowAnswer, tokens } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { memoryFile } from '../support/memory-file.ts'
import { accountIn, HUB, type World } from '../support/world.ts'
import { type Answered, DAY, LIFE, MINUTE, type Refresh, refreshesOfFile } from './a-refresh.ts'

const { connected, due, underWay } = refreshesOfFile()
const claimOf = async (w: Awaited<ReturnType<typeof due>>) => (await w.underWay())?.claim

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

  test('one that fails after its claim says nothing of the account: the one that has it now will', async () => {
    const { refreshing, answer, ...w } = await underWay()
    await claimRefresh(w.store, w.keys, HUB, 10_000)
    const before = await w.record()
    answer(failure('rejected'))
    expect(await refreshing).toEqual({ is: 'lost' })
    expect(await w.record()).toEqual(before)
  })

  test('one whose claim ran out while its process stood still is not begun anew there: its token is on the way', async () => {
    const { refreshing, answer, ...w } = await underWay()
    w.clock.move(REFRESH_CLAIM_MS + 1)
    expect(await w.refresh()).toEqual({ is: 'held' })
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    w.clock.move(2 * LIFE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
  })

  test('one that waited in line meanwhile does not begin anew either, though the claim ran out', async () => {
    const slow = slowAnswer()
    const w = await due(slow.refresh)
    const { promise: admitted, resolve: admit } = Promise.withResolvers<Admission>()
    const enter = vi.spyOn(w.services.endpoint, 'enter').mockReturnValueOnce(admitted)
    onTestFinished(() => enter.mockRestore())
    const waiting = w.refresh()
    const refreshing = w.refresh()
    await slow.asked
    w.clock.move(REFRESH_CLAIM_MS + 1)
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
    w.clock.move(REFRESH_CLAIM_MS + 1)
    const quick = await another(w, async () => tokens('access-9', 'refresh-9'))
    expect(await quick.refresh()).toMatchObject({ is: 'refreshed' })
    // But for what the daemon reports of the endpoint.
    const kept = async () => ({ ...(await dump(w.store, w.keys)), [w.keys.fleet]: null })
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
    expect(await claimOf(w)).toBeUndefined()
  })

  test.each([
    ['', () => {}],
    [
      ' even if it had been forgotten already',
      async ({ store, keys, clock }: World) => {
        const deleted = (await store.hgetBuffer(keys.account(HUB).tokens, 'refresh')) ?? ''
        const end = [HUB, 0, clock.now(), deleted, 'deleted', '', clock.now(), JSON.stringify(NO_ALERT_WRITES)]
        await store.recordDeletion(keys.own(HUB), ...end)
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

describe('a claim', () => {
  test.each([
    [10_000, 25_000],
    [200, 1_400],
    [120_000, 245_000],
  ])(
    'lasts longer than two calls, each of which may take %i ms, by a while in which the first must begin',
    async (callMs, lasts) => {
      const slow = slowAnswer()
      const w = await due(slow.refresh, { change: () => ({ callMs }) })
      const refreshing = w.refresh()
      await slow.asked
      expect(Math.floor((await w.underWay())?.leftMs ?? 0)).toBe(lasts)
      expect(await w.dueAt('refresh')).toBe(w.clock.now() + lasts)
      slow.answer(tokens('access-2'))
      await refreshing
    },
  )

  test('lasts twice as long while the secret of the app is being changed: a call may be made with both', async () => {
    const w = await underWay({ settings: { provider: { clientSecret: ['the-old-one', 'the-new-one'] } } })
    expect(Math.floor((await w.underWay())?.leftMs ?? 0)).toBe(45_000)
    w.answer(tokens('access-2'))
    await w.refreshing
  })

  test('of which too little is left when its call can begin is given up: the account is due at once', async () => {
    const w = await due(async () => tokens('access-2'))
    for (let n = 0; n < w.services.inFlight.limit; n++) await w.services.inFlight.enter('urgent')
    const refreshing = w.refresh()
    await eventually('it is claimed', async () => (await w.underWay()) !== undefined)
    w.clock.move(5_001)
    w.services.inFlight.leave()
    expect(await refreshing).toEqual({ is: 'held' })
    expect(w.provider.calls).toEqual([])
    expect([await w.dueAt('refresh'), await w.underWay()]).toEqual([w.clock.now(), undefined])
  })

  test('that somebody else has by now plans nothing when it is given back', async () => {
    const w = await due(async () => tokens('access-2'))
    const mine = await w.claim()
    const theirs = await claimRefresh(w.store, w.keys, HUB, 10_000)
    await w.services.tokens.leave(HUB, mine, w.clock.now())
    expect([await claimOf(w), await w.dueAt('refresh')]).toEqual([theirs, Math.floor(theirs)])
  })
})

describe('a refresh under way keeps its account', () => {
  test('from one that comes late with the tokens of before', async () => {
    const { refreshing, answer, ...w } = await underWay()
    const theirs = await claimRefresh(w.store, w.keys, HUB, 10_000)
    answer(tokens('access-2', 'refresh-2'))
    expect(await refreshing).toMatchObject({ is: 'refreshed' })
    expect(await claimOf(w)).toBe(theirs)
  })

  test.each([
    ['is imported anew', (w: World) => importAgain(w)],
    ['is planned by a deletion that came late', (w: World) => deletedLate(w)],
  ])('while that %s: no other worker sends the same token', async (_, meanwhile) => {
    const { refreshing, answer, ...w } = await underWay()
    await meanwhile(w)
    const other = await another(w, async () => tokens('x'))
    expect(await other.refresh()).toEqual({ is: 'held' })
    expect(other.provider.calls).toEqual([])
    answer(tokens('access-2', 'refresh-2'))
    await refreshing
    w.clock.move(REFRESH_CLAIM_MS + 1)
    expect(await w.dueAt('refresh')).toBeLessThanOrEqual(w.clock.now() + 30 * MINUTE)
  })
})

async function importAgain({ store, keys, clock }: World) {
  const version = await store.takeIntent(keys.own(NO_ACCOUNT))
  const sealed = (await store.hgetBuffer(keys.account(HUB).tokens, 'refresh')) ?? ''
  const is = await store.importAccount(keys.own(HUB), HUB, clock.now(), sealed, 'replace', '{}', version)
  expect(is).toBe('replaced')
}

async function deletedLate({ store, keys, clock }: World) {
  const end = [HUB, 1.5, clock.now(), '', 'deleted', '', clock.now(), JSON.stringify(NO_ALERT_WRITES)]
  expect(await store.recordDeletion(keys.own(HUB), ...end)).toBe('reconnected')
}

describe('a worker that dies between its claim and its answer', () => {
  /** One claimed it and was killed: the claim ran out, nothing was written. */
  async function killed(opened: ReturnType<typeof due>) {
    const w = await opened
    const diedAt = w.clock.now()
    expect(await w.services.tokens.claimOne(HUB, REFRESH_CLAIM_MS)).toMatchObject({ hubId: HUB })
    w.clock.move(REFRESH_CLAIM_MS + 1)
    return { ...w, diedAt, interruptedAt: async () => (await w.record()).interruptedAt }
  }

  test('is told in the log, and forgotten when the refresh works', async () => {
    const w = await killed(due(async () => tokens('access-2')))
    w.clock.move(MINUTE)
    expect(await w.refresh()).toMatchObject({ is: 'refreshed' })
    const died = new Date(w.diedAt).toISOString()
    expect(w.logged.lines()).toMatchObject([{ code: 'token.interrupted', level: 'warn', hubId: HUB, died }])
    expect(await w.interruptedAt()).toBeUndefined()
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
    await connectAgain(w)
    expect(await w.interruptedAt()).toBeUndefined()
  })

  test('is not a worker that failed, found nothing due or came too late', async () => {
    const w = await connected(async () => failure('transient'))
    await w.refresh()
    w.clock.move(25 * MINUTE)
    await w.refresh()
    w.clock.move(MINUTE)
    await w.refresh()
    expect(w.codes()).not.toContain('token.interrupted')
  })
})
