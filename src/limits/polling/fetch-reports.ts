import { isDeepStrictEqual } from 'node:util'
import type { CrmResult, ProviderFailure } from '../../provider/failure.ts'
import type { Secret } from '../../runtime/secret.ts'
import { digestsOf } from '../digest.ts'
import { type Pair, pairId } from '../pair.ts'
import type { LoadedAccount } from '../poll.ts'
import {
  failuresOf,
  isFailure,
  mergeReadings,
  NOT_ASKED,
  pairsIn,
  type Reports,
  readingKey,
  reportOfKey,
  typesIn,
} from '../readings.ts'
import type { ReadReport, Report } from '../reports/report.ts'
import type { AccountCalls, FetchDeps } from './account-calls.ts'
import { type Answers, type ReportAnswer, readReport } from './answers.ts'
import { askableTypes, askCompanions, type CompanionPoll, choosePairs, listedPairs } from './choose-pairs.ts'
import type { AccountPollSettings } from './poll-settings.ts'
import { ASK_AGAIN_MS, asPassing, isRefusal, Refusals } from './refusals.ts'

/** The account to poll, and the reports to ask for. */
export interface PollTarget {
  hubId: number
  accessToken: Secret
  /** State of the account: its readings are parsed only where they matter. */
  account: Pick<LoadedAccount, 'state' | 'pausedUntil'>
  /** `auto`: every ordered pair of the account's object types, in turns or as the companions name them. */
  settings: Pick<AccountPollSettings, 'reports' | 'pairs' | 'pairsPerPoll' | 'soonestMs'>
  /** Ask also for reports that the account did not have: someone wants to know now. */
  asksAll: boolean
}

/** A poll with the answers that have come so far. */
interface Poll extends CompanionPoll {
  settings: PollTarget['settings']
  answers: Map<string, ReportAnswer>
  notAvailable: Record<string, number>
  allPairsRead: boolean
}

/**
 * The limits endpoints (interface 4.5, 4.6) for one account, by as many of the calls of its poll as there is leave for;
 * undefined if these were stopped first. A poll may ask twice.
 */
export async function fetchReports(
  { provider, clock }: Pick<FetchDeps, 'provider' | 'clock'>,
  asked: PollTarget,
  calls: AccountCalls,
): Promise<Answers | undefined> {
  const { accessToken, account, settings } = asked
  const { state, pausedUntil } = account
  const at = clock.now()
  const notAvailable = asked.asksAll ? {} : notAvailableOf(asked, at)
  const left = settings.reports.filter(({ name }) => notAvailable[name] === undefined)
  // A poll without any call would be one that waits, and would be made again at once.
  const reports = left.length === 0 ? settings.reports : left
  const poll: Poll = {
    provider,
    accessToken,
    calls,
    settings: { ...settings, reports },
    state,
    at,
    answers: new Map(),
    companions: { failures: [] },
    notAvailable,
    refusals: new Refusals(state.unconfirmed, at, settings.soonestMs),
    allPairsRead: false,
  }
  calls.beginRound(pausedUntil)
  if (settings.pairs === 'auto') await askForAll(poll)
  else await askForListed(poll, settings.pairs)
  if (calls.stopped) return undefined
  confirmForbidden(poll)
  return answersOf(poll)
}

/** True where the access token was not accepted: worth one refresh and one more try. */
export function wasUnauthorized({ reports, troubles }: Answers): boolean {
  return [...failuresOf(reports.values()), ...troubles].some((failure) => failure.class === 'unauthorized')
}

/** Reports that are not available, of those asked for. */
function notAvailableOf({ account, settings }: PollTarget, now: number): Record<string, number> {
  const known = settings.reports.map(({ name }) => [name, account.state.notAvailable[name] ?? 0] as const)
  return Object.fromEntries(known.filter(([, until]) => until > now))
}

async function askForListed(poll: Poll, pairs: readonly Pair[]): Promise<void> {
  const { state, answers, calls } = poll
  const { once, paired } = reportsOf(poll)
  for (const { name } of once) answers.set(name, PAUSED)
  for (const report of paired) for (const pair of pairs) answers.set(readingKey(report, pair), NOT_ASKED)
  // All readings are of one age, so that no pair has waited longer: parsing them would cost more than a call.
  const ordered = state.digests !== '' ? pairs : listedPairs(pairs, pairsIn(state.readings.all))
  await ask(poll, [...once.map((report) => ({ report, pair: NO_PAIR })), ...eachOf(ordered, paired)])
  if (!calls.leftOut) return
  // Pairs that were not asked for keep their earlier readings, if they have any.
  for (const [key, answer] of answers) {
    if (answer === NOT_ASKED && state.readings.all?.[key] === undefined) answers.delete(key)
  }
}

/** First the reports that are asked for once: they name the object types. */
async function askForAll(poll: Poll): Promise<void> {
  const { state, settings, answers, at } = poll
  const before = state.readings.all
  const { once, paired } = reportsOf(poll)
  for (const { name } of once) answers.set(name, PAUSED)
  await ask(
    poll,
    once.map((report) => ({ report, pair: NO_PAIR })),
  )
  const reports = readAll(poll)
  const types = askableTypes(typesIn(mergeReadings(before, { at, reports }))?.keys() ?? [])
  const readings = pairsIn(before)
  if (types.length > 0 && ![...reports.values()].every(closesAll)) {
    const busy = await askCompanions(poll, types)
    const { ask: chosen, empty, isAll } = choosePairs({ types, readings, busy, pairsPerPoll: settings.pairsPerPoll })
    for (const { report, pair } of eachOf(empty, paired)) {
      recordNone(poll, report, pair, readings.get(pairId(pair))?.limit ?? 0)
    }
    const wanted = eachOf(chosen, paired)
    await ask(poll, wanted)
    const read = readAll(poll)
    poll.allPairsRead =
      isAll && wanted.every(({ report, pair }) => !isFailure(read.get(readingKey(report, pair)) ?? NOT_ASKED))
  }
  keepOtherPairs(poll, types)
}

function reportsOf({ settings: { reports } }: Poll): { once: Report[]; paired: Report[] } {
  const { once = [], paired = [] } = Object.groupBy(reports, ({ perPair }) => (perPair ? 'paired' : 'once'))
  return { once, paired }
}

/** A call for one report. */
interface Wanted {
  report: Report
  pair: Pair
}

const NO_PAIR: Pair = { from: '', to: '' }

function eachOf(pairs: readonly Pair[], paired: readonly Report[]): Wanted[] {
  return pairs.flatMap((pair) => paired.map((report) => ({ report, pair })))
}

/** Asks for these in their order, as far as there is leave, and keeps the bytes of each answer. */
async function ask(poll: Poll, wanted: readonly Wanted[]): Promise<void> {
  const { provider, accessToken, calls } = poll
  const asked = wanted.map(({ report, pair }) => {
    const call = { endpoint: report.name, path: report.path(pair), read: (body: Buffer) => body }
    return () => provider.limits(accessToken, call)
  })
  for (const [n, result] of (await calls.make(asked)).entries()) {
    if (result !== undefined) keep(poll, wanted[n] as Wanted, result)
  }
}

function keep(poll: Poll, { report, pair }: Wanted, result: CrmResult<Buffer>): void {
  const { answers, state, notAvailable, refusals, at } = poll
  const key = readingKey(report, pair)
  const lack = report.mayLack ? lackIn(result) : undefined
  if (lack !== undefined) {
    // One that was read before stays as it is until enough polls agree.
    if (state.readings.all?.[key] !== undefined && !refusals.counts(report.name)) answers.set(key, asPassing(lack))
    else {
      answers.delete(key)
      notAvailable[report.name] = at + ASK_AGAIN_MS
    }
  } else if (isUnknownPair(poll, pair, result)) recordNone(poll, report, pair, 0)
  else answers.set(key, result.ok ? result.value : result.failure)
}

/** The provider's word that the account's plan has no such limit, or its scopes don't show it. */
function lackIn(result: CrmResult<Buffer>): ProviderFailure | undefined {
  if (!result.ok) return isRefusal(result.failure, 403, 404) ? result.failure : undefined
  return result.value.length < 8 && result.value.toString().trim() === '{}' ? EMPTY : undefined
}

const EMPTY: ProviderFailure = {
  class: 'client',
  code: 'empty',
  message: 'the provider answered 200 with an empty object',
  status: 200,
}

/** A pair of `auto` was not configured: one that the provider doesn't know has nothing at its limit, now and when asked again. */
function isUnknownPair({ settings, state }: Poll, pair: Pair, result: CrmResult<Buffer>): boolean {
  if (pair === NO_PAIR || settings.pairs !== 'auto' || result.ok || !isRefusal(result.failure, 400, 404)) return false
  const before = pairsIn(state.readings.all).get(pairId(pair))
  return before === undefined || (before.limit === 0 && !before.isBusy)
}

function recordNone({ answers }: Poll, report: Report, pair: Pair, limit: number): void {
  if (report.perPair !== undefined) answers.set(readingKey(report, pair), report.perPair.none(pair, limit))
}

/** Reads the answers at once: what is asked for next hangs on them. */
function readAll({ answers }: Poll): Reports {
  const read = new Map([...answers].map(([key, answer]) => [key, readReport(key, answer)]))
  for (const [key, report] of read) answers.set(key, report)
  return read
}

/** A refusal that the other endpoints would only repeat: the token, or its scopes. */
function closesAll(report: ReadReport | ProviderFailure): boolean {
  return isFailure(report) && (report.class === 'unauthorized' || report.class === 'forbidden')
}

/** Pairs that were read before and not asked for now stay, while the account has their object types. No types at all: it is not known. */
function keepOtherPairs({ state, settings, answers }: Poll, types: readonly string[]): void {
  for (const key of Object.keys(state.readings.all ?? {})) {
    const { report, pair } = reportOfKey(key) ?? {}
    if (report?.perPair === undefined || pair === undefined || !settings.reports.includes(report)) continue
    const isThere = types.length === 0 || (types.includes(pair.from) && types.includes(pair.to))
    if (isThere && !answers.has(key)) answers.set(key, NOT_ASKED)
  }
}

/** A refusal without a word on the missing scope leaves a report as it is until enough polls agree. */
function confirmForbidden({ state, answers, refusals }: Poll): void {
  const forbidden = [...answers].flatMap(([key, answer]) =>
    isFailure(answer) && answer.class === 'forbidden' ? [{ key, refusal: answer }] : [],
  )
  if (state.blocked !== undefined || forbidden.some(({ refusal }) => refusal.scopes !== undefined)) return
  for (const { key, refusal } of forbidden) {
    if (!refusals.counts(nameOfKey(key))) answers.set(key, asPassing(refusal))
  }
}

const PAUSED: ProviderFailure = {
  class: 'transient',
  code: 'paused',
  message: "the rest waits: the provider's rate limit for this account is reached, or nearly so",
  status: 0,
}

function answersOf(poll: Poll): Answers {
  const { calls, answers, companions, notAvailable, refusals } = poll
  const isWhole = failuresOf(answers.values()).length === 0 && companions.failures.length === 0
  for (const [key, answer] of answers) {
    if (!isFailure(answer) || answer.class === 'forbidden') refusals.isAnswered(nameOfKey(key))
  }
  return {
    at: poll.at,
    reports: inOrder(poll),
    digests: digestsIn(poll),
    calls: calls.toCount,
    bucketUse: calls.bucketUse,
    troubles: calls.leftOut && isWhole ? [PAUSED] : companions.failures,
    notAvailable,
    unconfirmed: refusals.unconfirmed(),
    pausedUntil: calls.pausedUntil,
    allPairsRead: poll.allPairsRead,
    companionsAwayUntil: companions.awayUntil,
  }
}

function nameOfKey(key: string): string {
  return reportOfKey(key)?.report.name ?? key
}

const byNumbers = new Intl.Collator('en', { numeric: true })

/** Pairs of `auto` by their ids, so that they are in the same order after every poll. What is listed is in its order already. */
function inOrder({ answers, settings }: Poll): ReadonlyMap<string, ReportAnswer> {
  if (settings.pairs !== 'auto') return answers
  const { once = [], paired = [] } = Object.groupBy(answers, ([key]) => (key.includes('/') ? 'paired' : 'once'))
  return new Map([...once, ...paired.sort(([a], [b]) => byNumbers.compare(a, b))])
}

function digestsIn({ state, settings, answers, calls, notAvailable }: Poll): string | undefined {
  if (settings.pairs === 'auto' || calls.leftOut) return undefined
  // A missing report is remembered with the rest of the poll: a poll that only compares bytes would ask for it each
  // time.
  if (!isDeepStrictEqual(notAvailable, state.notAvailable)) return undefined
  const bodies = [...answers.values()].filter((answer) => Buffer.isBuffer(answer))
  return bodies.length === answers.size ? digestsOf(bodies) : undefined
}
