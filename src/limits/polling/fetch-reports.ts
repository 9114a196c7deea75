import type { LimitsCall, ProviderClient } from '../../provider/client.ts'
import type { CrmResult, ProviderFailure, ProviderResult } from '../../provider/failure.ts'
import type { Secret } from '../../runtime/secret.ts'
import { answerDigests } from '../digest.ts'
import { type Pair, pairId, pairOf } from '../pair.ts'
import type { LoadedAccount } from '../poll.ts'
import type { PollState } from '../poll-state.ts'
import {
  failuresOf,
  isFailure,
  mergeReadings,
  NOT_ASKED,
  pairsIn,
  readingKey,
  reportOfKey,
  typesIn,
} from '../readings.ts'
import { ASSOCIATION_SOURCES, associationTargets, type BusyObjectType } from '../reports/companions.ts'
import type { ReadReport, Report } from '../reports/report.ts'
import type { AccountCall, AccountCalls, FetchDeps } from './account-calls.ts'
import { type Answers, type RawReport, readReport } from './answers.ts'
import { askableTypes, type BusyPairs, busyAmong, choosePairs, chooseSources, listedPairs } from './choose-pairs.ts'
import {
  asPassing,
  COMPANION_CALLS,
  confirmRefusal,
  type Unconfirmed,
  type UnconfirmedRefusals,
} from './confirm-refusal.ts'
import type { AccountPollSettings } from './poll-settings.ts'

/** The account to poll, and the reports to ask for. */
export interface PollTarget {
  hubId: number
  accessToken: Secret
  /** The account; its readings are parsed only where they matter. */
  account: Pick<LoadedAccount, 'state' | 'pausedUntil'>
  /** `auto`: every ordered pair of the account's object types, in turns or as the companions name them. */
  settings: Pick<AccountPollSettings, 'reports' | 'pairs' | 'pairsPerPoll' | 'soonestMs'>
  /** Ask also for reports that the account did not have: someone wants to know now. */
  asksAll: boolean
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
  const { settings } = asked
  const now = clock.now()
  const notAvailable = asked.asksAll ? {} : notAvailableOf(asked, now)
  const left = settings.reports.filter(({ name }) => notAvailable[name] === undefined)
  // A poll without any call would be one that waits, and would be made again at once.
  const reports = left.length === 0 ? settings.reports : left
  const once = reports.filter(({ perPair }) => perPair === undefined)
  const fetched: RawFetched = { at: now, reports: new Map(once.map(({ name }) => [name, PAUSED])) }
  const poll: Poll = {
    ...asked,
    state: asked.account.state,
    settings: { ...settings, reports },
    provider,
    calls,
    fetched,
    companions: { failures: [] },
    notAvailable,
    lacking: new Map(),
    unconfirmed: {},
  }
  calls.beginRound(asked.account.pausedUntil)
  if (settings.pairs === 'auto') await askForAll(poll, once)
  else await askForListed(poll, once, settings.pairs)
  return calls.stopped ? undefined : answersOf(poll)
}

/** Reports that are not available, of those asked for. */
function notAvailableOf({ account, settings }: PollTarget, now: number): Record<string, number> {
  const notAvailable: Record<string, number> = {}
  for (const { name } of settings.reports) {
    const until = account.state.notAvailable[name] ?? 0
    if (until > now) notAvailable[name] = until
  }
  return notAvailable
}

/** True where the access token was not accepted: worth one refresh and one more try. */
export function wasUnauthorized({ reports, troubles }: Answers): boolean {
  return [...failuresOf(reports.values()), ...troubles].some((failure) => failure.class === 'unauthorized')
}

/** `Fetched`, some of it not read yet. */
interface RawFetched {
  at: number
  reports: Map<string, RawReport>
}

interface Poll extends PollTarget {
  state: PollState
  provider: ProviderClient
  calls: AccountCalls
  fetched: RawFetched
  companions: { failures: ProviderFailure[]; awayUntil?: number; isRead?: true }
  notAvailable: Record<string, number>
  /** Answers that the account does not have a report, by its name. */
  lacking: Map<string, ProviderFailure>
  unconfirmed: Record<string, Unconfirmed>
  allPairsRead?: boolean
}

const PAUSED: ProviderFailure = {
  class: 'transient',
  code: 'paused',
  message: "the rest waits: the provider's rate limit for this account is reached, or nearly so",
  status: 0,
}

function answersOf(poll: Poll): Answers {
  const { settings, calls, fetched, companions, notAvailable, allPairsRead = false } = poll
  const unconfirmed = confirmRefusals(poll)
  const isWhole = failuresOf(fetched.reports.values()).length === 0 && companions.failures.length === 0
  return {
    at: fetched.at,
    reports: inOrder(fetched.reports, settings),
    digests: digestsOf(poll),
    calls: calls.made,
    bucketUse: calls.bucketUse,
    troubles: calls.leftOut && isWhole ? [PAUSED] : companions.failures,
    notAvailable,
    unconfirmed,
    pausedUntil: calls.pausedUntil,
    allPairsRead,
    companionsAwayUntil: companions.awayUntil,
  }
}

/**
 * A report that was read before, or is refused without a word on the missing scope, stays as it is until enough polls agree.
 * Returns the refusals that later polls have to confirm.
 */
function confirmRefusals(poll: Poll): UnconfirmedRefusals {
  const { state, fetched, lacking, notAvailable, unconfirmed } = poll
  const { reports, at } = fetched
  for (const [name, refusal] of lacking) {
    const wasRead = state.readings.all?.[name] !== undefined
    if (wasRead && !isConfirmed(poll, name)) reports.set(name, asPassing(refusal))
    else notAvailable[name] = at + ASK_AGAIN_MS
  }
  const forbidden = [...reports].flatMap(([key, raw]) =>
    isFailure(raw) && raw.class === 'forbidden' ? [{ key, refusal: raw }] : [],
  )
  const isKnown = state.blocked !== undefined || forbidden.some(({ refusal }) => refusal.scopes !== undefined)
  for (const { key, refusal } of isKnown ? [] : forbidden) {
    if (!isConfirmed(poll, nameOfKey(key))) reports.set(key, asPassing(refusal))
  }
  return { ...stillUnconfirmed(poll), ...unconfirmed }
}

/** Earlier refusals of what had no answer this time: nothing new is known of it. */
function stillUnconfirmed({ state, fetched, companions }: Poll): UnconfirmedRefusals {
  const before = Object.entries(state.unconfirmed)
  if (before.length === 0) return {}
  const reports = [...fetched.reports].map(([key, raw]) => ({ name: nameOfKey(key), raw }))
  const hadNoAnswer = (name: string) => {
    if (name === COMPANION_CALLS) return !companions.isRead && companions.awayUntil === undefined
    const own = reports.filter((one) => one.name === name)
    return own.length > 0 && own.every(({ raw }) => isFailure(raw) && raw.class !== 'forbidden')
  }
  return Object.fromEntries(before.filter(([name]) => hadNoAnswer(name)))
}

function isConfirmed({ state, settings, fetched, unconfirmed }: Poll, name: string): boolean {
  const after = confirmRefusal(state.unconfirmed[name], fetched.at, settings.soonestMs)
  if (after !== 'confirmed') unconfirmed[name] = after
  return after === 'confirmed'
}

function nameOfKey(key: string): string {
  return reportOfKey(key)?.report.name ?? key
}

function digestsOf({ state, settings, fetched, calls, notAvailable }: Poll): string | undefined {
  if (settings.pairs === 'auto' || calls.leftOut) return undefined
  // A missing report is remembered with the rest of the poll: a poll that only compares bytes would ask for it each
  // time.
  if (!isAlike(notAvailable, state.notAvailable)) return undefined
  const bodies: Buffer[] = []
  for (const raw of fetched.reports.values()) {
    if (!Buffer.isBuffer(raw)) return undefined
    bodies.push(raw)
  }
  return answerDigests(bodies)
}

function isAlike(some: Readonly<Record<string, number>>, others: Readonly<Record<string, number>>): boolean {
  for (const name in some) if (some[name] !== others[name]) return false
  for (const name in others) if (some[name] === undefined) return false
  return true
}

const NO_PAIR: Pair = { from: '', to: '' }

const byNumbers = new Intl.Collator('en', { numeric: true })

/** Pairs of `auto` by their ids, so that they are in the same order after every poll. What is listed is in its order already. */
function inOrder(
  read: ReadonlyMap<string, RawReport>,
  { pairs }: PollTarget['settings'],
): ReadonlyMap<string, RawReport> {
  if (pairs !== 'auto') return read
  const isOfPair = ([key]: readonly [string, unknown]) => reportOfKey(key)?.report.perPair !== undefined
  const all = [...read]
  const ofPairs = all.filter(isOfPair).sort(([a], [b]) => byNumbers.compare(a, b))
  return new Map([...all.filter((one) => !isOfPair(one)), ...ofPairs])
}

async function askForListed(poll: Poll, once: readonly Report[], pairs: readonly Pair[]): Promise<void> {
  const { state, settings, calls, fetched } = poll
  const paired = settings.reports.filter(({ perPair }) => perPair !== undefined)
  for (const report of paired) for (const pair of pairs) fetched.reports.set(readingKey(report, pair), NOT_ASKED)
  // All readings are of one age, so that no pair has waited longer: parsing them would cost more than a call.
  const ordered = state.digests !== '' ? pairs : listedPairs(pairs, pairsIn(state.readings.all))
  await calls.make([
    ...once.map((report) => ask(poll, report, NO_PAIR)),
    ...ordered.flatMap((pair) => paired.map((report) => ask(poll, report, pair))),
  ])
  if (!calls.leftOut) return
  // Pairs that were not asked for keep their earlier readings, if they have any.
  for (const [key, raw] of fetched.reports) {
    if (raw === NOT_ASKED && state.readings.all?.[key] === undefined) fetched.reports.delete(key)
  }
}

/** First the reports that are asked for once: they name the object types. */
async function askForAll(poll: Poll, once: readonly Report[]): Promise<void> {
  const { state, settings, calls, fetched } = poll
  const before = state.readings.all
  // Read at once: the rest hangs on it.
  await calls.make(once.map((report) => ask(poll, report, NO_PAIR, readReport)))
  // All of them are read by now.
  const reports = fetched.reports as Map<string, ReadReport | ProviderFailure>
  const types = askableTypes(typesIn(mergeReadings(before, { at: fetched.at, reports }))?.keys() ?? [])
  const readings = pairsIn(before)
  const paired = settings.reports.filter(({ perPair }) => perPair !== undefined)
  if (types.length > 0 && ![...reports.values()].every(closesAll)) {
    const busy = await askCompanions(poll, types)
    const { ask: chosen, empty, isAll } = choosePairs({ types, readings, busy, pairsPerPoll: settings.pairsPerPoll })
    for (const report of paired) {
      for (const pair of empty) recordNone(poll, report, pair, readings.get(pairId(pair))?.limit ?? 0)
    }
    await calls.make(chosen.flatMap((pair) => paired.map((report) => ask(poll, report, pair, readReport))))
    const isRead = (key: string) => !isFailure(reports.get(key) ?? NOT_ASKED)
    poll.allPairsRead = isAll && chosen.every((pair) => paired.every((report) => isRead(readingKey(report, pair))))
  }
  keepOtherPairs(poll, remainingPairs([...readings.keys()], types))
}

/** A refusal that the other endpoints would only repeat: the token, or its scopes. */
function closesAll(report: ReadReport | ProviderFailure): boolean {
  return isFailure(report) && (report.class === 'unauthorized' || report.class === 'forbidden')
}

const UNREAD = (_: string, raw: RawReport) => raw

/** `keep`: what is kept of an answer until all have come: its bytes, or what is read in it. */
function ask(poll: Poll, report: Report, pair: Pair, keep = UNREAD): AccountCall {
  const { provider, accessToken, state, settings, fetched } = poll
  const call: LimitsCall<Buffer> = { endpoint: report.name, path: report.path(pair), read: (body) => body }
  const key = readingKey(report, pair)
  const stored = (result: CrmResult<Buffer>): CrmResult<unknown> => {
    const lack = report.mayLack ? lackIn(result) : undefined
    if (lack !== undefined) {
      // Not a call that failed: it is how the provider says so.
      fetched.reports.delete(key)
      poll.lacking.set(report.name, lack)
      return { ...result, ok: true as const, value: NO_BODY }
    }
    // A pair of `auto` was not configured: one that the provider doesn't know has nothing at its limit, now and when asked again.
    const isUnknownPair = report.perPair !== undefined && settings.pairs === 'auto' && isNotThere(result)
    const before = isUnknownPair ? pairsIn(state.readings.all).get(pairId(pair)) : undefined
    if (isUnknownPair && (before === undefined || (before.limit === 0 && !before.isBusy)))
      recordNone(poll, report, pair, 0)
    else fetched.reports.set(key, keep(key, valueOrFailure(result)))
    return result
  }
  return keepResult((done) => provider.limits(accessToken, call, done), stored)
}

/** Stores the result of a call before the call is counted. */
function keepResult<T>(
  ask: (done: (result: CrmResult<T>) => void) => void,
  keep: (result: CrmResult<T>) => CrmResult<unknown>,
): AccountCall {
  return (done, failed) =>
    ask((result) => {
      let after: CrmResult<unknown>
      try {
        after = keep(result)
      } catch (error) {
        failed(error)
        return
      }
      done(after)
    })
}

const NO_BODY = Buffer.alloc(0)

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

/** The provider's own word with one of these statuses: the page of a proxy has another class. */
function isRefusal({ class: kind, status }: ProviderFailure, ...statuses: number[]): boolean {
  return (kind === 'client' || kind === 'forbidden') && statuses.includes(status)
}

function recordNone({ fetched }: Poll, report: Report, pair: Pair, limit: number): void {
  if (report.perPair !== undefined) fetched.reports.set(readingKey(report, pair), report.perPair.none(pair, limit))
}

function isNotThere(result: CrmResult<unknown>): boolean {
  return !result.ok && isRefusal(result.failure, 400, 404)
}

/** Pairs that were read before and not asked for now: their answers stay. */
function keepOtherPairs({ state, settings, fetched }: Poll, watched: readonly Pair[]): void {
  for (const report of settings.reports.filter(({ perPair }) => perPair !== undefined)) {
    for (const key of watched.map((pair) => readingKey(report, pair))) {
      if (state.readings.all?.[key] === undefined || fetched.reports.has(key)) continue
      fetched.reports.set(key, NOT_ASKED)
    }
  }
}

/** Pairs that were read before, of object types that the account has still. No types at all: it is not known. */
function remainingPairs(read: readonly string[], types: readonly string[]): Pair[] {
  return read.map(pairOf).filter(({ from, to }) => types.length === 0 || (types.includes(from) && types.includes(to)))
}

const ASK_AGAIN_MS = 24 * 3_600_000

/** Which pairs have records at or near their limit, from the companion endpoints, if the provider has them. */
async function askCompanions(poll: Poll, types: readonly string[]): Promise<BusyPairs | 'away' | 'failed'> {
  const { provider, accessToken, state, settings, fetched } = poll
  if (fetched.at < state.companionsAwayUntil) return 'away'
  const [sources = 'failed'] = await callCompanions(poll, [
    (done) => provider.limits(accessToken, ASSOCIATION_SOURCES, done),
  ])
  if (typeof sources === 'string') return sources
  const readings = pairsIn(state.readings.all)
  const chosen = chooseSources(sources, { types, readings, pairsPerPoll: settings.pairsPerPoll })
  const answers = await callCompanions(
    poll,
    chosen.map((from) => (done) => provider.limits(accessToken, associationTargets(from), done)),
  )
  if (answers.includes('away')) return 'away'
  const known = new Set(types)
  const targets = chosen.flatMap((from, place): [string, string[]][] => {
    const ends = answers[place]
    return ends === undefined || typeof ends === 'string' ? [] : [[from, busyAmong(ends, known)]]
  })
  return { sources: busyAmong(sources, known), targets: new Map(targets) }
}

/** The answer of each of these calls; `failed` also where it could not be made. */
async function callCompanions(
  poll: Poll,
  asks: readonly ((done: (result: CrmResult<BusyObjectType[]>) => void) => void)[],
): Promise<(BusyObjectType[] | 'away' | 'failed')[]> {
  const { state, calls, companions, fetched } = poll
  const wereThere = state.allPairsRead
  const answers = asks.map((): BusyObjectType[] | 'away' | 'failed' => 'failed')
  const note = (result: CrmResult<BusyObjectType[]>, place: number) => {
    if (result.ok) {
      answers[place] = result.value
      companions.isRead = true
    } else if (!isAway(result.failure, wereThere)) companions.failures.push(result.failure)
    else if (wereThere && !isConfirmed(poll, COMPANION_CALLS)) companions.failures.push(asPassing(result.failure))
    else {
      answers[place] = 'away'
      companions.awayUntil = fetched.at + ASK_AGAIN_MS
    }
    return result
  }
  await calls.make(asks.map((ask, place) => keepResult(ask, (result) => note(result, place))))
  return answers
}

/** Not in this provider, not for this account, or, where it never was, not in the form that we know by that name. */
function isAway(failure: ProviderFailure, wereThere: boolean): boolean {
  return isRefusal(failure, 400, 403, 404, 405) || (!wereThere && failure.code === 'unreadable')
}

function valueOrFailure<T extends object>(result: ProviderResult<T>): T | ProviderFailure {
  return result.ok ? result.value : result.failure
}
