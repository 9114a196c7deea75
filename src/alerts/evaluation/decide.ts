import { type Outlook, outlookOf, tenths } from '../../limits/forecast/outlook.ts'
import type { AccountForecasts } from '../../limits/forecast/stored-forecasts.ts'
import { isOfOnePair, keyOf, type Readings, readAt } from '../../limits/readings.ts'
import type { SeriesName } from '../../limits/reports/report.ts'
import { type Samples, shownRecords } from '../../limits/samples.ts'
import { parseSeriesId, type Series, seriesById } from '../../limits/series.ts'
import type { AlertWrites } from '../../redis/steps.ts'
import { defined } from '../../runtime/defined.ts'
import type { Alert, AlertLevel, AlertReason, Because } from '../alert.ts'
import { decodeState, encodeState, notifiedState, type SeriesState, transitionOf } from '../alert-state.ts'
import { limitChangedAlert, type SeriesBefore } from '../kinds/limit-changed.ts'
import { encodeEntry, entryOf } from '../outbox.ts'
import { seriesFields } from '../series-name.ts'
import { type Evaluation, type EvaluationSettings, evaluate, remembered } from './evaluate.ts'
import { namedRecords, recordsSince } from './records-since.ts'
import { isLimitChangeOff, type Level, levelOf, type Rule, type RuleSubject, ruleFor } from './rules.ts'
import { asReading } from './worse.ts'

export interface AlertSettings extends EvaluationSettings {
  rules: readonly Rule[]
  firstRun: 'digest' | 'alert'
  /** Address of the account's page: an alert links to it. */
  pageOf: (hubId: number) => string
}

export interface PolledAccount extends RuleSubject {
  /** Before this poll; undefined for the first one. */
  before: Readings | undefined
  after: Readings
  /** A report that a later poll may read where none has yet. */
  mayCome?: (series: SeriesName) => boolean
  /** A pair that was not read before is known to have had nothing at or near its limit. */
  allPairsRead?: boolean
  /** The records that this poll was shown. */
  samples: Samples
  /** The forecasts that were stored last; undefined where there are none. */
  forecasts?: AccountForecasts | undefined
  /** Stored states, by series. */
  states: Record<string, string>
}

/** Alert states and messages that a poll changes, to be committed with the reading itself. */
export function decideAlerts(settings: AlertSettings, account: PolledAccount, now: number): AlertWrites {
  const writes: AlertWrites = { changes: [], entries: [] }
  const previous = seriesById(account.before)
  const current = seriesById(account.after)
  const poll: Poll = { settings, account, now, writes }
  for (const series of current.values()) decideOne(poll, series, previous.get(series.id))
  for (const [id, stored] of Object.entries(account.states)) {
    const name = parseSeriesId(id)
    if (name === undefined || current.has(id)) continue
    // Readings that were put aside are none of a series that is gone.
    const isKnown = previous.has(id) || readAt(name, account.after) !== undefined
    if (isKnown || account.mayCome?.(name) !== true) closeVanished(poll, id, stored, previous.get(id))
  }
  return writes
}

/** A poll whose alerts are decided; what they change is added to `writes`. */
interface Poll {
  settings: AlertSettings
  account: PolledAccount
  now: number
  writes: AlertWrites
}

function decideOne(poll: Poll, series: Series, previous: Series | undefined): void {
  const { settings, account, now, writes } = poll
  // A series that this poll did not read is no news: not a poll that agrees, not a reason to repeat.
  if (readAt(series, account.after) !== now) return
  const stored = account.states[series.id]
  const before = decodeState(stored)
  const rule = ruleFor(settings.rules, account, series)
  noteChangedLimit(poll, series, { series: previous, level: before?.level ?? 'ok', at: readAt(series, account.before) })
  const outlook = outlookOf(series, account.forecasts, now)
  const foreseen = { ...series, daysLeft: outlook.daysLeft }
  const isFirst = isFirstReading(series, account)
  const evaluation = evaluate({ rule, before, series: foreseen, now, settings, isFirstReading: isFirst })
  noteState(poll, series, stored, evaluation)
  const { event, state } = evaluation
  if (event === undefined || state === undefined) return
  const alert = limitAlert(
    poll,
    { series, outlook, previous, rule, before },
    { event, state, because: evaluation.because },
  )
  const entry = entryOf(alert, state)
  const inDigest = settings.firstRun === 'digest' && event.beganWithFirstReading
  writes.entries.push(encodeEntry(inDigest ? { ...entry, firstReading: true } : entry))
}

function noteChangedLimit({ settings, account, now, writes }: Poll, series: Series, before: SeriesBefore): void {
  const url = settings.pageOf(account.hubId)
  const alert = limitChangedAlert({ account, before, series, now, url })
  if (alert !== undefined && !isLimitChangeOff(settings.rules, account, series)) {
    writes.entries.push(encodeEntry({ alert }))
  }
}

/** True where the state of a series could not be known before. */
function isFirstReading(series: Series, { before, allPairsRead }: PolledAccount): boolean {
  if (before === undefined) return true
  return readAt(series, before) === undefined && !(isOfOnePair(series) && allPairsRead === true)
}

function noteState({ account, writes }: Poll, series: Series, stored = '', { state, event }: Evaluation): void {
  const kept = remembered(state)
  const after = kept === undefined ? '' : encodeState(event === undefined ? kept : withNames(kept, series, account))
  if (after !== stored) writes.changes.push([series.id, stored, after])
}

/** With the records that its message names. */
function withNames(state: SeriesState, series: Series, { after, samples }: PolledAccount): SeriesState {
  if (state.lastSent === null || series.from === undefined) return state
  const named = namedRecords(shownRecords(series, after, samples), samples[keyOf(series)])
  return { ...state, lastSent: { ...state.lastSent, ...named } }
}

/** A series whose alert is open and that the reports no longer have: its object type is gone, its pair not watched. */
function closeVanished(poll: Poll, id: string, stored: string, previous: Series | undefined): void {
  const { settings, account, now, writes } = poll
  const before = decodeState(stored)
  writes.changes.push([id, stored, ''])
  if (before === undefined || before.level === 'ok') return
  const series = previous ?? sentSeries(id, before)
  if (series === undefined) return
  const rule = ruleFor(settings.rules, account, series)
  const event = { reason: 'recovered' as const, level: before.level }
  const decided = { state: notifiedState(before, now), event, because: { is: 'gone' as const } }
  const alert = limitAlert(poll, { series, previous: series, rule, before }, decided)
  writes.entries.push(encodeEntry(entryOf(alert, before)))
}

/** The series by its last message, where no reading is left: a receiver that got the beginning gets the end. */
function sentSeries(id: string, { lastSent }: SeriesState): Series | undefined {
  const name = parseSeriesId(id)
  return name === undefined || lastSent === null ? undefined : { id, ...name, ...asReading(lastSent) }
}

/** A series that an alert is about. */
interface Subject {
  series: Series
  /** Absent where the series is gone. */
  outlook?: Outlook
  previous: Series | undefined
  rule: Rule | undefined
  before: SeriesState | undefined
}

interface Decision {
  state: SeriesState
  event: { reason: AlertReason; level: AlertLevel }
  because: Because
}

function limitAlert({ settings, account }: Poll, subject: Subject, { event, state, because }: Decision): Alert {
  const { series, rule, before } = subject
  const at = readAt(series, account.after) ?? state.sentAt
  const { hubId, hubDomain } = account
  const transition = { level: event.level, reason: event.reason, at, url: settings.pageOf(hubId) }
  return {
    ...transitionOf({ hubId, hubDomain }, series.id, state, transition),
    ...seriesFields(series),
    ...daysLeftOf(subject.outlook),
    ...defined({
      threshold: thresholdOf(levelOf(rule, event.level, series)),
      previous: previousOf(before, subject.previous, account.before),
    }),
    records: recordsOf(subject, account),
    because,
  }
}

function recordsOf({ series, before }: Subject, account: PolledAccount) {
  const shown = shownRecords(series, account.after, account.samples)
  // A pair that is gone has no list: no record left it.
  const samples = account.samples[keyOf(series)]
  return before === undefined || before.level === 'ok' ? shown : recordsSince(before.lastSent, shown, samples)
}

export function daysLeftOf(outlook: Outlook | undefined): Pick<Alert, 'daysLeft' | 'daysLeftRange'> {
  if (outlook?.daysLeft == null) return {}
  const { forecast } = outlook
  if (forecast === null || forecast.days === 0) return { daysLeft: tenths(outlook.daysLeft) }
  const { days, earliest, latest } = forecast
  return {
    daysLeft: tenths(days),
    daysLeftRange: { earliest: tenths(earliest), ...(latest === null ? {} : { latest: tenths(latest) }) },
  }
}

/** The values that were sent last; before the first message those of the poll before. */
function previousOf(
  before: SeriesState | undefined,
  previous: Series | undefined,
  readings: Readings | undefined,
): Alert['previous'] {
  if (before?.lastSent != null && before.level !== 'ok') {
    const { level, usage, limit, at } = before.lastSent
    return { level, usage, ...defined({ limit }), measuredAt: iso(at) }
  }
  const at = previous && readAt(previous, readings)
  if (previous === undefined || at === undefined) return undefined
  return { level: 'ok', usage: previous.usage, ...defined({ limit: previous.limit ?? undefined }), measuredAt: iso(at) }
}

export function thresholdOf(level: Level | undefined): Alert['threshold'] {
  if (level === undefined) return undefined
  const { percent, count, remaining, daysLeft } = level
  return defined({ percent, count, remaining, daysLeft })
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
