import type { Series } from '../../limits/series.ts'
import type { AlertLevel, AlertReason, PollCause } from '../alert.ts'
import type { Level, Rule } from './rules.ts'

/** A series with what its pace foretells. */
export interface ForeseenSeries extends Series {
  /** Until the limit; null where it does not get there as far as can be told, undefined where nothing can be told. */
  daysLeft?: number | null | undefined
}

/** What is remembered of a series between polls; nothing is remembered of one that is plainly well. */
export interface SeriesState {
  level: AlertLevel | 'ok'
  /** Name of the rule that decided last. */
  rule: string
  /** When the alert opened, ms; the level may have changed since. */
  since: number
  /** Transitions of this alert so far: part of their ids. */
  transitions: number
  /** When the last of them was committed, ms. */
  toldAt: number
  /** What the last message said. */
  said: { level: AlertLevel; usage: number; limit?: number; at: number } | null
  /** Polls in a row that found a higher level than the one in force. */
  pending: { warning: number; critical: number; sinceFirstReading: boolean } | null
  /** The level is in force by the forecast alone: nothing else would hold it. */
  foreseen?: true
  /** Of a poll alert: what it was told with. */
  cause?: PollCause
}

export interface EvaluationSettings {
  /** Percentage points. */
  recoverBelow: number
  /** Polls in a row that must agree before a level is entered. */
  for: number
  repeatEveryMs: number
}

export interface Evaluation {
  /** Undefined: nothing to remember. */
  state: SeriesState | undefined
  /** How the series stands now. */
  stands: AlertLevel | 'ok' | 'pending' | 'unknown' | 'off'
  /** Absent: nothing to say. */
  event?: {
    reason: AlertReason
    level: AlertLevel
    before: AlertLevel | 'ok'
    /** The very first reading found it already. */
    beganWithFirstReading: boolean
  }
}

/** Decides one series: a pure function of the rule, what is remembered, what was read and when. */
export function evaluate(
  rule: Rule | undefined,
  before: SeriesState | undefined,
  series: ForeseenSeries,
  now: number,
  settings: EvaluationSettings,
  isFirstReading = false,
): Evaluation {
  const evaluation = decideLevel(rule, before, series, now, settings, isFirstReading)
  const { state } = evaluation
  // What can't be judged now rests on what it rested on before.
  if (rule === undefined || state === undefined || evaluation.stands === 'unknown') return evaluation
  const { foreseen: _, ...others } = state
  return restsOnForecast(rule, series, state.level, settings.recoverBelow)
    ? { ...evaluation, state: { ...others, foreseen: true } }
    : { ...evaluation, state: others }
}

function decideLevel(
  rule: Rule | undefined,
  before: SeriesState | undefined,
  series: ForeseenSeries,
  now: number,
  settings: EvaluationSettings,
  isFirstReading: boolean,
): Evaluation {
  const level = before?.level ?? 'ok'
  if (rule === undefined || rule.off === true) return { ...leave(before, level, now), stands: 'off' }
  const target = judge(rule, series, level, before?.foreseen === true, settings.recoverBelow)
  if (target === 'unknown') return { state: withoutPending(before), stands: 'unknown' }
  if (target !== 'ok' && RANK[target] > RANK[level]) {
    return rise(rule.name, before, level, target, series, now, settings, isFirstReading)
  }
  if (target === 'ok') return leave(before, level, now)
  if (target !== level) {
    return message(rule.name, before, series, now, { reason: 'eased', level: target, before: level })
  }
  return stay(rule.name, before, target, series, now, settings)
}

/** How one reading stands by itself: no level is in force, nothing was counted or said before. */
export function judgeReading(rule: Rule | undefined, series: ForeseenSeries): AlertLevel | 'ok' | 'unknown' | 'off' {
  return rule === undefined || rule.off === true ? 'off' : judge(rule, series, 'ok', false, 0)
}

const RANK = { ok: 0, warning: 1, critical: 2 }

function judge(
  rule: Rule,
  series: ForeseenSeries,
  level: AlertLevel | 'ok',
  isForeseen: boolean,
  percentMargin: number,
): AlertLevel | 'ok' | 'unknown' {
  const critical = holds(rule.critical, series, level === 'critical', rule.recoverBelow, percentMargin, isForeseen)
  if (critical === true) return 'critical'
  if (critical === 'unknown' && level === 'critical') return 'unknown'
  const warning = holds(rule.warning, series, level !== 'ok', rule.recoverBelow, percentMargin, isForeseen)
  if (warning === true) return 'warning'
  return critical === 'unknown' || warning === 'unknown' ? 'unknown' : 'ok'
}

/**
 * Whether any condition of a level holds. A level that is in force is left later than it was entered: by the margin of
 * the rule in its unit, or for percent by the general one.
 */
function holds(
  level: Level | undefined,
  series: ForeseenSeries,
  inForce: boolean,
  ownMargin: number | undefined,
  percentMargin: number,
  isForeseen: boolean,
): boolean | 'unknown' {
  if (level === undefined) return false
  const margin = (general: number) => (inForce ? (ownMargin ?? general) : 0)
  const answers: (boolean | 'unknown')[] = []
  if (level.percent !== undefined) {
    answers.push(series.percent === null ? 'unknown' : series.percent >= level.percent - margin(percentMargin))
  }
  if (level.count !== undefined) answers.push(series.usage >= level.count - margin(0))
  if (level.remaining !== undefined) {
    answers.push(series.limit === null ? 'unknown' : series.limit - series.usage <= level.remaining + margin(0))
  }
  if (level.daysLeft !== undefined) {
    answers.push(isWithin(level.daysLeft + margin(0), series.daysLeft, inForce && isForeseen))
  }
  return answers.includes(true) || (answers.includes('unknown') ? 'unknown' : false)
}

/**
 * A forecast that nobody can make yet enters nothing, and leaves the decision to the other conditions. But a level that is
 * in force by a forecast alone is not left because there is none for now: nothing got better, an all-clear would be false,
 * and a fleet whose forecasts are late would send one for each of its alerts. It waits for the next forecast.
 */
function isWithin(days: number, daysLeft: number | null | undefined, isForeseen: boolean): boolean | 'unknown' {
  if (daysLeft === undefined) return isForeseen ? 'unknown' : false
  return daysLeft !== null && daysLeft <= days
}

/** At the limit no forecast is needed: 0 days are a fact. */
function restsOnForecast(
  rule: Rule,
  series: ForeseenSeries,
  inForce: AlertLevel | 'ok',
  percentMargin: number,
): boolean {
  const level = inForce === 'ok' ? undefined : rule[inForce]
  if (level?.daysLeft === undefined || series.daysLeft == null || series.daysLeft <= 0) return false
  const others = { ...level, daysLeft: undefined }
  return holds(others, series, true, rule.recoverBelow, percentMargin, false) !== true
}

function rise(
  rule: string,
  before: SeriesState | undefined,
  level: AlertLevel | 'ok',
  target: AlertLevel,
  series: ForeseenSeries,
  now: number,
  settings: EvaluationSettings,
  isFirstReading: boolean,
): Evaluation {
  const pending = {
    warning: level === 'ok' ? (before?.pending?.warning ?? 0) + 1 : 0,
    critical: target === 'critical' ? (before?.pending?.critical ?? 0) + 1 : 0,
    sinceFirstReading: before?.pending?.sinceFirstReading ?? isFirstReading,
  }
  const needed = Math.max(1, settings.for)
  const reached = pending.critical >= needed ? 'critical' : pending.warning >= needed ? 'warning' : undefined
  if (reached === undefined) {
    const waiting = { ...(before ?? newState(rule, now)), rule, pending }
    return { state: waiting, stands: level === 'ok' ? 'pending' : level }
  }
  const reason = level === 'ok' ? 'entered' : 'escalated'
  const after = message(rule, before, series, now, { reason, level: reached, before: level }, pending.sinceFirstReading)
  // A warning that was reached while critical is still being confirmed must not start that count afresh.
  return reached === 'warning' && pending.critical > 0 && after.state !== undefined
    ? { ...after, state: { ...after.state, pending } }
    : after
}

function stay(
  rule: string,
  before: SeriesState | undefined,
  level: AlertLevel,
  series: ForeseenSeries,
  now: number,
  settings: EvaluationSettings,
): Evaluation {
  if (before !== undefined && now - before.toldAt < settings.repeatEveryMs) {
    return { state: withoutPending(before), stands: level }
  }
  return message(rule, before, series, now, { reason: 'repeat', level, before: level })
}

function leave(before: SeriesState | undefined, level: AlertLevel | 'ok', now: number): Evaluation {
  if (before === undefined || level === 'ok') return { state: undefined, stands: 'ok' }
  // The number of the message is still needed: the caller makes its id of it.
  const state = { ...before, transitions: before.transitions + 1, toldAt: now, level: 'ok' as const, pending: null }
  return { state, stands: 'ok', event: { reason: 'recovered', level, before: level, beganWithFirstReading: false } }
}

function message(
  rule: string,
  before: SeriesState | undefined,
  series: ForeseenSeries,
  now: number,
  event: Omit<NonNullable<Evaluation['event']>, 'beganWithFirstReading'>,
  beganWithFirstReading = false,
): Evaluation {
  const opened = before === undefined || before.level === 'ok' ? newState(rule, now) : before
  const state: SeriesState = {
    ...opened,
    rule,
    level: event.level,
    transitions: opened.transitions + 1,
    toldAt: now,
    said: {
      ...{ level: event.level, usage: series.usage, at: now },
      ...(series.limit === null ? {} : { limit: series.limit }),
    },
    pending: null,
  }
  return { state, stands: event.level, event: { ...event, beganWithFirstReading } }
}

function newState(rule: string, now: number): SeriesState {
  return { level: 'ok', rule, since: now, transitions: 0, toldAt: 0, said: null, pending: null }
}

function withoutPending(state: SeriesState | undefined): SeriesState | undefined {
  if (state === undefined || state.level === 'ok') return undefined
  return state.pending === null ? state : { ...state, pending: null }
}
