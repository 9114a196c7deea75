import { fingerprint, NOT_JUDGED } from '../../limits/fingerprints.ts'
import { areFresh } from '../../limits/forecast/stored-forecasts.ts'
import { type Pair, pairId } from '../../limits/pair.ts'
import type { Begun } from '../../limits/poll-store.ts'
import type { Report } from '../../limits/reports/report.ts'
import type { RecordChoice } from '../../limits/samples.ts'
import { decodeState, POLL_FIELD, TOKEN_FIELD } from '../alert-state.ts'
import type { AlertSettings } from './decide.ts'

/**
 * The fingerprint of all that a judgement rests on beside the numbers: a poll that judged the same numbers by it before has
 * nothing to add, as long as no time comes into it (`mayRest`).
 *
 * @param states as the judgement left them
 */
export function judgedBy(
  settings: AlertSettings,
  { hubDomain, forecasts }: Pick<Begun, 'hubDomain' | 'forecasts'>,
  states: Readonly<Record<string, string>>,
  watched: Watched,
): string {
  const fields = Object.keys(states).filter(isOfSeries).sort()
  let text = `${textOf(settings)}\0${watchedText(watched)}\0${hubDomain}\0${forecasts}`
  for (const field of fields) text += `\0${field}\0${states[field]}`
  return fingerprint(text)
}

/** The reports, pairs and record choice of an account's polls, which a judgement is remembered with. */
export interface Watched {
  reports: readonly Pick<Report, 'name'>[]
  pairs: readonly Pair[] | 'auto'
  records: RecordChoice
}

function watchedText({ reports, pairs, records }: Watched): string {
  const names = reports.reduce((text, { name }) => `${text} ${name}`, records as string)
  return pairs === 'auto' ? `${names} auto` : pairs.reduce((text, pair) => `${text} ${pairId(pair)}`, names)
}

/**
 * Counted up by a developer who changes how numbers are read from answers, or how they are judged: then each account is judged
 * anew once, though its answers stay the same.
 */
const JUDGING_VERSION = 2

/** Settings are read once: each account's judgement names them. */
const TEXTS = new WeakMap<AlertSettings, string>()

function textOf(settings: AlertSettings): string {
  const before = TEXTS.get(settings)
  if (before !== undefined) return before
  const { rules, recoverBelow, for: polls, repeatEveryMs, worseAfterMs, firstRun } = settings
  const judging = [JUDGING_VERSION, rules, recoverBelow, polls, repeatEveryMs, worseAfterMs, firstRun]
  const text = fingerprint(JSON.stringify(judging))
  TEXTS.set(settings, text)
  return text
}

/** True where an unchanged number would be judged at `now` as the last poll judged it, which was near no level. */
export function isJudgedAlike(settings: AlertSettings, begun: Begun, watched: Watched, now: number): boolean {
  const { alertStates, watch, forecasts } = begun
  if (watch.seen === undefined || watch.seen.judged === NOT_JUDGED) return false
  if (watch.seen.judged !== judgedBy(settings, begun, alertStates, watched)) return false
  // A forecast grows too old between two polls: what rests on it is another matter then.
  return areFresh(forecasts, watch.polledAt) === areFresh(forecasts, now)
}

/**
 * True where unchanged numbers, judged alike, need no judging at `now`: nothing counts polls or waits for its time. An
 * alert about polls, or polls that failed, are over once one works: that poll finds it.
 */
export function needsNoJudging(settings: AlertSettings, { alertStates, watch }: Begun, now: number): boolean {
  if (watch.failing !== undefined || watch.blocked !== undefined) return false
  for (const field in alertStates) {
    if (field === POLL_FIELD) return false
    if (isOfSeries(field) && !isQuiet(alertStates[field] as string, settings, watch.polledAt, now)) return false
  }
  return true
}

function isQuiet(
  stored: string,
  { repeatEveryMs, worseAfterMs }: AlertSettings,
  polledAt: number,
  now: number,
): boolean {
  const state = decodeState(stored)
  if (state === undefined) return false
  const { pending, acknowledged, sentAt } = state
  if (pending !== null || acknowledged !== undefined || now - sentAt >= repeatEveryMs) return false
  // A series that got worse too soon after the last message is sent by the first poll after that time, though nothing
  // moved.
  const worseFrom = worseAfterMs === undefined ? now + 1 : sentAt + worseAfterMs
  return worseFrom <= polledAt || worseFrom > now
}

function isOfSeries(field: string): boolean {
  return field !== TOKEN_FIELD && field !== POLL_FIELD
}

/** True where the next poll has to know any of these states. */
export function hasPolledAlerts(states: Readonly<Record<string, string>>): boolean {
  for (const field in states) if (field !== TOKEN_FIELD) return true
  return false
}
