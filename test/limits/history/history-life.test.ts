import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type TendHistoryDeps, tendHistory } from '../../../jobs/tend-history.ts'
import { Registry } from '../../../src/accounts/registry.ts'
import { packPoll } from '../../../src/limits/findings.ts'
import { changeBetween } from '../../../src/limits/history/change.ts'
import { History, type Snapshot } from '../../../src/limits/history/history.ts'
import { type Keep, spanOf, type Zones, zonesOf } from '../../../src/limits/history/resolutions.ts'
import { TendingRounds } from '../../../src/limits/history/tending-rounds.ts'
import { PollStore } from '../../../src/limits/poll-store.ts'
import { type Fetched, isFailure, mergeReadings } from '../../../src/limits/readings.ts'
import { NO_ALERT_WRITES } from '../../../src/redis/steps.ts'
import { createMetrics } from '../../../src/runtime/metrics.ts'
import { historyHead, historyLines, readAccountHistory } from '../../../src/views/account-history.ts'
import { seedAccount } from '../../support/accounts.ts'
import { HandClock } from '../../support/hand-clock.ts'
import { logLines } from '../../support/log-lines.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { associations, fetched, properties } from '../reports.ts'
import { DAY, HOUR, START } from './records.ts'
import { plainSeries, sorted } from './report-sequences.ts'

const redis = redisOfFile()
const HUB = 123
const EVERY_MS = HOUR / 4
const GAP_MS = 2 * EVERY_MS
const LONGEST_MS = 500_000
const FAILURE = { class: 'transient', code: '503', message: 'x', status: 503 } as const

/** Small numbers mostly: they come back, and a change that is taken back is the hard one. */
const count = fc.oneof(
  { weight: 8, arbitrary: fc.nat(3) },
  { weight: 1, arbitrary: fc.constantFrom(127, 128, 2 ** 49, Number.MAX_SAFE_INTEGER) },
)
const limit = fc.constantFrom(0, 2, 3, 1_000)
const TYPES = ['0-1', '0-2', '2-77', 'p9,"odd"']
const PAIRS = ['0-1/0-2', '0-2/0-1', '2-77/0-1']
const orFailed = <T>(one: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: one }, { weight: 1, arbitrary: fc.constant(undefined) })

/** What each endpoint says; undefined: it fails. */
const report = fc.record({
  overall: orFailed(
    fc.record({
      ...{ usage: count, limit },
      types: fc.dictionary(fc.constantFrom(...TYPES), fc.tuple(count, limit), { noNullPrototype: true }),
    }),
  ),
  pairs: fc.dictionary(
    fc.constantFrom(...PAIRS),
    orFailed(fc.record({ limit, near: fc.array(count), full: fc.nat(2) })),
    {
      noNullPrototype: true,
    },
  ),
})
type Report = typeof report extends fc.Arbitrary<infer T> ? T : never

/** Mostly as polls follow each other, also over gaps, and now and then to the very end of an hour or day. */
const passes = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: GAP_MS }).map((ms) => ({ ms, align: 1 })) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 5 * HOUR }).map((ms) => ({ ms, align: 1 })) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 * DAY }).map((ms) => ({ ms, align: 1 })) },
  { weight: 2, arbitrary: fc.record({ ms: fc.nat(HOUR), align: fc.constantFrom(HOUR, DAY) }) },
)
const keep: fc.Arbitrary<Keep> = fc.record({
  rawMs: fc.integer({ min: HOUR, max: 12 * HOUR }),
  hourlyMs: fc.integer({ min: HOUR, max: 3 * DAY }),
  dailyMs: fc.integer({ min: HOUR, max: 9 * DAY }),
})

type Step =
  /** By so much a machine's clock is behind; a rival read the same and comes second. */
  | { is: 'poll'; passes: Pass; report: Report; again: number; behindMs: number; rival: Report | undefined }
  /** What comes between reading the record and replacing it. */
  | { is: 'tend'; passes: Pass; meanwhile: Report[]; another: boolean }
  | { is: 'configure'; keep: Keep }
type Pass = typeof passes extends fc.Arbitrary<infer T> ? T : never

const poll: fc.Arbitrary<Step> = fc.record({
  ...{ is: fc.constant('poll' as const), passes, report, again: fc.nat(2) },
  behindMs: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(HOUR / 2) }),
  rival: fc.option(report, { nil: undefined, freq: 8 }),
})
const tend: fc.Arbitrary<Step> = fc.record({
  ...{ is: fc.constant('tend' as const), passes },
  meanwhile: fc.oneof({ weight: 2, arbitrary: fc.constant<Report[]>([]) }, fc.array(report, { maxLength: 2 })),
  another: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
})
const steps = fc.array(
  fc.oneof(
    { weight: 14, arbitrary: poll },
    { weight: 5, arbitrary: tend },
    { weight: 1, arbitrary: fc.record({ is: fc.constant('configure' as const), keep }) },
  ),
  { minLength: 3, maxLength: 40, size: 'max' },
)

/** A poll of which anything was read. */
interface Told {
  at: number
  missingSince: number | undefined
  series: object[]
}

/** For all lives: each set of metrics watches the whole process, and hundreds of them are felt. */
const metrics = createMetrics()

/** How often each thing that matters came to pass. */
const seen = { replaced: 0, lost: 0, raw: 0, hourly: 0, daily: 0, missing: 0, cut: 0, regular: 0, raised: 0 }

/**
 * The history of one account, through the daemon's own parts and a real Redis, beside a plain list of what was reported.
 * Every step is done by parts that know nothing but what Redis holds, as after a restart.
 */
class Life {
  readonly keys = redis.freshKeys()
  readonly clock = new HandClock(START)
  readonly told: Told[] = []
  /** From where on everything must be there still, each hour's end, each day's end. */
  readonly zones: Zones = { rawFrom: 0, hourlyFrom: 0, dailyFrom: 0 }
  keep: Keep
  polledAt = 0
  nextPollAt = START
  isFailing = false

  constructor(keep: Keep) {
    this.keep = keep
  }

  async live(steps: readonly Step[]): Promise<void> {
    await seedAccount(redis.store, this.keys, { hubId: HUB, obtainedAt: START })
    for (const step of steps) {
      if (step.is === 'configure') this.keep = step.keep
      else if (step.is === 'tend') {
        this.pass(step.passes)
        await this.tend(step.meanwhile, step.another)
      } else {
        for (let left = step.again; left >= 0; left--) {
          this.pass(step.passes)
          await this.poll(step.report, step)
        }
      }
    }
  }

  pass({ ms, align }: Pass): void {
    const now = this.clock.now()
    this.clock.move(Math.ceil((now + ms) / align) * align - now)
  }

  async poll(report: Report, { behindMs = 0, rival }: { behindMs?: number; rival?: Report | undefined } = {}) {
    const polls = new PollStore(redis.store, this.keys)
    const context = await polls.read(HUB)
    if (context === undefined) throw new Error('there is no account')
    const at = Math.max(this.clock.now() - behindMs, context.polledAt + 1)
    const commit = (answers: Fetched) => {
      const readings = readsAnything(answers) ? mergeReadings(context.readings, answers) : undefined
      const change = readings === undefined ? undefined : changeBetween(context.readings, readings, at, GAP_MS)
      return polls.commit(HUB, {
        ...{ polls: context.polls, nextAt: at + EVERY_MS, readings: undefined },
        ...(readings === undefined ? {} : packPoll(readings, change)),
        ...{ fields: readings === undefined ? {} : { polledAt: String(at) }, samples: undefined },
        alerts: NO_ALERT_WRITES,
      })
    }
    const answers = fetchedOf(report, at)
    expect(await commit(answers)).toBe('committed')
    if (rival !== undefined) expect(await commit(fetchedOf(rival, at))).toBe('lost')
    this.nextPollAt = at + EVERY_MS
    this.isFailing = [answers.customProperties, ...answers.associations.values()].some((one) => isFailure(one))
    if (!readsAnything(answers)) return
    const before = this.told.at(-1)?.at
    this.told.push({
      ...{ at, missingSince: before !== undefined && at - before > GAP_MS ? before : undefined },
      series: plainSeries(mergeReadings(context.readings, answers)),
    })
    this.polledAt = at
  }

  /** One round of the job, while polls, and perhaps another round, come in between. */
  async tend(meanwhile: readonly Report[] = [], another = false): Promise<void> {
    const { keys, clock } = this
    const history = new History(redis.store, keys)
    const { replace } = history
    const zones = zonesOf(clock.now(), this.keep)
    history.replace = async (hubId, asRead, thinned) => {
      for (const report of meanwhile) {
        clock.move(1)
        await this.poll(report)
      }
      if (another) await this.tend()
      const is = await replace.call(history, hubId, asRead, thinned)
      seen[is]++
      if (is === 'replaced') this.loses(zones)
      return is
    }
    const { log, lines } = logLines()
    await redis.store.del(keys.partition(keys.partitionOf(HUB)).tended)
    const deps = {
      ...{ store: redis.store, keys, history, historyKeep: this.keep, clock, log, metrics },
      ...{ rounds: new TendingRounds(redis.store, keys), registry: new Registry(redis.store, keys) },
      queues: { wake: async () => {} },
    } as unknown as TendHistoryDeps
    await tendHistory(deps, { partitions: [keys.partitionOf(HUB)] }, new AbortController().signal)
    expect(lines()).toEqual([])
  }

  private loses(zones: Zones): void {
    for (const name of ['rawFrom', 'hourlyFrom', 'dailyFrom'] as const)
      this.zones[name] = Math.max(this.zones[name], zones[name])
  }

  /** What was reported last before a moment. */
  before(moment: number): Told | undefined {
    return this.told.findLast(({ at }) => at < moment)
  }

  /** Whether nothing was read from a moment until just before another, for longer than polls may be apart. */
  isMissing(start: number, end: number): boolean {
    return this.told.some(({ at, missingSince }) => missingSince !== undefined && missingSince < start && at >= end)
  }
}

function readsAnything({ customProperties, associations }: Fetched): boolean {
  return [customProperties, ...associations.values()].some((one) => !isFailure(one))
}

function fetchedOf({ overall, pairs }: Report, at: number): Fetched {
  const shown = Object.entries(pairs).map(([pair, one]) => [
    pair,
    one === undefined ? FAILURE : associations(one.limit, one.near, one.full),
  ])
  const told = overall === undefined ? undefined : properties(overall.usage, overall.limit, overall.types)
  return fetched(at, told, Object.fromEntries(shown))
}

/** The record itself: true wherever it says anything, complete as far as it was never thinned out. */
async function expectTrueRecord(life: Life): Promise<void> {
  const history = new History(redis.store, life.keys)
  const whole = await history.read(HUB, 0, Number.POSITIVE_INFINITY)
  const byTime = new Map(life.told.map((one) => [one.at, one]))
  const gaps = new Set(life.told.map(({ missingSince }) => missingSince))
  for (const { at, missingSince, series } of whole) {
    expect(sorted(series)).toEqual(byTime.get(at)?.series)
    if (at >= life.zones.rawFrom) expect(missingSince).toBe(byTime.get(at)?.missingSince)
    else expect(gaps).toContain(missingSince)
  }
  const [oldest] = whole
  if (oldest !== undefined) expect(await history.read(HUB, 0, oldest.at - 1)).toEqual([])
  const old = whole.filter(({ at }) => at < life.zones.dailyFrom)
  expect(old.length).toBeLessThanOrEqual(1)
  if (life.told.some(({ at }) => at < (old[0]?.at ?? 0))) seen.cut++
}

/** Raw: every poll. Then every end of an hour, then of a day. */
async function expectEveryMoment(life: Life): Promise<void> {
  const history = new History(redis.store, life.keys)
  const { rawFrom, hourlyFrom, dailyFrom } = life.zones
  for (const { at, series, missingSince } of life.told.filter((one) => one.at >= rawFrom)) {
    const found = await history.read(HUB, at, at)
    expect(found.map((one) => sorted(one.series))).toEqual([series])
    if (missingSince !== undefined) expect(found).toMatchObject([{ at, missingSince }])
    seen.raw++
  }
  const whole = await history.read(HUB, 0, Number.POSITIVE_INFINITY)
  const expectEnds = (from: number, to: number, spanMs: number, zone: 'hourly' | 'daily') => {
    const first = Math.max(from, life.told[0]?.at ?? to)
    for (let end = (Math.floor(first / spanMs) + 1) * spanMs; end <= to; end += spanMs) {
      const standing = whole.findLast(({ at }) => at < end)
      expect(sorted(standing?.series ?? [])).toEqual(life.before(end)?.series)
      seen[zone]++
    }
  }
  expectEnds(hourlyFrom, Math.min(rawFrom, life.clock.now()), HOUR, 'hourly')
  expectEnds(dailyFrom, Math.min(hourlyFrom, life.clock.now()), DAY, 'daily')
}

/** How things stood at the end of each hour or day, and nothing else; the same as CSV. */
async function expectRegularSeries(life: Life, cut: { from: number; to: number }): Promise<void> {
  const { keys, keep, clock, told } = life
  const [first] = told
  if (first === undefined) return
  const now = clock.now()
  const zones = zonesOf(now, keep)
  // Where settings were raised, what was thinned out before does not come back.
  const raised = Math.max(
    ...(['rawFrom', 'hourlyFrom', 'dailyFrom'] as const).map((name) => (life.zones[name] > zones[name] ? 1 : 0)),
  )
  if (raised > 0) seen.raised++
  const known = raised > 0 ? life.zones.rawFrom : zones.dailyFrom
  const reach = Math.max(0, now - Math.max(known, first.at - DAY))
  const from = Math.max(known, now - Math.floor(reach * cut.from))
  const asked = now - Math.floor((now - from) * cut.to)
  const to = asked >= zones.rawFrom ? asked : spanOf(asked, 'hourly', zones).start
  // What was read at the very end of an hour belongs to the next one, whose own end may say something else.
  if (to !== asked && told.some(({ at }) => at === to)) return
  const account = {
    ...{ hubId: HUB, polledAt: life.polledAt, nextPollAt: life.nextPollAt },
    pollFailure: life.isFailing ? { reason: 'x', count: 1, at: 0, since: 0 } : null,
  }
  const readUntil = Math.max(life.polledAt, life.isFailing ? 0 : life.nextPollAt)
  const deps = { history: new History(redis.store, keys), historyKeep: keep, clock }
  for (const resolution of ['hourly', 'daily'] as const) {
    const expected: [number, object[]][] = []
    const end = from <= to ? to : 0
    for (let span = spanOf(from, resolution, zones); span.start < end; span = spanOf(span.end, resolution, zones)) {
      const until = Math.min(span.end, to + 1)
      const standing = life.before(until)
      if (standing === undefined || span.start > readUntil) continue
      if (life.isMissing(span.start, until)) seen.missing++
      else expected.push([Math.min(span.end, to), standing.series])
    }
    const items = [...(await readAccountHistory(deps, account, { from, to: asked, resolution }))]
    expect(items.map(({ at, series }) => [at, sorted(series)])).toEqual(expected)
    expect(readCsv(items)).toEqual(items.flatMap(({ at, series }) => series.map((one) => ({ at, ...one }))))
    seen.regular += items.length
  }
}

/** As a spreadsheet takes it. */
function readCsv(items: readonly Snapshot[]): object[] {
  const text = historyHead('csv') + items.map((one) => historyLines('csv', HUB, one)).join('')
  const rows: Record<string, string>[] = parse(text, { columns: true })
  return rows.map(({ hubId, at = '', metric, objectTypeId, from, to, usage, limit, percent }) => {
    expect(hubId).toBe(String(HUB))
    const name = { ...(objectTypeId === '' ? {} : { objectTypeId }), ...(from === '' ? {} : { from, to }) }
    const number = (field: string | undefined) => (field === '' ? null : Number(field))
    const numbers = { usage: number(usage), limit: number(limit), percent: number(percent) }
    return { at: Date.parse(at), metric, ...name, ...numbers }
  })
}

test('whatever an account lives through, its history says what was reported: every poll, later every hour, later every day', {
  timeout: LONGEST_MS + 20_000,
}, async () => {
  const share = fc.nat(1_000).map((n) => n / 1_000)
  const cut = fc.record({ from: fc.oneof(fc.constant(1), share), to: fc.oneof(fc.constant(0), share) })
  const cuts = fc.array(cut, { minLength: 3, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(steps, keep, passes, cuts, async (steps, keep, rest, cuts) => {
      const life = new Life(keep)
      await life.live(steps)
      life.pass(rest)
      await expectTrueRecord(life)
      await expectEveryMoment(life)
      for (const cut of cuts) await expectRegularSeries(life, cut)
    }),
    // A machine that is too slow is told with the seed too.
    { numRuns: 100, interruptAfterTimeLimit: LONGEST_MS, markInterruptAsFailure: true },
  )
  for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(0)
})
