import type { AccountName } from '../../accounts/match-account.ts'
import type { AlertLevel, AlertReason } from '../../alerts/alert.ts'
import type { SeriesState } from '../../alerts/alert-state.ts'
import { type ForecastSeries, marginOf } from '../../alerts/evaluation/conditions.ts'
import { type Evaluation, evaluate, remembered, sentBeforeOf } from '../../alerts/evaluation/evaluate.ts'
import { isLimitChangeOff, type Rule, ruleFor } from '../../alerts/evaluation/rules.ts'
import { worseFrom } from '../../alerts/evaluation/worse.ts'
import { hasMoved } from '../../alerts/kinds/limit-changed.ts'
import { dayOf, UTC_DAY_MS } from '../../limits/forecast/forecast-account.ts'
import type { Value } from '../../limits/history/change.ts'
import type { Timeline, TimelinePoll, TimelineStretch } from '../../limits/history/history.ts'
import { isOfOnePair, keyOf } from '../../limits/readings.ts'
import { reportOf } from '../../limits/reports/all-reports.ts'
import type { SeriesName } from '../../limits/reports/report.ts'
import { parseSeriesId, type Series, seriesId } from '../../limits/series.ts'
import type { RuleSet } from '../view-deps.ts'
import { Foresight } from './foresight.ts'

/** A notification that would have been sent about a series. */
export interface ReplayedNotification {
  at: number
  kind: 'limit' | 'limit-changed'
  rule: string
  level: AlertLevel
  reason: AlertReason
  /** The notification would have been part of the digest of a first reading. */
  inDigest: boolean
}

export interface ReplaySpan {
  /** Before `from`, so that levels in force at `from` are known: no notification counts until then. */
  warmFrom: number
  from: number
  to: number
}

export interface ReplayedSeries {
  account: AccountName
  id: string
  name: SeriesName
  stretches: readonly TimelineStretch[]
  timeline: Timeline
  /** How often it was read where nothing is known of it, ms. */
  periodMs: number
  /** A pair that turns up after the first poll is known to have had nothing at or near its limit. */
  allPairsRead: boolean
}

/**
 * Notifications of a series under a set of rules: each stretch of its history is evaluated at the poll that began it,
 * and again at later polls where the same numbers may bring something new: a level that more polls must agree on, a
 * repeat that is due, a day's new forecast. All other polls give the same as the one before, and are left out: that
 * makes a month of a fleet a matter of seconds.
 */
export function replaySeries(rules: RuleSet, series: ReplayedSeries, span: ReplaySpan): ReplayedNotification[] {
  const replay = new SeriesReplay(rules, series, span)
  const { stretches } = series
  for (const [n, { from, value }] of stretches.entries()) {
    const end = Math.min(stretches[n + 1]?.from ?? Number.POSITIVE_INFINITY, span.to + 1)
    if (end <= replay.begin) continue
    if (value === undefined) replay.vanish(from)
    else replay.stand(from, end, stretches[n - 1]?.value, value)
  }
  return replay.notifications
}

class SeriesReplay {
  readonly notifications: ReplayedNotification[] = []
  /** From when on there is anything to replay. */
  readonly begin: number
  readonly #rules: RuleSet
  readonly #series: ReplayedSeries
  readonly #span: ReplaySpan
  readonly #rule: Rule | undefined
  /** The days left from which on a forecast makes a difference, where the rule asks for any. */
  readonly #foreseeing: { within: number; foresight: Foresight } | undefined
  #state: SeriesState | undefined

  constructor(rules: RuleSet, series: ReplayedSeries, span: ReplaySpan) {
    const { account, id, name, stretches, timeline } = series
    this.#rules = rules
    this.#series = series
    this.#span = span
    this.#rule = ruleFor(rules.rules, account, name)
    this.begin = Math.max(span.warmFrom, timeline.polls[0]?.at ?? timeline.readAt)
    const within = this.#rule === undefined ? undefined : mostDaysLeft(this.#rule)
    if (within !== undefined) {
      this.#foreseeing = { within, foresight: new Foresight(stretches, timeline, { id, ...name }) }
    }
  }

  /** The reports no longer have it. */
  vanish(at: number): void {
    if (this.#state !== undefined && this.#state.level !== 'ok') {
      this.#tell(at, limitEvent(this.#state.rule, this.#state.level, 'recovered'))
    }
    this.#state = undefined
  }

  /** The value holds from a moment until just before another. */
  stand(from: number, end: number, was: Value | undefined, value: Value): void {
    const { id, name, timeline, periodMs } = this.#series
    const isSettling = from < this.begin
    const { account } = this.#series
    if (
      !isSettling &&
      was !== undefined &&
      hasMoved(was, value) &&
      !isLimitChangeOff(this.#rules.rules, account, name)
    ) {
      this.#tell(from, LIMIT_CHANGED)
    }
    // A series that no rule watches has no level to enter or leave.
    if (this.#rule === undefined || this.#rule.off === true) return
    const read = { id, ...name, ...measured(value) }
    let at = isSettling ? nextPoll(timeline, periodMs, this.begin) : from
    for (let isFirst = true; at !== undefined && at < end; isFirst = false) {
      const { verdict } = this.#evaluate(read, at, isFirst ? (isSettling ? 'settle' : 'began') : 'again')
      const mayForesee = this.#mayForesee(read)
      const worse = this.#worseFrom(read)
      const isStill = !mayForesee && worse === undefined && verdict === this.#state?.level
      const last = isStill ? this.#repeat(read, at, end) : at
      const again = newsAfter(this.#state, { isByForecast: mayForesee, worse }, last, this.#rules.repeatEveryMs)
      at = again === undefined ? undefined : nextPoll(timeline, periodMs, again)
    }
  }

  /** `settle`: the value held before, and notifications are not counted. */
  #evaluate(read: Series, at: number, occasion: 'settle' | 'began' | 'again'): Evaluation {
    const settings = occasion === 'settle' ? { ...this.#rules, for: 1 } : this.#rules
    const isFirstReadingOfIt = occasion === 'began' && isFirstReading(this.#series, at)
    const series = this.#foreseen(read, at)
    const [rule, before] = [this.#rule, this.#state]
    const evaluation = evaluate({ rule, before, series, now: at, settings, isFirstReading: isFirstReadingOfIt })
    const { event, state } = evaluation
    this.#state = remembered(state)
    if (event !== undefined && occasion !== 'settle') {
      const inDigest = event.beganWithFirstReading && this.#rules.firstRun === 'digest'
      this.#tell(at, limitEvent(state?.rule ?? '', event.level, event.reason, inDigest))
    }
    return evaluation
  }

  #foreseen(read: Series, at: number): ForecastSeries {
    if (this.#foreseeing === undefined) return read
    const { within, foresight } = this.#foreseeing
    // A level by forecast also depends on whether there is a forecast at all.
    const exactly = this.#state?.foreseen === true ? Number.POSITIVE_INFINITY : within
    return { ...read, daysLeft: foresight.daysLeft(read, at, exactly) }
  }

  /** True where the same numbers may be judged otherwise on another day. */
  #mayForesee(read: Series): boolean {
    if (this.#foreseeing === undefined) return false
    const { within, foresight } = this.#foreseeing
    return this.#state?.foreseen === true || foresight.mayReach(read, within)
  }

  /** Moment at which the same numbers are sent as worse; undefined where they are not. */
  #worseFrom(read: Series): number | undefined {
    const state = this.#state
    if (state === undefined || state.level === 'ok') return undefined
    return worseFrom(state, read, this.#rule?.[state.level], { worseAfterMs: this.#rules.worseAfterMs })
  }

  /** The same numbers at the same level: only repeats are left. Returns the moment of the last one. */
  #repeat(read: Series, from: number, end: number): number {
    const { timeline, periodMs } = this.#series
    let at = from
    for (let state = this.#state; state !== undefined && state.level !== 'ok' && state.pending === null; ) {
      const next = nextPoll(timeline, periodMs, Math.max(at + 1, state.sentAt + this.#rules.repeatEveryMs))
      if (next === undefined || next >= end) break
      this.#tell(next, limitEvent(state.rule, state.level, 'repeat'))
      state = { ...state, sentAt: next, lastSent: sentBeforeOf(state.level, read, next) }
      this.#state = state
      at = next
    }
    return at
  }

  #tell(at: number, one: Omit<ReplayedNotification, 'at'>): void {
    if (at >= this.#span.from && at <= this.#span.to) this.notifications.push({ at, ...one })
  }
}

/** Moment from which the same numbers may give another notification; undefined: never. */
function newsAfter(
  state: SeriesState | undefined,
  { isByForecast, worse }: { isByForecast: boolean; worse: number | undefined },
  at: number,
  repeatEveryMs: number,
): number | undefined {
  if (state !== undefined && state.pending !== null) return at + 1
  const moments = [
    ...(state === undefined || state.level === 'ok' ? [] : [Math.max(at + 1, state.sentAt + repeatEveryMs)]),
    ...(worse === undefined ? [] : [Math.max(at + 1, worse)]),
    ...(isByForecast ? [(dayOf(at) + 1) * UTC_DAY_MS] : []),
  ]
  return moments.length === 0 ? undefined : Math.min(...moments)
}

function limitEvent(
  rule: string,
  level: AlertLevel,
  reason: AlertReason,
  inDigest = false,
): Omit<ReplayedNotification, 'at'> {
  return { kind: 'limit', rule, level, reason, inDigest }
}

const LIMIT_CHANGED: Omit<ReplayedNotification, 'at'> = {
  ...{ kind: 'limit-changed', rule: 'limit-changed', level: 'warning', reason: 'entered', inDigest: false },
}

/** True where the series' report was read for the first time at that moment. */
function isFirstReading({ name, timeline, allPairsRead }: ReplayedSeries, at: number): boolean {
  if (isOfOnePair(name) && allPairsRead) return at === timeline.polls[0]?.at
  const isNew = (stretches: readonly TimelineStretch[]) => {
    const n = stretches.findIndex((stretch, n) => stretch.from <= at && (stretches[n + 1]?.from ?? at + 1) > at)
    const stands = stretches[n]
    return stands?.value === undefined || (stands.from === at && stretches[n - 1]?.value === undefined && n > 0)
  }
  const always = ofAccount(name, timeline)
  // Mostly a series has it at once. An account may come to have it later than the others.
  return (always === undefined || isNew(always)) && siblings(name, timeline).every(isNew)
}

function ofAccount(name: SeriesName, { series }: Timeline): readonly TimelineStretch[] | undefined {
  const metrics = Object.entries(reportOf(name)?.metrics ?? {})
  const [metric] = metrics.find(([, { about }]) => about === 'account') ?? []
  return metric === undefined ? undefined : series.get(seriesId({ metric }))
}

/** All series of its report. */
function siblings(name: SeriesName, { series }: Timeline): (readonly TimelineStretch[])[] {
  const key = keyOf(name)
  return [...series].filter(([id]) => keyOf(parseSeriesId(id) ?? { metric: '' }) === key).map(([, one]) => one)
}

/** The most days left that make any difference to a rule; undefined: it does not ask for them. */
function mostDaysLeft({ warning, critical, recoverBelow }: Rule): number | undefined {
  const asked = [warning?.daysLeft, critical?.daysLeft].filter((days) => days !== undefined)
  if (asked.length === 0) return undefined
  const most = Math.max(...asked)
  return most + marginOf('daysLeft', most, recoverBelow, 0)
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
  const names = [...timeline.series.keys()].map(parseSeriesId).filter((name) => name !== undefined)
  const pairs = new Set(names.filter(isOfOnePair).map(keyOf)).size
  const pairsMs = pairsPerPoll === undefined ? everyMs : everyMs * Math.max(1, Math.ceil(pairs / pairsPerPoll))
  return [...timeline.series].flatMap(([id, stretches]) => {
    const name = parseSeriesId(id)
    if (name === undefined) return []
    const periodMs = isOfOnePair(name) ? pairsMs : everyMs
    return [{ account, id, name, stretches, timeline, periodMs, allPairsRead: pairsPerPoll !== undefined }]
  })
}

/**
 * The first poll of an account at or after a moment, by its history. A poll that saw a change, or ended a gap, is
 * known. Polls between two of them left no trace: they count as one every `periodMs`. None within a gap, and none after
 * the last reading.
 */
function nextPoll({ polls, readAt }: Timeline, periodMs: number, moment: number): number | undefined {
  const last = lastAtOrBefore(polls, moment)
  const before = polls[last]
  const after = polls[last + 1]
  if (before === undefined) return after?.at ?? (readAt >= moment ? readAt : undefined)
  const regular = before.at + Math.ceil((moment - before.at) / periodMs) * periodMs
  const until = after === undefined ? readAt : (after.missingSince ?? after.at)
  if (regular <= until) return regular
  return until >= moment ? until : after?.at
}

function lastAtOrBefore(polls: readonly TimelinePoll[], moment: number): number {
  let low = 0
  let high = polls.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((polls[middle]?.at ?? 0) <= moment) low = middle + 1
    else high = middle
  }
  return low - 1
}
