import type { BucketUse } from '../../provider/bucket-use.ts'
import { classifyError } from '../../provider/classify.ts'
import type { LimitsCall, ProviderClient } from '../../provider/client.ts'
import type { CrmResult, ProviderFailure, ProviderResult } from '../../provider/failure.ts'
import { ALL_AVAILABLE, encodeNotAvailable } from '../../provider/not-available.ts'
import { parseJson } from '../../provider/read.ts'
import type { Secret } from '../../runtime/secret.ts'
import { answersFingerprint } from '../fingerprints.ts'
import { type Pair, pairId, pairOf } from '../pair.ts'
import type { PollContext } from '../poll-store.ts'
import {
  type Fetched,
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
import { AccountCalls, type FetchDeps } from './account-calls.ts'
import { askableTypes, type BusyPairs, busyAmong, choosePairs, chooseSources, listedPairs } from './choose-pairs.ts'
import type { AccountPollSettings } from './poll-settings.ts'

/** Whom to ask, and for what. */
export interface Asked {
  hubId: number
  accessToken: Secret
  /** What is known of the account. Its readings are read only where they matter: they are unpacked then. */
  context: Pick<
    PollContext,
    'readings' | 'seen' | 'polls' | 'polledAt' | 'taken' | 'companionsAwayUntil' | 'notAvailable'
  >
  /** `auto`: every ordered pair of the account's object types, in turns or as the companions name them. */
  settings: Pick<AccountPollSettings, 'reports' | 'pairs' | 'pairsPerPoll' | 'soonestMs'>
}

/** What was heard, also of calls that are no reports. */
export interface Answers extends Fetched, Calls {}

interface Calls {
  /** Calls that were made. 0: the account is paused, and nothing was asked. */
  calls: number
  failedCalls: number
  /** Why not all is known that should be, the reports' failures first. */
  failures: ProviderFailure[]
  /** No call for this account before, ms since 1970. */
  pausedUntil?: number
  /** With `auto`: a pair that has not been read by now had nothing at or near its limit, by the companions' answers. */
  pairsSeen?: true
  /** The provider was found to have no companion endpoints: not to be asked before, ms since 1970. */
  companionsAwayUntil?: number
  /** Reports that the account does not have: until when they are not asked for, ms since 1970. */
  notAvailable: Record<string, number>
}

/** What a poll has heard, its reports not read yet: a caller that knows them by their bytes need not parse them. */
export interface FetchedHead {
  /** When it began, ms. */
  at: number
  calls: number
  bucketUse: BucketUse
  failures: readonly ProviderFailure[]
  /** Of all reports there are, see `Fingerprints`; undefined where not all came, or some were read already. */
  fingerprint: string | undefined
  pausedUntil: number | undefined
  read(): Answers
}

/**
 * The limits endpoints (interface 4.5, 4.6) for one account, as many calls at a time as its share allows, and none any
 * more once the provider refuses more; undefined if `signal` came first.
 */
export async function fetchReports(
  deps: FetchDeps,
  asked: Asked,
  signal: AbortSignal,
): Promise<FetchedHead | undefined> {
  const { context, settings } = asked
  const now = deps.clock.now()
  const notAvailable = context.notAvailable === ALL_AVAILABLE ? ALL_AVAILABLE : notAvailableOf(asked, now)
  const left =
    notAvailable === ALL_AVAILABLE
      ? settings.reports
      : settings.reports.filter(({ name }) => notAvailable[name] === undefined)
  // A poll without any call would be one that waits, and would be made again at once.
  const reports = left.length === 0 ? settings.reports : left
  const once = reports.filter(({ perPair }) => perPair === undefined)
  const fetched: Unfetched = { at: now, reports: new Map(once.map(({ name }) => [name, PAUSED])) }
  const calls = new AccountCalls(deps, { hubId: asked.hubId, polls: context.polls, taken: context.taken }, signal)
  const poll: Poll = {
    ...{ ...asked, settings: { ...settings, reports }, provider: deps.provider, calls, fetched },
    ...{ companions: { failures: [] }, notAvailable: { ...notAvailable } },
  }
  if (settings.pairs === 'auto') await askForAll(poll, once)
  else await askForListed(poll, once, settings.pairs)
  // Where the next poll comes later it is a needless step. A fleet's second polls are spread over its period.
  const soonestMs = context.polledAt === 0 ? 0 : settings.soonestMs
  if (calls.failed > 0 || deps.share.outlasts(soonestMs)) await calls.settle()
  return calls.stopped ? undefined : headOf(poll)
}

/** Of the reports that are asked for. What was noted for more than a day from now comes from a clock that was set back since. */
function notAvailableOf({ context, settings }: Asked, now: number): Record<string, number> {
  const notAvailable = settings.reports.map(({ name }) => [name, context.notAvailable[name] ?? 0] as const)
  return Object.fromEntries(notAvailable.filter(([, until]) => until > now && until <= now + LOOK_AGAIN_MS))
}

/** Whether the access token was not accepted: worth one refresh and one more try. */
export function wasUnauthorized({ failures }: { failures: readonly ProviderFailure[] }): boolean {
  return failures.some((failure) => failure.class === 'unauthorized')
}

/** `Fetched`, some of it not read yet. */
interface Unfetched {
  at: number
  reports: Map<string, Heard>
}

/** An answer whose bytes a caller may know, or what was read in it. */
type Heard = Buffer | ReadReport | ProviderFailure

interface Poll extends Asked {
  provider: ProviderClient
  calls: AccountCalls
  fetched: Unfetched
  companions: { failures: ProviderFailure[]; awayUntil?: number }
  notAvailable: Record<string, number>
  pairsSeen?: boolean
}

const PAUSED: ProviderFailure = {
  class: 'transient',
  code: 'paused',
  message: "what is left waits: the provider's rate limit for this account is reached, or nearly so",
  status: 0,
}

function headOf(poll: Poll): FetchedHead {
  const { calls, fetched, companions } = poll
  return {
    at: fetched.at,
    calls: calls.made,
    bucketUse: calls.bucketUse,
    failures: [...failuresOf(fetched.reports.values()), ...companions.failures],
    fingerprint: fingerprintOf(poll),
    pausedUntil: calls.pausedUntil,
    read: () => answersOf(poll),
  }
}

function fingerprintOf({ context, settings, fetched, calls, notAvailable }: Poll): string | undefined {
  if (settings.pairs === 'auto' || calls.leftOut) return undefined
  // That a report is lacking is kept with the rest of what a poll reads: one that only knows the bytes would ask for it each time.
  if (encodeNotAvailable(notAvailable) !== encodeNotAvailable(context.notAvailable)) return undefined
  const bodies: Buffer[] = []
  for (const heard of fetched.reports.values()) {
    if (!Buffer.isBuffer(heard)) return undefined
    bodies.push(heard)
  }
  return answersFingerprint(bodies)
}

const NO_PAIR: Pair = { from: '', to: '' }

/** What can't be read is a failure of its report, and its call one that failed. */
function readNow(key: string, heard: Heard, unreadable: () => unknown): ReadReport | ProviderFailure {
  if (!Buffer.isBuffer(heard)) return heard
  try {
    const { report, pair } = reportOfKey(key) as { report: Report; pair: Pair }
    return report.read(parseJson(heard), pair)
  } catch (error) {
    unreadable()
    return classifyError(error)
  }
}

function answersOf({ settings, calls, fetched: heard, companions, pairsSeen, notAvailable }: Poll): Answers {
  let failedCalls = calls.failed
  const read = new Map<string, ReadReport | ProviderFailure>()
  for (const [key, answer] of heard.reports)
    read.set(
      key,
      readNow(key, answer, () => failedCalls++),
    )
  const failures = [...failuresOf(read.values()), ...companions.failures]
  if (calls.leftOut && failures.length === 0) failures.push(PAUSED)
  return {
    at: heard.at,
    reports: inOrder(read, settings),
    calls: calls.made,
    failedCalls,
    failures,
    notAvailable,
    ...(calls.pausedUntil === undefined ? {} : { pausedUntil: calls.pausedUntil }),
    ...(pairsSeen === true ? { pairsSeen } : {}),
    ...(companions.awayUntil === undefined ? {} : { companionsAwayUntil: companions.awayUntil }),
  }
}

const byNumbers = new Intl.Collator('en', { numeric: true })

/** Pairs of `auto` by their ids, so that they are in the same order after every poll. What is listed is in its order already. */
function inOrder(read: Fetched['reports'], { pairs }: Asked['settings']): Fetched['reports'] {
  if (pairs !== 'auto') return read
  const isOfPair = ([key]: readonly [string, unknown]) => reportOfKey(key)?.report.perPair !== undefined
  const all = [...read]
  const ofPairs = all.filter(isOfPair).sort(([a], [b]) => byNumbers.compare(a, b))
  return new Map([...all.filter((one) => !isOfPair(one)), ...ofPairs])
}

async function askForListed(poll: Poll, once: readonly Report[], pairs: readonly Pair[]): Promise<void> {
  const { context, settings, calls, fetched } = poll
  const paired = settings.reports.filter(({ perPair }) => perPair !== undefined)
  for (const report of paired) for (const pair of pairs) fetched.reports.set(readingKey(report, pair), NOT_ASKED)
  // Of one age none has waited longer: unpacking the readings for it would cost more than a call.
  const ordered = context.seen !== undefined ? pairs : listedPairs(pairs, pairsIn(context.readings))
  await calls.make([
    ...once.map((report) => ask(poll, report, NO_PAIR)),
    ...ordered.flatMap((pair) => paired.map((report) => ask(poll, report, pair))),
  ])
  if (calls.made >= once.length + paired.length * pairs.length) return
  // Not all calls were made: pairs that were not asked for keep their earlier readings, if they have any.
  for (const [key, heard] of fetched.reports) {
    if (heard === NOT_ASKED && context.readings?.[key] === undefined) fetched.reports.delete(key)
  }
}

/** First the reports that are asked for once: they name the object types. */
async function askForAll(poll: Poll, once: readonly Report[]): Promise<void> {
  const { context, settings, calls, fetched } = poll
  // Read at once: the rest hangs on it.
  const read = (key: string, heard: Heard) => readNow(key, heard, () => calls.failed++)
  await calls.make(once.map((report) => ask(poll, report, NO_PAIR, read)))
  // All of them are read by now.
  const reports = fetched.reports as Map<string, ReadReport | ProviderFailure>
  const types = askableTypes(typesIn(mergeReadings(context.readings, { at: fetched.at, reports }))?.keys() ?? [])
  const readings = pairsIn(context.readings)
  const paired = settings.reports.filter(({ perPair }) => perPair !== undefined)
  if (types.length > 0 && ![...reports.values()].every(closesAll)) {
    const busy = await askCompanions(poll, types)
    const { ask: chosen, empty, isAll } = choosePairs({ types, readings, busy, pairsPerPoll: settings.pairsPerPoll })
    for (const report of paired) {
      for (const pair of empty) keepNone(poll, report, pair, readings.get(pairId(pair))?.limit ?? 0)
    }
    await calls.make(chosen.flatMap((pair) => paired.map((report) => ask(poll, report, pair, read))))
    const isRead = (key: string) => !isFailure(reports.get(key) ?? NOT_ASKED)
    poll.pairsSeen = isAll && chosen.every((pair) => paired.every((report) => isRead(readingKey(report, pair))))
  }
  keepTheRest(poll, knownPairs([...readings.keys()], types))
}

/** A refusal that the other endpoints would only repeat: the token, or its scopes. */
function closesAll(report: ReadReport | ProviderFailure): boolean {
  return isFailure(report) && (report.class === 'unauthorized' || report.class === 'forbidden')
}

const AS_HEARD = (_: string, heard: Heard) => heard

/** `keep`: what is kept of an answer until all have come: its bytes, or what is read in it. */
function ask(poll: Poll, report: Report, pair: Pair, keep = AS_HEARD) {
  const { provider, accessToken, context, settings, fetched } = poll
  const call: LimitsCall<Buffer> = { endpoint: report.name, path: report.path(pair), read: (body) => body }
  return async () => {
    const key = readingKey(report, pair)
    const result = await provider.limits(accessToken, call)
    if (report.mayLack && isNotAvailable(result)) {
      // Not a call that failed: it is how the provider says so.
      fetched.reports.delete(key)
      poll.notAvailable[report.name] = fetched.at + LOOK_AGAIN_MS
      return { ...result, ok: true as const, value: NO_BODY }
    }
    // A pair of `auto` was not configured: one that the provider doesn't know has nothing at its limit, now and when asked again.
    const isUnheardOf = report.perPair !== undefined && settings.pairs === 'auto' && isNotThere(result)
    const before = isUnheardOf ? pairsIn(context.readings).get(pairId(pair)) : undefined
    if (isUnheardOf && (before === undefined || (before.limit === 0 && !before.isBusy))) keepNone(poll, report, pair, 0)
    else fetched.reports.set(key, keep(key, valueOrFailure(result)))
    return result
  }
}

const NO_BODY = Buffer.alloc(0)

/** The account's plan has no such limit, or its scopes don't show it. */
function isNotAvailable(result: CrmResult<Buffer>): boolean {
  if (!result.ok) return result.failure.status === 403 || result.failure.status === 404
  return result.value.length < 8 && ['', '{}'].includes(result.value.toString().trim())
}

function keepNone({ fetched }: Poll, report: Report, pair: Pair, limit: number): void {
  if (report.perPair !== undefined) fetched.reports.set(readingKey(report, pair), report.perPair.none(pair, limit))
}

function isNotThere(result: CrmResult<unknown>): boolean {
  return !result.ok && (result.failure.status === 400 || result.failure.status === 404)
}

/** Pairs that were read before and not asked for now: their answers stay. */
function keepTheRest({ context, settings, fetched }: Poll, watched: readonly Pair[]): void {
  for (const report of settings.reports.filter(({ perPair }) => perPair !== undefined)) {
    for (const key of watched.map((pair) => readingKey(report, pair))) {
      if (context.readings?.[key] === undefined || fetched.reports.has(key)) continue
      fetched.reports.set(key, NOT_ASKED)
    }
  }
}

/** Pairs that were read before, of object types that the account has still. No types at all: it is not known. */
function knownPairs(read: readonly string[], types: readonly string[]): Pair[] {
  return read.map(pairOf).filter(({ from, to }) => types.length === 0 || (types.includes(from) && types.includes(to)))
}

const LOOK_AGAIN_MS = 24 * 3_600_000

/** Which pairs have records at or near their limit, from the companion endpoints, if the provider has them. */
async function askCompanions(poll: Poll, types: readonly string[]): Promise<BusyPairs | 'away' | 'failed'> {
  const { provider, accessToken, context, settings, fetched } = poll
  if (fetched.at < context.companionsAwayUntil) return 'away'
  const [sources = 'failed'] = await hear(poll, [() => provider.limits(accessToken, ASSOCIATION_SOURCES)])
  if (typeof sources === 'string') return sources
  const readings = pairsIn(context.readings)
  const chosen = chooseSources(sources, { types, readings, pairsPerPoll: settings.pairsPerPoll })
  const heard = await hear(
    poll,
    chosen.map((from) => () => provider.limits(accessToken, associationTargets(from))),
  )
  if (heard.includes('away')) return 'away'
  const known = new Set(types)
  const targets = chosen.flatMap((from, place): [string, string[]][] => {
    const ends = heard[place]
    return ends === undefined || typeof ends === 'string' ? [] : [[from, busyAmong(ends, known)]]
  })
  return { sources: busyAmong(sources, known), targets: new Map(targets) }
}

/** The answer of each of these calls; `failed` also where it could not be made. */
async function hear(
  { calls, companions, fetched }: Poll,
  asks: readonly (() => Promise<CrmResult<BusyObjectType[]>>)[],
): Promise<(BusyObjectType[] | 'away' | 'failed')[]> {
  const heard = asks.map((): BusyObjectType[] | 'away' | 'failed' => 'failed')
  await calls.make(
    asks.map((ask, place) => async () => {
      const result = await ask()
      if (result.ok) heard[place] = result.value
      else if (isAway(result.failure)) {
        heard[place] = 'away'
        companions.awayUntil = fetched.at + LOOK_AGAIN_MS
      } else companions.failures.push(result.failure)
      return result
    }),
  )
  return heard
}

/** Not in this provider, not for this account, or not in the form that we know by that name. */
function isAway({ status, code }: ProviderFailure): boolean {
  return [400, 403, 404, 405].includes(status) || code === 'unreadable'
}

function valueOrFailure<T extends object>(result: ProviderResult<T>): T | ProviderFailure {
  return result.ok ? result.value : result.failure
}
