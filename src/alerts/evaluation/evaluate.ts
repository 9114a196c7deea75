import { tenths } from '../../limits/forecast/outlook.ts'
import { defined } from '../../runtime/defined.ts'
import type { AlertLevel, AlertReason, Because } from '../alert.ts'
import {
  type Acknowledged,
  atLevel,
  currentAcknowledgement,
  type SentBefore,
  type SeriesState,
  withoutAcknowledgement,
} from '../alert-state.ts'
import { becauseOf, type JudgedLevels, type SeriesVerdict } from './because.ts'
import { anyHolds, type ForecastSeries, judgeConditions, type LevelHold } from './conditions.ts'
import { levelOf, type Rule } from './rules.ts'
import { worseFrom } from './worse.ts'

export interface EvaluationSettings {
  /** Percentage points. */
  recoverBelow: number
  /** Polls in a row that must agree before a level is entered. */
  for: number
  repeatEveryMs: number
  /** Shortest time between the last message and one that says it got worse at its level; undefined: none is sent. */
  worseAfterMs?: number | undefined
}

/** A series that is to be judged: its rule, what is remembered, what was read and when. */
export interface SeriesToJudge {
  /** Undefined where none is about it. */
  rule: Rule | undefined
  before: SeriesState | undefined
  series: ForecastSeries
  now: number
  settings: EvaluationSettings
  isFirstReading?: boolean
}

/** Without a state there is nothing to remember. */
export interface Evaluation extends Decided {
  /** Why it is so. Computed when it is read: most series have no message. */
  readonly because: Because
}

interface Decided extends SeriesVerdict {
  /** Absent: nothing to send. */
  event?: {
    reason: AlertReason
    level: AlertLevel
    before: AlertLevel | 'ok'
    /** The very first reading found it already. */
    beganWithFirstReading: boolean
  }
  /** The values that an alert was acknowledged at and is worse than now, so that it is sent all the same. */
  worseThan?: Acknowledged
}

/** A series that a rule decides about. */
type Subject = SeriesToJudge & { rule: Rule }

/** Decides one series: a pure function. */
export function evaluate(subject: SeriesToJudge): Evaluation {
  const { rule, before, series, now, settings } = subject
  if (rule === undefined) return { ...leave(before, now), verdict: 'off', because: { is: 'no-rule' } }
  if (rule.off === true) return { ...leave(before, now), verdict: 'off', because: { is: 'off', rule: rule.name } }
  const inForce = before?.level ?? 'ok'
  const margins = { isByForecast: before?.foreseen === true, percentMargin: settings.recoverBelow }
  const judged = judge(rule, series, inForce, margins)
  const { worseThan, ...decided } = decideBy({ ...subject, rule }, judged)
  return {
    ...decided,
    get because() {
      return becauseOf({ ...decided, judged, inForce, worseThan, polls: pollsNeeded(settings) })
    },
  }
}

function decideBy(subject: Subject, { target }: Judged): Decided {
  const decided = decideLevel(subject, target)
  const { state } = decided
  // A series that can't be judged now keeps the reason that it had.
  if (state === undefined || decided.verdict === 'unknown') return decided
  const { foreseen: _, ...others } = state
  return restsOnForecast(subject, state.level)
    ? { ...decided, state: { ...others, foreseen: true } }
    : { ...decided, state: others }
}

/**
 * The part of a state that is stored: a level that was left is dropped, its state only carried the number of the last
 * message.
 */
export function remembered(state: SeriesState | undefined): SeriesState | undefined {
  return state === undefined || (state.level === 'ok' && state.pending === null) ? undefined : state
}

/** The judgement of one reading by itself: no level is in force, nothing was counted or sent before. */
export function judgeReading(rule: Rule | undefined, series: ForecastSeries): AlertLevel | 'ok' | 'unknown' | 'off' {
  return rule === undefined || rule.off === true ? 'off' : judge(rule, series, 'ok', NO_MARGINS).target
}

interface Judged extends JudgedLevels {
  /** The level that the reading asks for. */
  target: AlertLevel | 'ok' | 'unknown'
}

const RANK = { ok: 0, warning: 1, critical: 2 }

type Margins = Pick<LevelHold, 'isByForecast' | 'percentMargin'>
const NO_MARGINS: Margins = { isByForecast: false, percentMargin: 0 }

function judge(rule: Rule, series: ForecastSeries, inForce: AlertLevel | 'ok', margins: Margins): Judged {
  const conditions = (level: AlertLevel) => {
    const how = { ...margins, inForce: RANK[inForce] >= RANK[level], ownMargin: rule.recoverBelow }
    return judgeConditions(level, levelOf(rule, level, series), series, how)
  }
  const judged = { warning: conditions('warning'), critical: conditions('critical') }
  return { ...judged, target: targetOf(judged, inForce) }
}

function targetOf({ warning, critical }: Omit<Judged, 'target'>, inForce: AlertLevel | 'ok'): Judged['target'] {
  const isCritical = anyHolds(critical)
  if (isCritical === true) return 'critical'
  if (isCritical === 'unknown' && inForce === 'critical') return 'unknown'
  const isWarning = anyHolds(warning)
  if (isWarning === true) return 'warning'
  return isCritical === 'unknown' || isWarning === 'unknown' ? 'unknown' : 'ok'
}

function decideLevel(subject: Subject, target: Judged['target']): Decided {
  const { before, now } = subject
  const level = before?.level ?? 'ok'
  if (target === 'unknown') return { state: withoutPending(before), verdict: 'unknown' }
  if (target === 'ok') return { ...leave(before, now), verdict: 'ok' }
  if (RANK[target] > RANK[level]) return rise(subject, level, target)
  if (target !== level) return message(subject, { reason: 'eased', level: target, before: level })
  return stay(subject, target)
}

/** At the limit no forecast is needed: 0 days are a fact. */
function restsOnForecast({ rule, series, settings }: Subject, inForce: AlertLevel | 'ok'): boolean {
  const level = inForce === 'ok' ? undefined : levelOf(rule, inForce, series)
  if (inForce === 'ok' || level?.daysLeft === undefined || series.daysLeft == null || series.daysLeft <= 0) return false
  const margins = { ownMargin: rule.recoverBelow, percentMargin: settings.recoverBelow }
  const how = { inForce: true, isByForecast: false, ...margins }
  return anyHolds(judgeConditions(inForce, { ...level, daysLeft: undefined }, series, how)) !== true
}

function rise(subject: Subject, level: AlertLevel | 'ok', target: AlertLevel): Decided {
  const { rule, before, now, settings } = subject
  const pending = {
    warning: level === 'ok' ? (before?.pending?.warning ?? 0) + 1 : 0,
    critical: target === 'critical' ? (before?.pending?.critical ?? 0) + 1 : 0,
    sinceFirstReading: before?.pending?.sinceFirstReading ?? subject.isFirstReading ?? false,
  }
  const needed = pollsNeeded(settings)
  const reached = pending.critical >= needed ? 'critical' : pending.warning >= needed ? 'warning' : undefined
  if (reached === undefined) {
    const waiting = { ...(before ?? newState(rule.name, now)), rule: rule.name, pending }
    return { state: waiting, verdict: level === 'ok' ? 'pending' : level }
  }
  const reason = level === 'ok' ? 'entered' : 'escalated'
  const after = message(subject, { reason, level: reached, before: level }, pending.sinceFirstReading)
  // A warning that was reached while critical is still being confirmed must not start that count afresh.
  return reached === 'warning' && pending.critical > 0 && after.state !== undefined
    ? { ...after, state: { ...after.state, pending } }
    : after
}

/** 0 and 1 alike: the poll that finds it is the first that agrees. */
function pollsNeeded(settings: EvaluationSettings): number {
  return Math.max(1, settings.for)
}

/** Sent again when it got worse, or when it is time and it is not acknowledged. */
function stay(subject: Subject, level: AlertLevel): Decided {
  const { rule, before, series, now, settings } = subject
  const messageFor = (reason: AlertReason) => message(subject, { reason, level, before: level })
  if (before === undefined) return messageFor('repeat')
  const acknowledged = currentAcknowledgement(before, now)
  const from = worseFrom(before, series, rule[level], { acknowledged, worseAfterMs: settings.worseAfterMs })
  if (from !== undefined && now >= from) {
    return { ...messageFor('worse'), ...defined({ worseThan: acknowledged }) }
  }
  if (acknowledged !== undefined) return { state: withoutPending(before), verdict: level }
  if (now - before.sentAt >= settings.repeatEveryMs) return messageFor('repeat')
  return { state: withoutPending(withoutAcknowledgement(before)), verdict: level }
}

function leave(before: SeriesState | undefined, now: number): Pick<Decided, 'state' | 'event'> {
  if (before === undefined || before.level === 'ok') return { state: undefined }
  const { level } = before
  // The number of the message is still needed: the caller makes its id of it.
  const left = { ...before, transitions: before.transitions + 1, sentAt: now, level: 'ok' as const, pending: null }
  const event = { reason: 'recovered' as const, level, before: level, beganWithFirstReading: false }
  return { state: withoutAcknowledgement(left), event }
}

function message(
  { rule, before, series, now }: Subject,
  event: Omit<NonNullable<Evaluation['event']>, 'beganWithFirstReading'>,
  beganWithFirstReading = false,
): Decided {
  const opened = before === undefined || before.level === 'ok' ? newState(rule.name, now) : before
  // An alert that gets better stays acknowledged.
  const staysAcknowledged = event.reason === 'eased' && currentAcknowledgement(opened, now) !== undefined
  const state: SeriesState = {
    ...atLevel(staysAcknowledged ? opened : withoutAcknowledgement(opened), event.level),
    rule: rule.name,
    transitions: opened.transitions + 1,
    sentAt: now,
    lastSent: sentBeforeOf(event.level, series, now),
    pending: null,
  }
  return { state, verdict: event.level, event: { ...event, beganWithFirstReading } }
}

/** The values of a reading that a message has. */
function sentBeforeOf(level: AlertLevel, { usage, limit, daysLeft }: ForecastSeries, at: number): SentBefore {
  const days = daysLeft == null ? undefined : tenths(daysLeft)
  return { level, usage, at, ...defined({ limit: limit ?? undefined, daysLeft: days }) }
}

function newState(rule: string, now: number): SeriesState {
  return { level: 'ok', rule, since: now, transitions: 0, sentAt: 0, lastSent: null, pending: null }
}

function withoutPending(state: SeriesState | undefined): SeriesState | undefined {
  if (state === undefined || state.level === 'ok') return undefined
  return state.pending === null ? state : { ...state, pending: null }
}
