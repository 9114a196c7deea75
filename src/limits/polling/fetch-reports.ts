import type { AssociationReport, BusyObjectType, CustomPropertyReport } from '../../provider/answers.ts'
import { classifyError } from '../../provider/classify.ts'
import type { Later, ProviderClient } from '../../provider/client.ts'
import type { CrmResult, ProviderFailure, ProviderResult } from '../../provider/failure.ts'
import { Unread } from '../../provider/read.ts'
import type { Secret } from '../../runtime/secret.ts'
import { answersFingerprint } from '../fingerprints.ts'
import type { PollContext } from '../poll-store.ts'
import {
  type AssociationReading,
  type Fetched,
  failuresOf,
  isFailure,
  NOT_ASKED,
  type Pair,
  pairId,
  pairOf,
  type Readings,
} from '../readings.ts'
import { AccountCalls, type FetchDeps } from './account-calls.ts'
import { type BusyPairs, busyAmong, choosePairs, chooseSources, listedPairs, typesNamedBy } from './choose-pairs.ts'
import type { AccountPollSettings } from './poll-settings.ts'

/** Whom to ask, and for what. */
export interface Asked {
  hubId: number
  accessToken: Secret
  /** What is known of the account. Its readings are read only where they matter: they are unpacked then. */
  context: Pick<PollContext, 'readings' | 'seen' | 'polls' | 'polledAt' | 'taken' | 'companionsAwayUntil'>
  /** `auto`: every ordered pair of the object types that its own report names, in turns or as the companions name them. */
  settings: Pick<AccountPollSettings, 'pairs' | 'pairsPerPoll' | 'soonestMs'>
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
}

/** What a poll has heard, its reports not read yet: a caller that knows them by their bytes need not parse them. */
export interface FetchedHead {
  /** When it began, ms. */
  at: number
  calls: number
  failures: readonly ProviderFailure[]
  /** Of all reports there are, see `Fingerprints`; undefined where not all came, or some were read already. */
  fingerprint: string | undefined
  pausedUntil: number | undefined
  read(): Answers
}

/**
 * Both limits endpoints (interface 4.5, 4.6) for one account, as many calls at a time as its share allows, and none any
 * more once the provider refuses more; undefined if `signal` came first.
 */
export async function fetchReports(
  deps: FetchDeps,
  asked: Asked,
  signal: AbortSignal,
): Promise<FetchedHead | undefined> {
  const { context, settings } = asked
  const fetched: Unfetched = { at: deps.clock.now(), customProperties: PAUSED, associations: new Map() }
  const calls = new AccountCalls(deps, { hubId: asked.hubId, polls: context.polls, taken: context.taken }, signal)
  const poll: Poll = { ...asked, provider: deps.provider, calls, fetched, companions: { failures: [] } }
  if (settings.pairs === 'auto') await askForAll(poll)
  else await askForListed(poll, settings.pairs)
  // Where the next poll comes later it is a needless step. A fleet's second polls are spread over its period.
  const soonestMs = context.polledAt === 0 ? 0 : settings.soonestMs
  if (calls.failed > 0 || deps.share.outlasts(soonestMs)) await calls.settle()
  return calls.stopped ? undefined : headOf(poll)
}

/** Whether the access token was not accepted: worth one refresh and one more try. */
export function wasUnauthorized({ failures }: { failures: readonly ProviderFailure[] }): boolean {
  return failures.some((failure) => failure.class === 'unauthorized')
}

/** `Fetched`, some of it not read yet. */
interface Unfetched {
  at: number
  customProperties: Later<CustomPropertyReport> | ProviderFailure
  associations: Map<string, Later<AssociationReport> | ProviderFailure>
}

interface Poll extends Asked {
  provider: ProviderClient
  calls: AccountCalls
  fetched: Unfetched
  companions: { failures: ProviderFailure[]; awayUntil?: number }
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
    failures: [...failuresOf(fetched), ...companions.failures],
    fingerprint: fingerprintOf(poll),
    pausedUntil: calls.pausedUntil,
    read: () => answersOf(poll),
  }
}

function fingerprintOf({ settings, fetched }: Poll): string | undefined {
  if (settings.pairs === 'auto') return undefined
  const reports = [fetched.customProperties, ...settings.pairs.map((pair) => fetched.associations.get(pairId(pair)))]
  const unread = reports.filter((report) => report instanceof Unread)
  return unread.length === reports.length ? answersFingerprint(unread.map(({ body }) => body)) : undefined
}

/** What can't be read is a failure of its report, and its call one that failed. */
function readNow<T extends object>(report: Later<T> | ProviderFailure, unreadable: () => unknown): T | ProviderFailure {
  if (!(report instanceof Unread)) return report
  try {
    return report.read()
  } catch (error) {
    unreadable()
    return classifyError(error)
  }
}

function answersOf({ settings, calls, fetched: heard, companions, pairsSeen }: Poll): Answers {
  let failedCalls = calls.failed
  const unreadable = () => failedCalls++
  const associations = new Map<string, AssociationReport | ProviderFailure>()
  for (const [id, report] of heard.associations) associations.set(id, readNow(report, unreadable))
  const customProperties = readNow(heard.customProperties, unreadable)
  const fetched: Fetched = { at: heard.at, customProperties, associations }
  const failures = [...failuresOf(fetched), ...companions.failures]
  if (calls.leftOut && failures.length === 0) failures.push(PAUSED)
  return {
    ...fetched,
    associations: inOrder(associations, settings.pairs),
    calls: calls.made,
    failedCalls,
    failures,
    ...(calls.pausedUntil === undefined ? {} : { pausedUntil: calls.pausedUntil }),
    ...(pairsSeen === true ? { pairsSeen } : {}),
    ...(companions.awayUntil === undefined ? {} : { companionsAwayUntil: companions.awayUntil }),
  }
}

const byNumbers = new Intl.Collator('en', { numeric: true })

/** As they are listed, or by their ids: so they are in the same order after every poll. */
function inOrder(reports: Fetched['associations'], pairs: AccountPollSettings['pairs']): Fetched['associations'] {
  const ids = pairs === 'auto' ? [...reports.keys()].sort(byNumbers.compare) : pairs.map(pairId)
  return new Map(
    ids.flatMap((id): [string, AssociationReport | ProviderFailure][] => {
      const report = reports.get(id)
      return report === undefined ? [] : [[id, report]]
    }),
  )
}

async function askForListed(poll: Poll, pairs: readonly Pair[]): Promise<void> {
  const { context } = poll
  // Of one age none has waited longer: unpacking the readings for it would cost more than a call.
  const ordered = context.seen !== undefined ? pairs : listedPairs(pairs, context.readings?.associations ?? {})
  await poll.calls.make([
    customProperties(poll, (report) => report),
    ...ordered.map((pair) => associations(poll, pair, (report) => report)),
  ])
  // Not all calls were made: pairs that were not asked for keep their earlier readings.
  if (poll.calls.made <= pairs.length) keepTheRest(poll, pairs)
}

/** Custom properties first: they name the object types. */
async function askForAll(poll: Poll): Promise<void> {
  const { context, settings, calls, fetched } = poll
  // Read at once: the rest hangs on it.
  const read: KeepReport = (report) => readNow(report, () => calls.failed++)
  await calls.make([customProperties(poll, read)])
  const report = fetched.customProperties as CustomPropertyReport | ProviderFailure
  const types = typesNamedBy(isFailure(report) ? context.readings?.customProperties?.report : report)
  const readings = context.readings?.associations ?? {}
  if (types.length > 0 && !closesAll(report)) {
    const busy = await askCompanions(poll, types)
    const { ask, empty, isAll } = choosePairs({ types, readings, busy, pairsPerPoll: settings.pairsPerPoll })
    for (const pair of empty) fetched.associations.set(pairId(pair), emptyReport(readings[pairId(pair)]?.limit ?? 0))
    await calls.make(ask.map((pair) => associations(poll, pair, read)))
    poll.pairsSeen = isAll && ask.every((pair) => !isFailure(fetched.associations.get(pairId(pair)) ?? NOT_ASKED))
  }
  keepTheRest(poll, knownPairs(readings, types))
}

/** A refusal that the other endpoints would only repeat: the token, or its scopes. */
function closesAll(report: CustomPropertyReport | ProviderFailure): boolean {
  return isFailure(report) && (report.class === 'unauthorized' || report.class === 'forbidden')
}

/** What a poll keeps of a report until all have come: the report as it came, or what is read in it. */
type KeepReport = <T extends object>(report: Later<T> | ProviderFailure) => Later<T> | ProviderFailure

function customProperties({ provider, accessToken, fetched }: Poll, keep: KeepReport) {
  return async () => {
    const result = await provider.customProperties(accessToken)
    fetched.customProperties = keep(valueOrFailure(result))
    return result
  }
}

function associations({ provider, accessToken, context, settings, fetched }: Poll, pair: Pair, keep: KeepReport) {
  return async () => {
    const id = pairId(pair)
    const result = await provider.associations(accessToken, pair.from, pair.to)
    // A pair of `auto` was not configured: one that the provider doesn't know has nothing at its limit, now and when asked again.
    const before = context.readings?.associations[id]
    const isUnheardOf = settings.pairs === 'auto' && (before === undefined || isNothing(before)) && isNotThere(result)
    fetched.associations.set(id, isUnheardOf ? emptyReport(0) : keep(valueOrFailure(result)))
    return result
  }
}

/** Whether the provider never gave this pair a limit. */
function isNothing({ limit, atLimit, nearLimit }: AssociationReading): boolean {
  return limit === 0 && atLimit === 0 && nearLimit === 0
}

function isNotThere(result: CrmResult<unknown>): boolean {
  return !result.ok && (result.failure.status === 400 || result.failure.status === 404)
}

/** Pairs that were read before and not asked for now: their answers stay. */
function keepTheRest({ context, fetched }: Poll, watched: readonly Pair[]): void {
  for (const id of watched.map(pairId)) {
    if (context.readings?.associations[id] === undefined || fetched.associations.has(id)) continue
    fetched.associations.set(id, NOT_ASKED)
  }
}

/** Pairs that were read before, of object types that the account has still. No types at all: it is not known. */
function knownPairs(readings: Readings['associations'], types: readonly string[]): Pair[] {
  return Object.keys(readings)
    .map(pairOf)
    .filter(({ from, to }) => types.length === 0 || (types.includes(from) && types.includes(to)))
}

const LOOK_AGAIN_MS = 24 * 3_600_000

/** Which pairs have records at or near their limit, from the companion endpoints, if the provider has them. */
async function askCompanions(poll: Poll, types: readonly string[]): Promise<BusyPairs | 'away' | 'failed'> {
  const { provider, accessToken, context, settings, fetched } = poll
  if (fetched.at < context.companionsAwayUntil) return 'away'
  const [sources = 'failed'] = await hear(poll, [() => provider.associationSources(accessToken)])
  if (typeof sources === 'string') return sources
  const readings = context.readings?.associations ?? {}
  const chosen = chooseSources(sources, { types, readings, pairsPerPoll: settings.pairsPerPoll })
  const heard = await hear(
    poll,
    chosen.map((from) => () => provider.associationTargets(accessToken, from)),
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

function emptyReport(limit: number): AssociationReport {
  return { limit, totalRecordsAtLimit: 0, totalRecordsNearLimit: 0, atLimit: [], nearLimit: [] }
}

function valueOrFailure<T extends object>(result: ProviderResult<T>): T | ProviderFailure {
  return result.ok ? result.value : result.failure
}
