import fc from 'fast-check'
import { expect, test } from 'vitest'
import { storeForecasts } from '../../src/limits/forecast/stored-forecasts.ts'
import { loadPollState } from '../../src/limits/poll-state-text.ts'
import { PollStore, type PollToCommit } from '../../src/limits/poll-store.ts'
import { type RecordChoice, SampleStore } from '../../src/limits/samples.ts'
import { readAccess } from '../../src/tokens/stored-access.ts'
import { formatAccess } from '../support/accounts.ts'
import { type FakeAnswers, failure } from '../support/fake-provider.ts'
import { HUB, type World } from '../support/world.ts'
import { DAY, MINUTE, pollsOfFile } from './polled.ts'

/*
 * A poll that finds nothing new by the fingerprints of what it saw leaves out nearly everything. Here the same happens to two accounts, one of which forgets its fingerprints before each
 * poll: whatever comes, both must be told the same.
 */
const polled = pollsOfFile()
const PAIRS = [
  { from: '0-1', to: '0-2' },
  { from: '0-2', to: '0-1' },
  { from: '0-3', to: '0-1' },
  { from: '0-4', to: '0-1' },
  { from: '0-5', to: '0-1' },
]

/** Numbers far from the thresholds below, near them and beyond: levels come and go, and some stand for long. */
const usage = fc.constantFrom(10, 10, 30, 50, 60, 60, 79, 85, 130, 130)
const types = fc.array(fc.constantFrom('0-1', '0-2', '2-7'), { maxLength: 4 })
/** Mostly with no record at or near its limit: one that has any is the nearest of all limits. */
const pair = fc.record({
  atLimit: fc.constantFrom(0, 0, 0, 0, 0, 1, 2),
  near: fc.constantFrom([], [], [], [], [90], [90, 95]),
  name: fc.constantFrom('A', 'B'),
})
const poll = fc.record({
  overall: usage,
  first: usage,
  limit: fc.constantFrom(100, 100, 100, 120, 0),
  types,
  percentage: fc.constantFrom('usual', 'another'),
  pairs: fc.tuple(pair, pair, pair, pair, pair),
  fails: fc.oneof(
    { weight: 3, arbitrary: fc.constant('nothing') },
    fc.constantFrom('properties', 'a pair', 'unreadable', 'forbidden'),
  ),
})
type Said = Parameters<Parameters<typeof poll.map>[0]>[0]

/** What may be other the next time, while all else is said again word for word but for what nobody reads. */
const little: fc.Arbitrary<(said: Said) => Said> = fc.oneof(
  fc.constant((said: Said) => said),
  usage.map((overall) => (said: Said) => ({ ...said, overall })),
  usage.map((first) => (said: Said) => ({ ...said, first })),
  types.map((others) => (said: Said) => ({ ...said, types: others })),
  fc.constantFrom(100, 120, 0).map((limit) => (said: Said) => ({ ...said, limit })),
  fc
    .constantFrom<Said['percentage'][]>('usual', 'another')
    .map((percentage) => (said: Said) => ({ ...said, percentage })),
  fc.tuple(fc.nat(PAIRS.length - 1), pair).map(([place, other]) => (said: Said) => {
    const pairs: Said['pairs'] = [...said.pairs]
    pairs[place] = other
    return { ...said, pairs }
  }),
)

/** What else may happen to an account or its settings between two polls. */
const meddling = fc.constantFrom(
  ...([
    '',
    '',
    '',
    '',
    '',
    '',
    '',
    'acknowledged',
    'state gone',
    'samples gone',
    'readings gone',
    'rules',
    'records',
    'for',
  ] as const),
  ...(['forecast', 'forecast gone', 'domain', 'left and came back'] as const),
)
const step = fc.record({
  poll,
  again: fc.array(little, { maxLength: 5 }),
  otherBytes: fc.boolean(),
  minutes: fc.constantFrom(1, 5, 10, 15, 15, 25, 60 * 24),
  meddling,
})

const RULES = [
  [{ name: 'sum', on: 'customProperties.*', warning: { percent: 80 }, critical: { percent: 100 } }],
  [
    { name: 'sum', on: 'customProperties.*', warning: { percent: 75, daysLeft: 10 } },
    { name: 'full', on: 'associations.atLimit', warning: { count: 1 }, critical: { count: 2 } },
  ],
]

const rulesOf = (place: number) => (RULES[place] ?? []).map((rule) => ({ ...rule, off: false, match: {} }))

function propertiesJson({ overall, first, limit, types, percentage }: Said, served: number) {
  const reported = (used: number) => (percentage === 'usual' ? used : used + 7)
  const byObjectType = types.map((objectTypeId, n) => ({
    objectTypeId,
    singularLabel: 'Thing',
    pluralLabel: 'Things',
    limit,
    usage: first - n,
    percentage: reported(first - n),
  }))
  return { overallLimit: 100, overallUsage: overall, overallPercentage: reported(overall), byObjectType, served }
}

function pairJson({ atLimit, near, name }: Said['pairs'][0], served: number) {
  return {
    limit: 100,
    totalRecordsAtLimit: atLimit,
    totalRecordsNearLimit: near.length,
    served,
    atLimitFromRecordSamples: Array.from({ length: atLimit }, (_, n) => ({ label: `${name}${n}`, objectId: n + 1 })),
    nearLimitFromRecordSamples: near.map((used, n) => ({
      label: `${name}-${n}`,
      objectId: n + 10,
      usage: used,
      percentage: used,
    })),
  }
}

async function account(forgets: boolean) {
  let said: { poll: Said; served: number } | undefined
  let parsed = 0
  const answer = (json: object) => {
    const text = said?.poll.fails === 'unreadable' ? '{' : JSON.stringify(json)
    const body = Buffer.from(text)
    const toText = body.toString.bind(body)
    // A body is turned into text to be parsed, and for nothing else.
    body.toString = (...how) => {
      parsed++
      return toText(...how)
    }
    return { ok: true as const, value: body }
  }
  const does: FakeAnswers = {
    customProperties: async () => {
      const { poll, served } = said as NonNullable<typeof said>
      if (poll.fails === 'properties') return failure('transient', { status: 503 })
      return answer(propertiesJson(poll, served))
    },
    associations: async (_token: unknown, from: string) => {
      const { poll, served } = said as NonNullable<typeof said>
      if (poll.fails === 'a pair' && from === '0-2') return failure('transient', { status: 503 })
      if (poll.fails === 'forbidden' && from === '0-2') return failure('forbidden', { status: 403 })
      return answer(pairJson(poll.pairs[PAIRS.findIndex((one) => one.from === from)] as Said['pairs'][0], served))
    },
  }
  let unchanged = 0
  class CountingPolls extends PollStore {
    override commit(results: readonly PollToCommit[]) {
      if (results[0]?.freshAt !== undefined && results[0].more?.nearness === undefined) unchanged++
      return super.commit(results)
    }
  }
  const w = await polled({
    provider: does,
    account: { lifeMs: 400 * DAY },
    settings: {
      limits: { soonest: '5m', associations: PAIRS, history: { samples: '1d' } },
      alerts: { repeatEvery: '1h', group: { interval: '20m' } },
    },
    change: ({ store, keys }) => ({ polls: new CountingPolls(store, keys) }),
  })
  const { services } = w
  const settings = { rules: 0, for: 0, records: 'full' as RecordChoice }
  const apply = () => {
    services.alerts = { ...services.alerts, rules: rulesOf(settings.rules), for: settings.for }
    services.samples = new SampleStore(w.store, w.keys, { records: settings.records, keepMs: DAY })
  }
  apply()
  return {
    parsed: () => parsed,
    unchanged: () => unchanged,
    left: () => left(w),
    meddle: async (how: string) => {
      await meddle(w, how)
      if (how === 'rules') settings.rules = 1 - settings.rules
      if (how === 'for') settings.for = 3 - settings.for
      if (how === 'records') settings.records = settings.records === 'full' ? 'ids' : 'full'
      apply()
    },
    poll: async (next: NonNullable<typeof said>, minutes: number) => {
      w.clock.move(minutes * MINUTE)
      said = next
      if (forgets) await forget(w)
      await w.poll()
    },
    close: () => w.close(),
  }
}

/** As a step that ends the polls of an account leaves what polls know of it. */
async function forget({ store, keys }: World): Promise<void> {
  const { poll } = keys.account(HUB)
  if ((await store.exists(poll)) === 1) await store.setrange(poll, 0, '1')
}

async function meddle(w: World, how: string): Promise<void> {
  const { store, keys } = w
  const now = w.clock.now()
  const own = keys.account(HUB)
  if (how === 'acknowledged') {
    for (const [field, state] of Object.entries(await store.hgetall(own.alerts))) {
      const list = JSON.parse(state)
      list[7] ??= null
      list[8] = [now, now + 90 * MINUTE, 'ada', null, 80, 80, 20]
      if (list[0] !== 'ok' && field !== 'poll') await store.hset(own.alerts, field, JSON.stringify(list))
    }
  }
  if (how === 'state gone') await store.del(own.alerts)
  if (how === 'samples gone') await store.del(own.samples)
  // With it goes when the records were last read: without it they are of the moment at which they were packed.
  if (how === 'readings gone') await store.del(own.poll, own.history, own.samples)
  if (how === 'forecast gone') await store.del(own.forecast)
  if (how === 'domain') {
    const access = await readAccess(store, keys, HUB)
    const hubDomain = `at-${now}.example.com`
    await store.hset(own.account, 'hubDomain', hubDomain)
    if (access !== undefined) await store.set(own.access, formatAccess({ ...access, hubDomain }))
  }
  // As the steps do after which an account is not polled.
  if (how === 'left and came back') {
    await store.zrem(keys.nearest, HUB)
    await forget(w)
  }
  if (how === 'forecast') {
    const rising = { overall: { perDay: 2, perDayLow: 1, perDayHigh: 3, leap: 0, bend: 0 } }
    await storeForecasts(store, keys, HUB, { at: now - 2 * DAY, rising, tooFew: {} })
  }
}

/** Records that are read again, and are as they were, are stored again at half of their time. */
function withoutEnds(state: Awaited<ReturnType<typeof loadPollState>>) {
  return state && { ...state, restUntil: 0, records: state.records && { ...state.records, until: 0 } }
}

/** All that a poll leaves, but for the names of the keys, and those of what connected the account. */
async function left({ store, keys, of }: World) {
  const own = keys.account(HUB)
  const { due, fresh, nearest, pollFailing } = keys
  return {
    account: await store.hgetall(own.account),
    alerts: await store.hgetall(own.alerts),
    alerting: await store.smembers(keys.alerting),
    polls: withoutEnds(await loadPollState(store, keys, HUB)),
    samples: await new SampleStore(store, keys, { records: 'full', keepMs: DAY }).read(HUB),
    history: (await store.lrangeBuffer(own.history, 0, -1)).map((record) => record.toString('hex')),
    scores: await Promise.all([due.poll, fresh, nearest, pollFailing].map((key) => store.zscore(key, HUB))),
    outbox: await of(HUB).outbox(),
  }
}

/** The same answers again and again, first in the same bytes, then in others: what any run leaves out, whatever chance brings. */
const same = (said: Said) => said
const quietPair: Said['pairs'][0] = { atLimit: 0, near: [], name: 'A' }
const quietPoll: Said = {
  overall: 10,
  first: 10,
  limit: 100,
  types: ['0-1'],
  percentage: 'usual',
  pairs: [quietPair, quietPair, quietPair, quietPair, quietPair],
  fails: 'nothing',
}
const quietStep = (otherBytes: boolean) => ({
  poll: quietPoll,
  again: [same, same, same, same],
  otherBytes,
  minutes: 5 as const,
  meddling: '' as const,
})

test('whoever knows what was seen last leaves the same, and tells the same, as who judges every answer anew', async () => {
  let saved = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 6 }), async (steps) => {
      const [knows, forgets] = await Promise.all([account(false), account(true)])
      let served = 0
      for (const { poll, again, otherBytes, minutes, meddling } of steps) {
        await Promise.all([knows.meddle(meddling), forgets.meddle(meddling)])
        let said = poll
        for (const change of [(first: Said) => first, ...again]) {
          said = change(said)
          if (otherBytes) served++
          await Promise.all([knows, forgets].map((one) => one.poll({ poll: said, served }, minutes)))
          expect(await knows.left()).toEqual(await forgets.left())
        }
      }
      // Where bytes differ and values do not, a run may read more than it saves.
      saved += Math.max(0, forgets.parsed() - knows.parsed())
      expect(forgets.unchanged()).toBe(0)
      await Promise.all([knows.close(), forgets.close()])
    }),
    { numRuns: 16, examples: [[[quietStep(false), quietStep(true)]]] },
  )
  // It proves nothing if nothing was left out.
  expect(saved).toBeGreaterThan(0)
})
