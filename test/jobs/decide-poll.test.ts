import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Decided, decidePoll, NO_FACTS } from '../../jobs/decide-poll.ts'
import { type MadePoll, readPoll } from '../../jobs/read-poll.ts'
import { answersFingerprint } from '../../src/limits/fingerprints.ts'
import { decodeReadings, encodeReadings } from '../../src/limits/history/packed-readings.ts'
import { type Begun, PackedReadings } from '../../src/limits/poll-store.ts'
import type { Answers, RawReport } from '../../src/limits/polling/fetch-reports.ts'
import type { Readings } from '../../src/limits/readings.ts'
import { namedReports } from '../../src/limits/reports/all-reports.ts'
import { NEW_WATCH, type PollBlocked, type PollFailure, type Watch } from '../../src/limits/watch/watch.ts'
import type { FailureClass, ProviderFailure } from '../../src/provider/failure.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { HUB } from '../accounts/connected.ts'
import { associations, properties, readings } from '../limits/reports.ts'
import { runs } from '../support/runs.ts'
import { POLL_RULES } from './poll-rules.ts'
import { EVERY_MS } from './polled.ts'

const keys = createKeys('decide')
const START = 1_795_000_000_000
const PAIRS = [
  { from: '0-1', to: '0-2' },
  { from: '0-2', to: '0-1' },
]
const KEYS = ['customProperties', 'associations/0-1/0-2', 'associations/0-2/0-1'] as const

/** What one report is answered: usage of its limit, a refusal, or bytes that are no report. */
type Answer = { usage: number; limit: number } | { refused: FailureClass } | 'garbage'

interface Case {
  before: Partial<Watch>
  /** By report; undefined: it was never read. */
  known: (number | undefined)[] | undefined
  answers: Answer[]
  /** Since the last poll, ms. */
  ms: number
  calls: number
}

const refusals: FailureClass[] = ['transient', 'forbidden', 'client', 'unauthorized']
const answer: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ usage: fc.integer({ min: 0, max: 9 }), limit: fc.constantFrom(10, 20) }) },
  { weight: 2, arbitrary: fc.record({ refused: fc.constantFrom(...refusals) }) },
  { weight: 1, arbitrary: fc.constant('garbage' as const) },
)
const moment = fc.integer({ min: START - 10 * EVERY_MS, max: START })
const failing = fc.record<PollFailure>({
  count: fc.integer({ min: 1, max: 9 }),
  reason: fc.constant('was away'),
  at: moment,
  since: moment,
})
const blocked = fc.record<PollBlocked>({
  what: fc.constantFrom('all' as const, 'part' as const),
  since: moment,
  scopes: fc.constant(['crm.read']),
})
const cases = fc.record<Case>({
  before: fc.record({
    failing: fc.option(failing, { nil: undefined }),
    blocked: fc.option(blocked, { nil: undefined }),
    changedAt: fc.oneof(fc.constant(0), moment),
    calls: fc.option(fc.array(fc.tuple(moment, fc.integer({ min: 1, max: 5 })), { maxLength: 3 }), { nil: undefined }),
  }),
  known: fc.option(
    fc.array(fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined }), { minLength: 3, maxLength: 3 }),
    { nil: undefined },
  ),
  answers: fc.array(answer, { minLength: 3, maxLength: 3 }),
  ms: fc.integer({ min: 1, max: 3 * EVERY_MS }),
  calls: fc.integer({ min: 1, max: 5 }),
})

const bodyOf = (place: number, usage: number, limit: number) =>
  place === 0 ? properties(usage, limit) : associations(limit, [usage])

function failureOf(kind: FailureClass): ProviderFailure {
  return { class: kind, code: kind, message: `it is ${kind}`, status: kind === 'forbidden' ? 403 : 503 }
}

function heard(one: Answer, place: number): RawReport {
  if (one === 'garbage') return Buffer.from('<html>')
  return 'refused' in one ? failureOf(one.refused) : Buffer.from(JSON.stringify(bodyOf(place, one.usage, one.limit)))
}

function packedBefore({ known }: Case): Buffer | undefined {
  if (known === undefined || known.every((usage) => usage === undefined)) return undefined
  const [first, ...pairs] = known
  const bodies = pairs.flatMap((usage, n): [string, object][] =>
    usage === undefined ? [] : [[`${PAIRS[n]?.from}/${PAIRS[n]?.to}`, bodyOf(1, usage, 10)]],
  )
  const report = first === undefined ? undefined : bodyOf(0, first, 10)
  return encodeReadings(readings(START, report, Object.fromEntries(bodies)))
}

function made(one: Case, watch: Watch, packed: Buffer | undefined, at: number): MadePoll {
  const reports = new Map(one.answers.map((answered, place) => [KEYS[place] as string, heard(answered, place)]))
  const bodies = [...reports.values()].flatMap((report) => (Buffer.isBuffer(report) ? [report] : []))
  const answers: Answers<RawReport> = {
    at,
    reports,
    bucketUse: { refused: 0 },
    troubles: [],
    fingerprint: bodies.length === KEYS.length ? answersFingerprint(bodies) : undefined,
    calls: Array.from({ length: one.calls }, () => at),
    notAvailable: {},
    unconfirmed: {},
    pausedUntil: undefined,
    allPairsRead: false,
    companionsAwayUntil: undefined,
  }
  const begun: Begun = {
    hubId: HUB,
    hubDomain: 'a.example.com',
    access: undefined,
    watch,
    forecasts: '',
    pausedUntil: 0,
    isInterrupted: false,
    readings: new PackedReadings(HUB, keys, packed),
    alertStates: {},
    record: undefined,
  }
  const settings = {
    everyMs: EVERY_MS,
    soonestMs: EVERY_MS,
    pairs: PAIRS,
    pairsPerPoll: 20,
    reports: namedReports(['customProperties', 'associations']),
  }
  return { hubId: HUB, begun, settings, answers, at, readAt: at }
}

const decide = (poll: MadePoll, now: number) => decidePoll(POLL_RULES, readPoll(POLL_RULES, poll), NO_FACTS, now)

/** Usage and limit of each series, by what it is of. */
function numbersOf(kept: Readings | undefined): Map<string, string> {
  return new Map(
    Object.entries(kept ?? {}).flatMap(([key, { values }]) =>
      values.map(({ metric, usage, limit }): [string, string] => [`${key} ${metric}`, `${usage}/${limit}`]),
    ),
  )
}

/** The rules of a poll in the plainest words, one after the other. */
function model(one: Case, watch: Watch, before: Readings | undefined, at: number) {
  const read = one.answers.map((answered) => answered !== 'garbage' && !('refused' in answered))
  const failures = one.answers.flatMap((answered) =>
    answered === 'garbage'
      ? ['unreadable']
      : 'refused' in answered && answered.refused !== 'forbidden'
        ? [answered.refused]
        : [],
  )
  const isRefused = one.answers.some(
    (answered) => answered !== 'garbage' && 'refused' in answered && answered.refused === 'forbidden',
  )
  const anyRead = read.includes(true)
  const after = new Map<string, object>()
  for (const [place, key] of KEYS.entries()) {
    const answered = one.answers[place]
    if (read[place] && typeof answered === 'object' && 'usage' in answered) after.set(key, { at, ...answered })
    else if (before?.[key] !== undefined) after.set(key, { at: before[key].at })
  }
  const since = watch.failing?.since ?? at
  const keepsBlocked = failures.length > 0 && (!isRefused || watch.blocked !== undefined)
  return {
    outcome: anyRead ? 'committed' : failures.length > 0 ? 'failed' : 'blocked',
    polledAt: anyRead ? at : watch.polledAt,
    failing: failures.length === 0 ? undefined : { count: (watch.failing?.count ?? 0) + 1, at, since },
    blocked: keepsBlocked
      ? watch.blocked
      : isRefused
        ? { what: anyRead || failures.length > 0 ? 'part' : 'all', since: watch.blocked?.since ?? at }
        : undefined,
    seen: !read.includes(false),
    reports: anyRead ? [...after.keys()] : Object.keys(before ?? {}),
  }
}

function watchBefore(one: Case, packed: Buffer | undefined): Watch {
  return { ...NEW_WATCH, ...one.before, polledAt: packed === undefined ? 0 : START }
}

test('a poll comes to what a slow and plain model of it says', () => {
  fc.assert(
    fc.property(cases, (one) => {
      const packed = packedBefore(one)
      const watch = watchBefore(one, packed)
      const before = packed && decodeReadings(packed)
      const at = START + one.ms
      const { outcome, result } = decide(made(one, watch, packed, at), at)
      const expected = model(one, watch, before, at)
      const after = result.readings && decodeReadings(result.readings)
      expect(outcome).toBe(expected.outcome)
      expect(result.watch.polledAt).toBe(expected.polledAt)
      if (expected.failing === undefined) expect(result.watch.failing).toBeUndefined()
      else expect(result.watch.failing).toMatchObject(expected.failing)
      if (expected.blocked === undefined) expect(result.watch.blocked).toBeUndefined()
      else expect(result.watch.blocked).toMatchObject(expected.blocked)
      expect(result.watch.seen !== undefined).toBe(expected.seen)
      expect(Object.keys(after ?? {}).sort()).toEqual([...expected.reports].sort())
      expectNumbers(one, before, after, { watch, result, at })
      expectNext(expected.failing !== undefined, result, at)
      expect(result.more?.failingSince).toBe(expected.failing?.since ?? (watch.failing ? 'over' : undefined))
      expect(result.freshAt === undefined).toBe(expected.outcome !== 'committed')
    }),
    { numRuns: runs(1_000, 10_000) },
  )
})

/** What was read is kept, what was not stays, and the history gets what was before where anything moved. */
function expectNumbers(
  one: Case,
  before: Readings | undefined,
  after: Readings | undefined,
  { watch, result, at }: { watch: Watch; result: Decided['result']; at: number },
): void {
  for (const [place, key] of KEYS.entries()) {
    const answered = one.answers[place]
    if (typeof answered === 'object' && 'usage' in answered) expect(after?.[key]?.at).toBe(at)
    else expect(after?.[key]).toEqual(before?.[key])
  }
  const [was, is] = [numbersOf(before), numbersOf(after)]
  const hasMoved = [...was].some(([name, value]) => is.get(name) !== value)
  const isOther = hasMoved || is.size !== was.size
  const hasGap = at - START > 2 * EVERY_MS
  const isRead = result.freshAt !== undefined
  expect(result.watch.changedAt).toBe(before !== undefined && isRead && hasMoved ? at : watch.changedAt)
  if (before === undefined || !hasGap) expect(result.more?.record !== undefined).toBe(isRead && isOther)
}

/** Never later than its period, and after failures in between. */
function expectNext(isFailing: boolean, { nextAt, watch }: Decided['result'], at: number): void {
  expect(nextAt).toBeGreaterThan(at)
  expect(nextAt).toBeLessThanOrEqual(at + EVERY_MS)
  if (isFailing) expect(nextAt).toBeLessThanOrEqual(at + 0.97 * EVERY_MS + 1)
  expect(watch.turn?.regularAt).toBeGreaterThanOrEqual(nextAt)
}

/** A second poll: of each report what the first one found, or something else. */
const others = fc.array(fc.option(answer, { nil: undefined }), { minLength: 3, maxLength: 3 })

test('whether it knows answers or reads all anew, a second poll comes to the same', () => {
  fc.assert(
    fc.property(cases, others, (one, changed) => {
      const packed = packedBefore(one)
      const first = decide(made(one, watchBefore(one, packed), packed, START + one.ms), START + one.ms)
      const at = START + one.ms + EVERY_MS
      const second = { ...one, answers: one.answers.map((before, place) => changed[place] ?? before) }
      const again = (watch: Watch) => {
        const { outcome, result, lines } = decide(made(second, watch, first.result.readings, at), at)
        const { records: _, ...after } = result.watch
        const { samples: __, alerts, ...more } = result.more ?? { alerts: NO_ALERT_WRITES }
        return {
          outcome,
          lines,
          alerts,
          more,
          watch: after,
          readings: result.readings?.toString('hex'),
          nextAt: result.nextAt,
        }
      }
      const known = again(first.result.watch)
      const anew = again({ ...first.result.watch, seen: undefined })
      // One at rest leaves its place in the ranking as it is.
      expect({ ...known, more: { nearness: anew.more.nearness, ...known.more } }).toEqual(anew)
    }),
    { numRuns: runs(500, 5_000) },
  )
})
