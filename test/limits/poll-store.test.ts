import { describe, expect, test } from 'vitest'
import type { PollChanges } from '../../src/limits/poll.ts'
import type { CommittedPoll, Loaded, PollToCommit } from '../../src/limits/poll-store.ts'
import { SampleStore } from '../../src/limits/samples.ts'
import { ACCOUNT_STATES } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES, stepJson } from '../../src/redis/steps.ts'
import { dump, SEEDED_VERSION } from '../support/accounts.ts'
import { claimAt, commitPoll, type Found } from '../support/committed-poll.ts'
import { HUB, worldOfFile } from '../support/world.ts'
import { associations, polledState, properties, readings, samples } from './reports.ts'

/* What of a poll is stored shows at the jobs (test/jobs); here, what is seen there only in a crash, a race or a day later. */

const world = worldOfFile()
/** The second is in the partition of the first. */
const ALL = [HUB, HUB + 64, HUB + 1, HUB + 2]
const NOW = 1_763_719_200_000
const LATER = NOW + 901_000
const PAIR = 'associations/0-1/0-2'

async function accounts(...hubIds: number[]) {
  const w = await world()
  for (const hubId of hubIds) await w.account({ hubId, obtainedAt: NOW })
  const { store, keys, services } = w
  const claim = async (at = NOW) => {
    const until = claimAt(at)
    for (const hubId of hubIds) await store.zadd(keys.due.poll, until, hubId)
    return until
  }
  return {
    ...w,
    claim,
    polls: services.polls,
    own: keys.account(HUB),
    dueAt: () => services.due.when('poll', HUB),
    poll: (at: number, find?: () => Found, hubId = HUB) => commitPoll(store, keys, hubId, at, find),
    /** As the answer of a refresh for another account ends its polling. */
    refuse: () => {
      const refused = [HUB, NOW, SEEDED_VERSION, '9', '', '{}', 0, 0, stepJson(NO_ALERT_WRITES)]
      return store.storeIdentity(keys.own(HUB), ...refused)
    },
    uninstall: () => store.beginUninstall(keys.own(HUB), HUB, NOW, 'x', 0, stepJson(NO_ALERT_WRITES), 'cli', '', ''),
  }
}
type Accounts = Awaited<ReturnType<typeof accounts>>

/** A poll that found something of everything. */
function found(claim: number, hubId = HUB): PollToCommit {
  const alerts = { changes: [['overall', '', 'new'] as [string, string, string]], entries: [] }
  const change = { at: NOW, before: [['overall', undefined] as [string, undefined]] }
  return {
    hubId,
    claim,
    nextAt: NOW + 900_000,
    freshAt: NOW,
    state: polledState(NOW, readings(NOW, properties(5))),
    more: { alerts, change, nearness: 5, failingSince: NOW, parkedUntil: LATER, samples: {} },
  }
}

/** The next poll may rest on the last one. */
const RESTS = { digests: 'digest', rules: 'rules___', restUntil: LATER }
const NOTHING_RESTS = { digests: '', rules: '', restUntil: 0 }
const finds = (more: Partial<PollChanges>) => () => ({ more: { alerts: NO_ALERT_WRITES, ...more } })

function loadedOf(loaded: Loaded | undefined) {
  if (loaded === undefined || loaded === 'gone' || loaded instanceof Error) throw new Error(`it is ${loaded}`)
  return loaded
}

test.each(ACCOUNT_STATES)('an account that is %s is polled only while it can be', async (state) => {
  const { polls, store, own } = await accounts(HUB)
  await store.hset(own.account, 'state', state)
  const isPolled = ['active', 'failing', 'parked'].includes(state)
  expect((await polls.loadOne(HUB)) !== undefined).toBe(isPolled)
})

test('polls of many accounts at rest begin with one command, and are committed with one, each by its own claim', async () => {
  const { polls, poll, store, keys, claim } = await accounts(...ALL)
  for (const [n, hubId] of ALL.entries()) await poll(NOW + n, undefined, hubId)
  const start = await commandsRun(store)
  const loaded = (await polls.load(ALL)).map(loadedOf)
  expect(loaded.map(({ hubId, state }) => [hubId, state.polledAt])).toEqual(ALL.map((hubId, n) => [hubId, NOW + n]))
  expect((await commandsRun(store)) - start).toBe(1)
  const until = await claim()
  await store.zadd(keys.due.poll, until + 5, HUB + 1)
  const before = await commandsRun(store)
  const rested = [...ALL, 999].map((hubId) => ({ ...found(until, hubId), more: undefined }))
  const outcomes = await polls.commit(rested)
  expect(outcomes).toEqual(['committed', 'committed', 'lost', 'committed', 'gone'])
  expect((await commandsRun(store)) - before).toBe(1)
})

test('what polls know of an account is no account that is new where it is of another type', async () => {
  const { polls, store, own } = await accounts(...ALL)
  await store.hset(own.poll, 'a', 'b')
  const [spoiled, fine] = await polls.load(ALL)
  expect(spoiled).toMatchObject({ message: expect.stringMatching(/^WRONGTYPE/) })
  expect(loadedOf(fine).hubId).toBe(ALL[1])
})

describe('a poll changes nothing', () => {
  const scores = (move: (until: number) => number) => (one: Accounts, until: number) =>
    one.store.zadd(one.keys.due.poll, move(until), HUB)

  test.each<[what: string, (one: Accounts, until: number) => Promise<unknown>, CommittedPoll]>([
    ['was claimed by another worker', (one) => one.claim(), 'lost'],
    ['was claimed by another one in that very millisecond', scores((until) => until + 1 / 4096), 'lost'],
    ['is planned for the moment at which its claim ends', scores(Math.floor), 'lost'],
    ['was connected anew', (one) => one.account({ obtainedAt: NOW + 5 }), 'lost'],
    ['is being uninstalled', (one) => one.uninstall(), 'gone'],
    ['is another one by its token', (one) => one.refuse(), 'gone'],
  ])('of an account that %s meanwhile', async (_, happens, outcome) => {
    const one = await accounts(HUB)
    const until = await one.claim()
    await happens(one, until)
    const before = await dump(one.store, one.keys)
    for (const more of [found(until).more, undefined])
      expect(await one.polls.commit([{ ...found(until), more }])).toEqual([outcome])
    expect(await dump(one.store, one.keys)).toEqual(before)
  })

  test('of an account whose alert changed meanwhile, which is due again at once, with the alert as it is then', async () => {
    const { polls, poll, keys, store, own, claim, dueAt, clock } = await accounts(HUB)
    await poll(NOW, () => ({ state: { ...RESTS, hasAlerts: false } }))
    await store.hset(own.alerts, 'overall', 'somebody else')
    const before = await dump(store, keys)
    expect(await polls.commit([found(await claim())])).toEqual(['stale'])
    expect(await dueAt()).toBe(clock.now())
    const after = await dump(store, keys)
    const touched = Object.keys(after).filter((key) => after[key] !== before[key])
    expect(touched.sort()).toEqual([own.poll, keys.due.poll].sort())
    const { alertStates, state } = loadedOf(await polls.loadOne(HUB))
    expect(alertStates).toEqual({ overall: 'somebody else' })
    expect(state).toMatchObject({ polledAt: NOW, ...NOTHING_RESTS })
  })
})

test.each<[what: string, (one: Accounts) => Promise<unknown>, isForgiven: boolean]>([
  ['was not polled for a while', (one) => one.refuse(), false],
  ['was connected anew', (one) => one.account({ obtainedAt: NOW + 5 }), true],
  [
    'was connected anew, and uninstalled since',
    (one) => one.account({ obtainedAt: NOW + 5 }).then(one.uninstall),
    true,
  ],
  ['was connected anew after that', (one) => one.refuse().then(() => one.account({ obtainedAt: NOW + 5 })), true],
])(
  'the next poll of an account that %s rests on nothing, and after a new grant nothing failed',
  async (_, happens, isForgiven) => {
    const one = await accounts(HUB)
    const failing = { count: 2, reason: 'x', at: NOW, since: NOW }
    await one.poll(NOW, () => ({ state: { ...RESTS, failing } }))
    await happens(one)
    await one.store.hset(one.own.account, 'state', 'active')
    const { state, record } = loadedOf(await one.polls.loadOne(HUB))
    expect(record).toMatchObject({ state: 'active' })
    expect(state).toMatchObject({ polledAt: NOW, ...NOTHING_RESTS, failing: isForgiven ? undefined : failing })
  },
)

test('what polls know keeps no step from being done where it is of another type', async () => {
  const { store, own, refuse, account } = await accounts(HUB)
  await store.rpush(own.poll, 'x')
  expect(await refuse()).toBe('foreign')
  await account({ obtainedAt: NOW + 5 })
  expect(await store.lrange(own.poll, 0, -1)).toEqual(['x'])
})

/** What polls find, one after the other, and the account's place among all accounts after each. */
test.each<['nearest' | 'firstReadings', polls: [Partial<PollChanges>, string | null][]]>([
  [
    'nearest',
    [
      [{ nearness: 12.5 }, '12.5'],
      [{}, '12.5'],
      [{ nearness: 'none' }, null],
    ],
  ],
  ['firstReadings', [[{ isFirst: true }, null]]],
])('an account is among the %s as its polls say', async (index, polls) => {
  const { poll, store, keys } = await accounts(HUB)
  for (const [more, score] of polls) {
    await poll(NOW, finds(more))
    expect(await store.zscore(keys[index], HUB)).toBe(score)
  }
})

test('an account that moves to another data centre is left alone for no shorter time than was told before', async () => {
  const { poll, store, own, dueAt } = await accounts(HUB)
  const until = NOW + 24 * 3_600_000
  await poll(NOW, finds({ parkedUntil: until }))
  await poll(NOW + 1, finds({ parkedUntil: until - 5 }))
  expect([await store.hget(own.account, 'parkedUntil'), await dueAt()]).toEqual([`${until}`, until])
})

test('records are kept for their time, also where they could not be read again, and none where none is shown', async () => {
  const { poll, store, keys, services, own } = await accounts(HUB)
  const shown = samples(NOW, { '0-1/0-2': associations(500, [480], 1) })
  const keeps = (more: Partial<PollChanges>, age: number, until: number) => () => ({
    ...finds(more)(),
    state: { records: { digests: '', age, until } },
  })
  await poll(NOW, keeps({ samples: shown }, 0, NOW + 60_000))
  expect(await services.samples.read(HUB)).toEqual(shown)
  const left = await store.pttl(own.samples)
  expect(left).toBeGreaterThan(50_000)
  expect(left).toBeLessThanOrEqual(60_000)
  // As they were, and read again: they are as old as that.
  await poll(NOW + 2)
  expect((await services.samples.read(HUB))[PAIR]).toEqual({ ...shown[PAIR], at: NOW + 2 })
  const idsOnly = new SampleStore(store, keys, { records: 'ids', keepMs: 60_000 })
  expect((await idsOnly.read(HUB))[PAIR]?.atLimit).toEqual([{ objectId: 100 }])
  await poll(NOW + 50_000, keeps({ samples: shown }, 50_000, NOW + 110_000))
  expect(await store.pttl(own.samples)).toBeLessThanOrEqual(60_000)
  await poll(NOW + 50_001, () => ({ ...finds({ samples: {} })(), state: { records: undefined } }))
  expect(await store.exists(own.samples)).toBe(0)
})

test('a pause of an account is kept until it ends, and none that has passed', async () => {
  const { polls, clock, store, own } = await accounts(HUB)
  await polls.pauseCalls(HUB, clock.now(), clock.now())
  expect(await store.exists(own.paused)).toBe(0)
  await polls.pauseCalls(HUB, clock.now(), clock.now() + 5_000)
  const left = await store.pttl(own.paused)
  expect(left).toBeGreaterThan(0)
  expect(left).toBeLessThanOrEqual(5_000)
})

/** How many commands Redis has run of those that begin and commit polls. */
async function commandsRun(store: Accounts['store']): Promise<number> {
  const stats = await store.info('commandstats')
  const counted = [...stats.matchAll(/cmdstat_(mget|evalsha|eval|hgetall|hmget|strlen|get):calls=(\d+)/g)]
  return counted.reduce((sum, [, , calls]) => sum + Number(calls), 0)
}
