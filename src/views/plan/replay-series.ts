import type { AccountName } from '../../accounts/match-account.ts'
import type { AlertLevel, AlertReason } from '../../alerts/alert.ts'
import { type Evaluation, evaluate, type SeriesState } from '../../alerts/evaluation/evaluate.ts'
import { type Rule, ruleFor } from '../../alerts/evaluation/rules.ts'
import { DAY_MS, dayOf } from '../../limits/forecast/daily-points.ts'
import type { Value } from '../../limits/history/change.ts'
import type { Stretch, Timeline } from '../../limits/history/timeline.ts'
import { parseSeriesId, type Series, type SeriesName } from '../../limits/series.ts'
import { Foresight } from './foresight.ts'
import { nextPoll } from './poll-moments.ts'
import type { RuleSet } from './rule-set.ts'

/** Something that would have been told of a series. */
export interface ToldThen {
  at: number
  kind: 'limit' | 'limit-changed'
  rule: string
  level: AlertLevel
  reason: AlertReason
  /** It would have been part of the digest of a first reading. */
  inDigest: boolean
}

export interface ReplaySpan {
  /** Before `from`, so that levels that were in force then are: what happens until then is not told. */
  warmFrom: number
  from: number
  to: number
}

export interface ReplayedSeries {
  account: AccountName
  id: string
  name: SeriesName
  stretches: readonly Stretch[]
  timeline: Timeline
  /** How often it was read where nothing is known of it, ms. */
  periodMs: number
  /** A pair that turns up after the first poll is known to have had nothing at or near its limit. */
  pairsSeen: boolean
}

/**
 * What a series would have been told of under a set of rules: each stretch of its history evaluated at the poll that began
 * it, and again at later polls where the same numbers may bring something new - a level that more polls must agree on, a
 * repeat that is due, a day's new forecast. All other polls say what the one before said, and are left out: that makes a
 * month of a fleet a matter of seconds.
 */
export function replaySeries(rules: RuleSet, series: ReplayedSeries, span: ReplaySpan): ToldThen[] {
  const told: ToldThen[] = []
  const { stretches, timeline, periodMs, id, name } = series
  const rule = ruleFor(rules.rules, series.account, name)
  const days = rule === undefined ? undefined : mostDaysLeft(rule)
  const foresight = days === undefined ? undefined : new Foresight(stretches, timeline, { id, ...name })
  const begin = Math.max(span.warmFrom, timeline.polls[0]?.at ?? timeline.readAt)
  let state: SeriesState | undefined
  const tell = (at: number, one: Omit<ToldThen, 'at'>) => {
    if (at >= span.from && at <= span.to) told.push({ at, ...one })
  }
  for (const [n, { from, value }] of stretches.entries()) {
    const end = Math.min(stretches[n + 1]?.from ?? Number.POSITIVE_INFINITY, span.to + 1)
    if (end <= begin) continue
    if (value === undefined) {
      // The reports no longer have it.
      if (state !== undefined && state.level !== 'ok') tell(from, limitEvent(state.rule, state.level, 'recovered'))
      state = undefined
      continue
    }
    const was = stretches[n - 1]?.value
    if (rule?.off !== true && from >= begin && movedLimit(name, was, value)) tell(from, LIMIT_CHANGED)
    const read = { id, ...name, ...measured(value) }
    let isSettling = from < begin
    const isFirst = !isSettling && isFirstReading(series, from)
    let at = isSettling ? nextPoll(timeline, periodMs, begin) : from
    while (at !== undefined && at < end) {
      const foreseen =
        days === undefined
          ? read
          : {
              ...read,
              daysLeft: foresight?.daysLeft(read, at, restsOnForecast(state) ? Number.POSITIVE_INFINITY : days),
            }
      const settings = isSettling ? { ...rules, for: 1 } : rules
      const evaluation: Evaluation = evaluate(rule, state, foreseen, at, settings, isFirst)
      const { event } = evaluation
      state = remembered(evaluation.state)
      if (event !== undefined && !isSettling) {
        const inDigest = event.beganWithFirstReading && rules.firstRun === 'digest'
        tell(at, limitEvent(evaluation.state?.rule ?? '', event.level, event.reason, inDigest))
      }
      isSettling = false
      const again = newsAfter(state, at, days !== undefined, rules.repeatEveryMs)
      at = again === undefined ? undefined : nextPoll(timeline, periodMs, again)
    }
  }
  return told
}

/** Then it matters whether there is a forecast at all. */
function restsOnForecast(state: SeriesState | undefined): boolean {
  return state?.foreseen === true
}

/** From when on the same numbers may say something else; undefined: never. */
function newsAfter(state: SeriesState | undefined, at: number, isForeseen: boolean, repeatEveryMs: number) {
  if (state !== undefined && state.pending !== null) return at + 1
  const repeat =
    state === undefined || state.level === 'ok' ? undefined : Math.max(at + 1, state.toldAt + repeatEveryMs)
  if (!isForeseen) return repeat
  const tomorrow = (dayOf(at) + 1) * DAY_MS
  return Math.min(repeat ?? tomorrow, tomorrow)
}

/** Nothing is remembered of a series that is plainly well. */
function remembered(state: SeriesState | undefined): SeriesState | undefined {
  return state === undefined || (state.level === 'ok' && state.pending === null) ? undefined : state
}

function limitEvent(rule: string, level: AlertLevel, reason: AlertReason, inDigest = false): Omit<ToldThen, 'at'> {
  return { kind: 'limit', rule, level, reason, inDigest }
}

const LIMIT_CHANGED: Omit<ToldThen, 'at'> = {
  ...{ kind: 'limit-changed', rule: 'limit-changed', level: 'warning', reason: 'entered', inDigest: false },
}

function movedLimit({ from }: SeriesName, was: Value | undefined, is: Value): boolean {
  return was !== undefined && was.limit !== is.limit && !(was.limit === null && from !== undefined)
}

/** Whether the report that the series is part of was read for the first time at that moment. */
function isFirstReading({ name: { from, to }, timeline, pairsSeen }: ReplayedSeries, at: number): boolean {
  if (from !== undefined && pairsSeen) return at === timeline.polls[0]?.at
  const report = timeline.series.get(from === undefined ? 'overall' : `at/${from}/${to}`) ?? []
  const n = report.findIndex((stretch) => stretch.from === at)
  return n > 0 && report[n - 1]?.value === undefined
}

/** The most days left that make any difference to a rule; undefined: it does not ask for them. */
function mostDaysLeft({ warning, critical, recoverBelow = 0 }: Rule): number | undefined {
  const asked = [warning?.daysLeft, critical?.daysLeft].filter((days) => days !== undefined)
  return asked.length === 0 ? undefined : Math.max(...asked) + recoverBelow
}

function measured({ usage, limit }: Value): Pick<Series, 'usage' | 'limit' | 'percent'> {
  return { usage, limit, percent: limit === null ? null : (usage * 100) / limit }
}

/** How often an account is polled, and how many pairs a poll reads where they take turns. */
export interface ReadingTurns {
  everyMs: number
  pairsPerPoll?: number
}

/** Every series of an account that its history knows, also those that are gone. */
export function replayedSeries(account: AccountName, timeline: Timeline, turns: ReadingTurns): ReplayedSeries[] {
  const { everyMs, pairsPerPoll } = turns
  const pairs = [...timeline.series.keys()].filter((id) => id.startsWith('at/')).length
  const pairsMs = pairsPerPoll === undefined ? everyMs : everyMs * Math.max(1, Math.ceil(pairs / pairsPerPoll))
  return [...timeline.series].flatMap(([id, stretches]) => {
    const name = parseSeriesId(id)
    if (name === undefined) return []
    const periodMs = name.from === undefined ? everyMs : pairsMs
    return [{ account, id, name, stretches, timeline, periodMs, pairsSeen: pairsPerPoll !== undefined }]
  })
}
