import { useToStore } from '../provider/bucket-use.ts'
import type { AlertWrites } from '../redis/steps.ts'
import { parkedUntil } from '../tokens/after-failure.ts'
import { staleAfter } from './coverage.ts'
import { digestsOf } from './digest.ts'
import { decodeForecasts, freshUntil } from './forecast/stored-forecasts.ts'
import { changeBetween } from './history/change.ts'
import { nearestLimit } from './nearest-limit.ts'
import { pairId } from './pair.ts'
import type { FoundReadings, MadePoll, NextPoll, PollJudgement, PollRules } from './poll.ts'
import { linesOfGaps, linesOfTroubles, linesOfTypesLeftOut } from './poll-lines.ts'
import type { PollState } from './poll-state.ts'
import { readAnswers, readChanged, recordDigests, withUnchanged } from './polling/answers.ts'
import { type PollPlan, planAfterFailure, planPoll } from './polling/plan-poll.ts'
import {
  failingAfter,
  failingAlertAt,
  gapsAfter,
  outcomeOf,
  type PollOutcome,
  reportsWithGaps,
  troublesAfter,
} from './polling/poll-outcome.ts'
import { isFailure, mergeReadings, type Reports, reportOfKey } from './readings.ts'
import { mergeSamples, type Samples } from './samples.ts'
import { seriesOf } from './series.ts'
import { StoredReadings } from './stored-readings.ts'

/** Decides on a poll, and on the account's next one, from these values alone. */
export function nextPoll(poll: MadePoll, rules: PollRules, now: number): NextPoll | 'asks for facts' {
  const { account, answers, at } = poll
  const { state } = account
  const bucket = useToStore(state.bucket, answers.bucketUse, at)
  const hot = { bucket, calls: answers.calls }
  const changed = mayRest(poll, rules) ? readChanged(state, answers, rules.samples.records) : undefined
  if (changed?.size === 0 && !hasNews(rules.judge.judgeBucket(poll, bucket))) return rest(poll, rules, hot)
  const reports = changed === undefined ? readAnswers(answers) : withUnchanged(changed, state, answers)
  const outcome = outcomeOf(reports, answers)
  if (poll.facts === undefined && needsFacts(state, outcome)) return 'asks for facts'

  const found = compare(poll, reports, outcome)
  const shown = found && mergeSamples(poll.facts?.samples ?? {}, { at, reports }, rules.samples)
  const forecasts = decodeForecasts(account.forecasts)
  const parked = parkedBy(outcome, now)
  const judgement = rules.judge.judge(poll, {
    now,
    outcome,
    bucket,
    found,
    samples: shown ?? {},
    forecasts,
    failsForLong: failsForLong(rules, poll, outcome, now),
    parkedUntil: parked,
  })

  const { plan, isNear } = planNext(rules, poll, outcome, { found, judgement, now })
  const records =
    changed === undefined ? recordsAfter(rules, poll, { reports, outcome, shown }) : { kept: state.records }
  const gaps = reportsWithGaps(reports)
  const after: PollState = {
    ...state,
    ...troublesAfter(state, outcome, now),
    ...hot,
    isInterrupted: false,
    digests: outcome.readAll && gaps === 0 ? (answers.digests ?? '') : '',
    rules: '',
    restUntil: 0,
    turn: { regularAt: plan.regularAt, because: plan.because },
    polledAt: outcome.readAnything ? at : state.polledAt,
    readings: found === undefined ? state.readings : StoredReadings.of(found.after, at),
    typesLeftOut: typesLeftOut(state, reports),
    gaps: gapsAfter(state.gaps, reports),
    notAvailable: answers.notAvailable,
    unconfirmed: answers.unconfirmed,
    companionsAwayUntil: answers.companionsAwayUntil ?? state.companionsAwayUntil,
    allPairsRead: state.allPairsRead || answers.allPairsRead,
    hasAlerts: Object.keys(judgement.states).length > 0,
    records: records.kept,
  }
  return {
    outcome: outcome.readAnything ? 'committed' : outcome.failures.length > 0 ? 'failed' : 'blocked',
    state: isNear ? after : { ...after, ...restAfter(rules, poll, after, judgement) },
    nextAt: Math.max(plan.at, answers.pausedUntil ?? 0, parked ?? 0),
    freshAt: found && freshFrom(rules, poll),
    more: {
      alerts: judgement.alerts,
      change: found?.change,
      samples: records.write,
      parkedUntil: parked,
      nearness: found && (nearestLimit(found.after, forecasts, at)?.nearness ?? 'none'),
      failingSince: after.failing?.since ?? (state.failing === undefined ? undefined : 'over'),
      isBlocked: after.blocked?.what === 'all' ? true : undefined,
      isFirst: mayBeFirst(state) && (found !== undefined || after.blocked?.what === 'all') ? true : undefined,
    },
    gaps,
    lines: [
      ...linesOfTroubles(account, outcome),
      ...linesOfGaps(account.hubId, state.gaps, after.gaps),
      ...linesOfTypesLeftOut(account.hubId, state.typesLeftOut, after.typesLeftOut),
    ],
  }
}

/** Records of reports that were not read, and why refreshes fail: for an alert. */
function needsFacts({ records }: PollState, { failures, readAll }: PollOutcome): boolean {
  return failures.length > 0 || (!readAll && records !== undefined)
}

/** Readings that are further apart than so many periods have a gap between them: the history records it. */
const GAP_PERIODS = 2

/** True where a poll that brings the same answers as the last one brings nothing new. */
function mayRest(poll: MadePoll, rules: PollRules): boolean {
  const { account, settings, at } = poll
  const { state } = account
  if (state.digests === '' || at >= state.restUntil) return false
  if (at - state.polledAt > GAP_PERIODS * settings.everyMs) return false
  return state.rules === rulesDigest(rules, poll, account.alertStates)
}

function hasNews({ changes, entries }: AlertWrites): boolean {
  return changes.length > 0 || entries.length > 0
}

/** All is as it was, but read at another moment. */
function rest(poll: MadePoll, rules: PollRules, hot: Pick<PollState, 'bucket' | 'calls'>): NextPoll {
  const { account, answers, at } = poll
  const { state } = account
  const plan = planPoll({ ...subjectOfPlan(poll), isFirst: false, series: [], boundaries: new Map() })
  const { regularAt, because } = plan
  const readings = StoredReadings.read(state.readings.text, at)
  return {
    outcome: 'committed',
    state: { ...state, ...hot, digests: answers.digests ?? '', polledAt: at, turn: { regularAt, because }, readings },
    nextAt: Math.max(plan.at, answers.pausedUntil ?? 0),
    freshAt: freshFrom(rules, poll),
    more: undefined,
    gaps: 0,
    lines: [],
  }
}

/** Until when polls rest, and by which rules: not where something failed, as not everything was read then. */
function restAfter(
  rules: PollRules,
  poll: MadePoll,
  { digests, records }: PollState,
  { restUntil, states }: PollJudgement,
): Pick<PollState, 'rules' | 'restUntil'> {
  if (digests === '') return { rules: '', restUntil: 0 }
  const forecastsUntil = freshUntil(poll.account.forecasts, poll.at)
  const until = Math.min(restUntil, forecastsUntil, records === undefined ? restUntil : renewAt(records.until, rules))
  return { rules: rulesDigest(rules, poll, states), restUntil: until }
}

/** Digest of all that a judgement rests on beside the answers. */
function rulesDigest(
  { judge, samples }: PollRules,
  { account, settings }: MadePoll,
  states: Readonly<Record<string, string>>,
): string {
  const { hubDomain, forecasts } = account
  const { reports, pairs } = settings
  // Forecasts begin with the moment at which they were made.
  const text = [judge.settings, samples.records, samples.keepMs, hubDomain, forecasts.slice(0, 24)]
  for (const { name } of reports) text.push(name)
  if (pairs === 'auto') text.push(pairs)
  else for (const pair of pairs) text.push(pairId(pair))
  for (const field of Object.keys(states).sort()) text.push(field, states[field] as string)
  return digestsOf([text.join('\0')])
}

function compare(
  { account, settings, at }: MadePoll,
  reports: Reports,
  { readAnything }: PollOutcome,
): FoundReadings | undefined {
  if (!readAnything) return undefined
  const before = account.state.readings.all
  const after = mergeReadings(before, { at, reports })
  const change = changeBetween(before, after, at, GAP_PERIODS * settings.everyMs)
  return { before, after, change }
}

/** An account that moves to another data center: its token is not to be refreshed before, and may end meanwhile. */
function parkedBy({ failures }: PollOutcome, now: number): number | undefined {
  const failure = failures.find(({ class: kind }) => kind === 'parked')
  return failure && Math.round(parkedUntil(failure, now))
}

function failsForLong(
  { alertAfter }: PollRules,
  { account, settings }: MadePoll,
  outcome: PollOutcome,
  now: number,
): boolean {
  const failing = failingAfter(account.state, outcome, now)
  return failing !== undefined && now >= failingAlertAt(failing.since, settings.everyMs, alertAfter)
}

/** The account's next poll, by its readings, their place among the thresholds, and its failures. */
function planNext(
  { alertAfter }: PollRules,
  poll: MadePoll,
  { failures }: PollOutcome,
  { found, judgement, now }: { found: FoundReadings | undefined; judgement: PollJudgement; now: number },
): { plan: PollPlan; isNear: boolean } {
  const subject = subjectOfPlan(poll)
  const plan = found && planPoll({ ...subject, ...judgedSeries(found, judgement), isFirst: found.before === undefined })
  const isNear = plan?.isNear ?? false
  if (plan !== undefined && failures.length === 0) return { plan, isNear }
  const { failing } = poll.account.state
  const tellAt = failingAlertAt(Math.min(failing?.since ?? now, now), subject.everyMs, alertAfter)
  return { plan: planAfterFailure(subject, failures, { count: failing?.count ?? 0, tellAt, now }, plan), isNear }
}

function judgedSeries({ after }: FoundReadings, { boundaries }: PollJudgement) {
  const series = seriesOf(after)
  return { series, boundaries: boundaries(series) }
}

function subjectOfPlan({ account: { hubId, state }, settings: { everyMs, soonestMs }, readAt }: MadePoll) {
  return { hubId, at: readAt, everyMs, soonestMs, turn: state.turn }
}

/** The records behind the numbers after a poll; `shown`: those that are kept from now on, undefined: nothing was read. */
function recordsAfter(
  { samples }: PollRules,
  { account, at }: MadePoll,
  { reports, outcome, shown }: { reports: Reports; outcome: PollOutcome; shown: Samples | undefined },
): { kept: PollState['records']; write?: Samples | undefined } {
  const { records } = account.state
  if (shown === undefined) return { kept: records }
  if (Object.keys(shown).length === 0) return { kept: undefined, write: records && shown }
  const digests = outcome.readAll ? recordDigests(reports, samples.records) : ''
  const areKept = records !== undefined && at < renewAt(records.until, { samples })
  if (areKept && digests !== '' && digests === records.digests) return { kept: records }
  const readAt = Object.values(shown).reduce((last, one) => Math.max(last, one.at), 0)
  return { kept: { digests, age: at - readAt, until: at + samples.keepMs }, write: shown }
}

/** Records that are read again are stored anew at half of their time, so that none expire. */
function renewAt(until: number, { samples }: Pick<PollRules, 'samples'>): number {
  return until - samples.keepMs / 2
}

/** One that is polled seldom stays fresh for longer. */
function freshFrom({ coverage }: PollRules, { settings, readAt }: MadePoll): number {
  return readAt + staleAfter(coverage, settings.everyMs) - coverage.freshnessMs
}

/** Nothing was read of it yet, or not since its grant. */
function mayBeFirst({ isInterrupted, polledAt, failing }: PollState): boolean {
  return isInterrupted || polledAt === 0 || failing !== undefined
}

/** The number of before, where the report could not be read. */
function typesLeftOut(before: PollState, reports: Reports): number {
  let most = 0
  for (const [key, report] of reports) {
    if (!reportOfKey(key)?.report.namesTypes) continue
    if (isFailure(report)) return before.typesLeftOut
    most = Math.max(most, report.leftOut ?? 0)
  }
  return most
}
