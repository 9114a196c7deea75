import fc from 'fast-check'
import { expect, test } from 'vitest'
import { statesAfter } from '../../src/alerts/evaluation/boundaries.ts'
import { pollJudge } from '../../src/alerts/evaluation/judge-poll.ts'
import { pollAnnouncer } from '../../src/alerts/kinds/poll-alert.ts'
import { digestsOf } from '../../src/limits/digest.ts'
import { nextPoll } from '../../src/limits/next-poll.ts'
import type { LoadedAccount, MadePoll, NextPoll, PollFacts, PollRules } from '../../src/limits/poll.ts'
import { NEW_POLL_STATE, readPollState, writePollState } from '../../src/limits/poll-state-text.ts'
import type { Answers, ReportAnswer } from '../../src/limits/polling/answers.ts'
import { namedReports } from '../../src/limits/reports/all-reports.ts'
import type { Samples } from '../../src/limits/samples.ts'
import type { FailureClass } from '../../src/provider/failure.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { HUB, pageOf } from '../accounts/connected.ts'
import { runs } from '../support/runs.ts'
import { associations, properties } from './reports.ts'

/*
 * The decision on a poll, against a model of it in the plainest words, and against itself: an account whose polls rest
 * where they can, beside one that forgets before each poll that it might.
 */
const MINUTE = 60_000
const EVERY_MS = 60 * MINUTE
/** Ten thousand rounds are two minutes of CPU: a machine that has other work may take long. */
const HOUR_MS = 60 * MINUTE
const START = 1_795_000_000_000
const KEYS = ['customProperties', 'associations/0-1/0-2', 'associations/0-2/0-1'] as const
const PAIRS = [
  { from: '0-1', to: '0-2' },
  { from: '0-2', to: '0-1' },
]
const REPORTS = ['customProperties', 'associations', 'associations'] as const
/** By which gaps are noted. */
const WORDS = ['custom properties', '0-1/0-2', '0-2/0-1'] as const
const LIMIT = 100

/**
 * One report: usage of its limit (of a pair: of its fullest record), a refusal, or bytes that are no report. `isOdd`: a part
 * beside the numbers can't be read.
 */
type Said = Numbers | { refused: FailureClass } | 'garbage'

interface Numbers {
  usage: number
  types?: readonly number[]
  label?: string
  isOdd?: boolean
}

interface Step {
  said: Said[]
  minutes: number
  /** Words that nobody reads: the bytes are other ones. */
  noise: number
  bucket: number | undefined
  meddling: 'none' | 'acknowledged' | 'alerts gone' | 'interrupted' | 'forecast' | 'domain' | 'other rules' | 'ids only'
}

const numbers = fc.record({
  // Far from the thresholds of 30 and 50 %, near them, and so far beyond that nothing is near any more.
  usage: fc.constantFrom(5, 10, 10, 25, 29, 31, 45, 70, 80, 90, 97, 97),
  types: fc.constantFrom([], [], [5], [5, 90]),
  label: fc.constantFrom('a', 'b'),
  isOdd: fc.constantFrom(false, false, false, false, false, false, true),
})
const said: fc.Arbitrary<Said> = fc.oneof(
  { weight: 12, arbitrary: numbers },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<FailureClass>('transient', 'forbidden', 'client', 'unauthorized', 'parked')
      .map((refused) => ({ refused })),
  },
  { weight: 1, arbitrary: fc.constant('garbage' as const) },
)
/** Undefined: as the poll before. */
const anyStep = fc.record({
  said: fc.array(fc.option(said, { nil: undefined, freq: 2 }), { minLength: 3, maxLength: 3 }),
  minutes: fc.constantFrom(1, 10, 60, 60, 60, 90, 150, 26 * 60),
  noise: fc.constantFrom(0, 0, 0, 1, 2),
  bucket: fc.constantFrom(undefined, undefined, 10, 90),
  meddling: fc.constantFrom<Step['meddling'][]>(
    ...(['none', 'none', 'none', 'none', 'none', 'none', 'acknowledged', 'alerts gone', 'interrupted'] as const),
    ...(['none', 'none', 'forecast', 'domain', 'other rules', 'ids only'] as const),
  ),
})
const sameAgain = fc.record({
  said: fc.constant([]),
  minutes: fc.constantFrom(60, 60, 60, 90, 110),
  noise: fc.constant(0),
  bucket: fc.constant(undefined),
  meddling: fc.oneof(
    { weight: 4, arbitrary: fc.constant('none' as const) },
    { weight: 1, arbitrary: fc.constantFrom('acknowledged' as const, 'domain' as const, 'forecast' as const) },
  ),
})
const step = fc.oneof({ weight: 3, arbitrary: sameAgain }, { weight: 1, arbitrary: anyStep })

/** An account over its thresholds that moves, and then stays as it is: what waits for a moment is due in one of the polls. */
const anyOf = (...usages: number[]) => fc.record({ usage: fc.constantFrom(...usages) })
const moving = fc.record({
  said: fc.tuple(anyOf(45, 70, 80, 90), anyOf(70, 80, 90), anyOf(70, 80, 90)),
  minutes: fc.constantFrom(1, 10, 60),
  noise: fc.constant(0),
  bucket: fc.constant(undefined),
  meddling: fc.constantFrom('none' as const, 'forecast' as const),
})
const staying = fc.record({
  said: fc.constant([]),
  minutes: fc.constantFrom(50, 60, 90),
  noise: fc.constant(0),
  bucket: fc.constant(undefined),
  meddling: fc.constant('none' as const),
})
const movesAndStays = fc
  .tuple(fc.array(moving, { minLength: 1, maxLength: 4 }), fc.array(staying, { minLength: 2, maxLength: 4 }))
  .map((both) => both.flat())

/** As it was said last, where nothing else is said. */
const steps = fc.oneof(fc.array(step, { minLength: 2, maxLength: 9 }), movesAndStays).map((all) => {
  let last: Said[] = KEYS.map(() => ({ usage: 10 }))
  return all.map(({ said: now, ...others }): Step => {
    last = last.map((before, place) => now[place] ?? before)
    return { ...others, said: last }
  })
})
const settings = fc.record({
  for: fc.constantFrom(0, 0, 2),
  worseAfterMs: fc.constantFrom(undefined, 2 * EVERY_MS),
  watchesBucket: fc.boolean(),
})

function rulesOf(how: { for: number; worseAfterMs: number | undefined; watchesBucket: boolean }): PollRules {
  const levels = { warning: { percent: 30 }, critical: { percent: 50 } }
  const alerts = {
    ...how,
    rules: [
      { name: 'off', on: 'associations.*', match: { account: ['at-*'] }, off: true },
      { name: 'soon', on: 'customProperties.overall', warning: { daysLeft: 15 }, critical: { daysLeft: 6 } },
      { name: 'all', on: 'customProperties.*', ...levels },
      { name: 'fullest', on: 'associations.fullest', ...levels },
      ...(how.watchesBucket ? [{ name: 'bucket', on: 'api.bucket', ...levels }] : []),
    ],
    recoverBelow: 3,
    repeatEveryMs: 5 * EVERY_MS,
    firstRun: 'alert' as const,
    pageOf,
  }
  const announcePoll = pollAnnouncer({ scopes: ['crm'], opensLimits: true, repeatEveryMs: 5 * EVERY_MS, pageOf })
  return {
    judge: pollJudge({ alerts, announcePoll, announce: { failing: () => NO_ALERT_WRITES } }),
    samples: { records: 'full', keepMs: 30 * EVERY_MS },
    coverage: { objective: 0.95, freshnessMs: 26 * 3_600_000 },
    alertAfter: 2 * EVERY_MS,
  }
}

function bodyOf(place: number, { usage, types = [], label = '', isOdd = false }: Numbers) {
  const odd = isOdd ? [null] : []
  if (place > 0) return { ...associations(LIMIT, [usage]), nearLimitFromRecordSamples: [near(usage, label), ...odd] }
  const report = properties(usage, LIMIT, Object.fromEntries(types.map((used, n) => [`2-${n}`, [used, LIMIT]])))
  return { ...report, byObjectType: [...report.byObjectType, ...odd] }
}

const near = (usage: number, label: string) => ({ objectId: 7, usage, label, percentage: usage })
/** The first one is none: the words come from outside. */
const SCOPES = ['x y <b>', 'contacts']

function answerOf(one: Said, place: number, noise: number): ReportAnswer {
  if (one === 'garbage') return Buffer.from('<html>')
  if ('refused' in one) {
    const failure = { class: one.refused, code: one.refused, message: `it is ${one.refused}` }
    return one.refused === 'forbidden' ? { ...failure, status: 403, scopes: SCOPES } : { ...failure, status: 503 }
  }
  return Buffer.from(JSON.stringify({ ...bodyOf(place, one), noise }))
}

function answersOf({ said, noise, bucket }: Step, at: number): Answers {
  const reports = new Map(said.map((one, place) => [KEYS[place] as string, answerOf(one, place, noise)]))
  const bodies = [...reports.values()].filter((answer) => Buffer.isBuffer(answer))
  const lastSeen = bucket === undefined ? undefined : { used: bucket, of: 100, intervalMs: 10_000 }
  return {
    at,
    reports,
    bucketUse: { refused: 0, ...(lastSeen && { lastSeen }) },
    troubles: [],
    digests: bodies.length === KEYS.length ? digestsOf(bodies) : undefined,
    calls: undefined,
    notAvailable: {},
    unconfirmed: {},
    pausedUntil: undefined,
    allPairsRead: false,
    companionsAwayUntil: undefined,
  }
}

/** An account as Redis would have it, and its polls. */
class Account {
  /** Alerts that were acknowledged. */
  acknowledged = 0
  /** Its place among all accounts, by its forecasts. */
  nearness: number | 'none' = 'none'
  #rules: PollRules
  #account: LoadedAccount = {
    hubId: HUB,
    hubDomain: 'a.example.com',
    access: undefined,
    state: NEW_POLL_STATE,
    forecasts: '',
    pausedUntil: 0,
    alertStates: {},
    record: undefined,
  }
  #samples: Samples = {}

  constructor(rules: PollRules) {
    this.#rules = rules
  }

  get account(): LoadedAccount {
    return this.#account
  }

  poll(one: Step, at: number, forgets: boolean): NextPoll {
    this.#meddle(one.meddling, at)
    const { state } = this.#account
    const settings = { everyMs: EVERY_MS, soonestMs: 10 * MINUTE, pairs: PAIRS, pairsPerPoll: 20 }
    const made: MadePoll = {
      account: { ...this.#account, state: forgets ? { ...state, digests: '', rules: '', restUntil: 0 } : state },
      settings: { ...settings, reports: namedReports(['customProperties', 'associations']) },
      answers: answersOf(one, at),
      at,
      readAt: at,
    }
    const facts: PollFacts = {
      samples: this.#samples,
      refreshes: { at: 0, failure: undefined },
      isFleetTrouble: false,
    }
    const next = decided(nextPoll(made, this.#rules, at), () => nextPoll({ ...made, facts }, this.#rules, at))
    this.#samples = next.more?.samples ?? this.#samples
    this.nearness = next.more?.nearness ?? this.nearness
    const alertStates = statesAfter(this.#account.alertStates, next.more?.alerts ?? NO_ALERT_WRITES)
    this.#account = { ...this.#account, alertStates: { ...alertStates }, state: stored(next.state) }
    return next
  }

  /** The records that are kept, with the moments that pages show. */
  get records() {
    const { records, polledAt } = this.#account.state
    return (
      records && {
        readAt: polledAt - records.age,
        samples: Object.values(this.#samples).map(({ at: _, ...one }) => one),
      }
    )
  }

  #meddle(how: Step['meddling'], at: number): void {
    const account = this.#account
    if (how === 'other rules') this.#rules = rulesOf({ for: 0, worseAfterMs: undefined, watchesBucket: true })
    if (how === 'ids only') this.#rules = { ...this.#rules, samples: { ...this.#rules.samples, records: 'ids' } }
    if (how === 'alerts gone') account.alertStates = {}
    if (how === 'domain') account.hubDomain = `at-${at}.example.com`
    if (how === 'interrupted') account.state = { ...account.state, isInterrupted: true, digests: '', restUntil: 0 }
    const overall = { perDay: 4, perDayLow: 2, perDayHigh: 8, leap: 0, bend: 0 }
    if (how === 'forecast')
      account.forecasts = JSON.stringify({ at: at - 71 * 3_600_000, rising: { overall }, tooFew: {} })
    if (how !== 'acknowledged') return
    for (const [field, text] of Object.entries(account.alertStates)) {
      const state = JSON.parse(text)
      if (state.level === 'ok' || field === 'poll') continue
      state.acknowledged = { at, by: 'ada', until: at + 90 * MINUTE, usage: 80, percent: 80, remaining: 20 }
      account.alertStates[field] = JSON.stringify(state)
      this.acknowledged++
    }
  }
}

function decided(next: NextPoll | 'asks for facts', withFacts: () => NextPoll | 'asks for facts'): NextPoll {
  const last = next === 'asks for facts' ? withFacts() : next
  if (last === 'asks for facts') throw new Error('it was given all facts')
  return last
}

/** As it comes back from Redis. */
function stored(state: NextPoll['state']) {
  const read = readPollState(Buffer.from(writePollState(state)))
  if (read === undefined) throw new Error('it can not be read')
  const { readings, ...others } = read
  const { readings: kept, ...expected } = state
  expect(others).toEqual(expected)
  expect(readings.all).toEqual(kept.all)
  return read
}

/** All that a poll leaves, but for what only says whether the next one may rest. */
function left({ state, more, ...others }: NextPoll, account: Account) {
  const { readings, digests: _, rules: __, restUntil: ___, records: ____, ...rest } = state
  const { alerts, change } = more ?? { alerts: NO_ALERT_WRITES, change: undefined }
  return {
    ...others,
    state: rest,
    readings: readings.all,
    alerts,
    change,
    states: account.account.alertStates,
    records: account.records,
    nearness: account.nearness,
  }
}

test(
  'a poll is as the model says, and one that rests leaves what one that judges everything leaves',
  () => {
    let rested = 0
    let acknowledged = 0
    fc.assert(
      fc.property(steps, settings, (all, how) => {
        const [one, other] = [new Account(rulesOf(how)), new Account(rulesOf(how))]
        let at = START
        for (const now of all) {
          at += now.minutes * MINUTE
          const before = one.account
          const next = one.poll(now, at, false)
          if (next.more === undefined) rested++
          expect(left(next, one)).toEqual(left(other.poll(now, at, true), other))
          expectModel(now, before, next, at)
        }
        acknowledged += one.acknowledged
      }),
      { numRuns: runs(1_000, 10_000) },
    )
    // It proves nothing if none rested, or nobody acknowledged anything.
    expect(rested).toBeGreaterThan(20)
    expect(acknowledged).toBeGreaterThan(20)
  },
  HOUR_MS,
)

/** The rules of a poll in the plainest words. */
function model({ said }: Step, { state }: LoadedAccount, at: number) {
  const before = state.readings.all
  const failures = said.filter((one) => one === 'garbage' || ('refused' in one && one.refused !== 'forbidden'))
  const isRefused = said.some((one) => typeof one === 'object' && 'refused' in one && one.refused === 'forbidden')
  const readings = new Map<string, object>()
  for (const [place, key] of KEYS.entries()) {
    const one = said[place]
    if (typeof one === 'object' && 'usage' in one) readings.set(key, { at, usage: one.usage })
    else if (before?.[key] !== undefined) readings.set(key, before[key])
  }
  const isRead = (one: Said | undefined): one is Numbers => typeof one === 'object' && 'usage' in one
  const anyRead = said.some(isRead)
  const named = (is: (one: Said) => boolean) => new Set(said.flatMap((one, place) => (is(one) ? REPORTS[place] : [])))
  const gaps: [string, unknown][] = KEYS.flatMap((_, place) => {
    const [one, words] = [said[place], WORDS[place] as string]
    const found = isRead(one)
      ? one.isOdd
        ? [expect.stringContaining(' is null: expected ')]
        : undefined
      : state.gaps[words]
    return found === undefined ? [] : [[words, found]]
  })
  const { failing, blocked } = state
  const partly = anyRead && { unread: [...named((one) => failures.includes(one))], read: [...named(isRead)] }
  return {
    outcome: anyRead ? 'committed' : failures.length > 0 ? 'failed' : 'blocked',
    polledAt: anyRead ? at : state.polledAt,
    failing:
      failures.length === 0
        ? undefined
        : { count: (failing?.count ?? 0) + 1, at, since: failing?.since ?? at, ...(partly && { partly }) },
    gaps: Object.fromEntries(gaps),
    blocked:
      failures.length > 0 && (!isRefused || blocked !== undefined)
        ? blocked
        : isRefused
          ? { what: anyRead || failures.length > 0 ? 'part' : 'all', since: blocked?.since ?? at, scopes: ['contacts'] }
          : undefined,
    readings: anyRead ? readings : new Map(Object.entries(before ?? {})),
  }
}

function expectModel(
  now: Step,
  before: LoadedAccount,
  { outcome, state, nextAt, freshAt, more }: NextPoll,
  at: number,
) {
  const expected = model(now, before, at)
  expect(outcome).toBe(expected.outcome)
  expect(state.polledAt).toBe(expected.polledAt)
  for (const name of ['failing', 'blocked'] as const) {
    if (expected[name] === undefined) expect(state[name]).toBeUndefined()
    else expect(state[name]).toMatchObject(expected[name])
  }
  expect(state.gaps).toEqual(expected.gaps)
  expect(state.failing !== undefined && 'partly' in state.failing).toBe('partly' in (expected.failing ?? {}))
  expect(more?.failingSince).toBe(expected.failing?.since ?? (before.state.failing && 'over'))
  expect(freshAt === undefined).toBe(outcome !== 'committed')
  const readings = state.readings.all ?? {}
  expect(new Set(Object.keys(readings))).toEqual(new Set(expected.readings.keys()))
  for (const [key, reading] of expected.readings) {
    if (!('usage' in reading)) expect(readings[key]).toEqual(reading)
    else expect([readings[key]?.at, usageIn(readings, key)]).toEqual([at, reading.usage])
  }
  if (expected.failing !== undefined || expected.blocked !== undefined) expect(state.restUntil).toBe(0)
  // Never later than its period, but for an account that moves to another data center.
  expect(nextAt).toBeGreaterThan(at)
  if (more?.parkedUntil === undefined) expect(nextAt).toBeLessThanOrEqual(at + EVERY_MS)
}

/** Of the account as a whole, or of a pair's fullest record. */
function usageIn(readings: NonNullable<NextPoll['state']['readings']['all']>, key: string): number | undefined {
  const metric = key === 'customProperties' ? 'customProperties.overall' : 'associations.fullest'
  return readings[key]?.values.find((value) => value.metric === metric)?.usage
}
