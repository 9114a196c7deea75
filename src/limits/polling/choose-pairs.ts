import { olderFirst } from '../../provider/bounds.ts'
import type { LimitsCall, ProviderClient } from '../../provider/client.ts'
import type { CrmResult, ProviderFailure } from '../../provider/failure.ts'
import type { Secret } from '../../runtime/secret.ts'
import { type Pair, pairId, pairOf } from '../pair.ts'
import type { PollState } from '../poll-state.ts'
import type { PairReading } from '../readings.ts'
import { pairsIn } from '../readings.ts'
import { ASSOCIATION_SOURCES, associationTargets, type BusyObjectType } from '../reports/companions.ts'
import type { AccountCalls } from './account-calls.ts'
import { ASK_AGAIN_MS, asPassing, COMPANION_CALLS, isRefusal, type Refusals } from './refusals.ts'

/**
 * The companion endpoints' report on an account: the object types that have records at or near an association limit.
 */
export interface BusyPairs {
  /** Object types that such associations start from. */
  sources: readonly string[]
  /** Targets by source; a source whose targets could not be asked for is not in it. */
  targets: ReadonlyMap<string, readonly string[]>
}

export interface ChooseFrom {
  /** Object types that the account has. */
  types: readonly string[]
  /** The last reading of each pair, by `from/to`. */
  readings: ReadonlyMap<string, PairReading>
  /** `away`: not in this provider. `failed`: could not be asked this time. */
  busy: BusyPairs | 'away' | 'failed'
  /** Most pairs to ask for. */
  pairsPerPoll: number
}

export interface ChosenPairs {
  /** To be asked for, those that have waited longest first. */
  ask: Pair[]
  /** Known pairs that have nothing at or near their limit any more, without being asked for. */
  empty: Pair[]
  /** All pairs with records at or near their limit are among `ask`. */
  isAll: boolean
}

/** Listed pairs are all asked for; those that have waited longest first, so that a poll that ends early wrongs none. */
export function listedPairs(pairs: readonly Pair[], readings: ChooseFrom['readings']): Pair[] {
  return longestWaitingFirst(pairs, (pair) => readings.get(pairId(pair))?.at)
}

/** Which of all ordered pairs of an account's object types one poll asks for. */
export function choosePairs(from: ChooseFrom): ChosenPairs {
  const { types, readings, busy, pairsPerPoll } = from
  const known = new Set(types)
  const read = [...readings]
    .map(([id, reading]) => ({ ...pairOf(id), reading }))
    .filter((pair) => known.has(pair.from) && known.has(pair.to))
  const first = (pairs: readonly Pair[]) =>
    longestWaitingFirst(pairs, (pair) => readings.get(pairId(pair))?.at).slice(0, pairsPerPoll)

  if (busy === 'away') return { ask: first(everyPair(types)), empty: [], isAll: false }
  // Asked until they are seen to go to zero, even if the companions no longer name them.
  const hadRecords = read.filter(({ reading }) => reading.isBusy)
  if (busy === 'failed') return { ask: first(hadRecords.map(justPair)), empty: [], isAll: false }
  const named = namedPairs(busy, known)
  const asked = new Map([...named, ...hadRecords.map(justPair)].map((pair) => [pairId(pair), pair]))
  const empty = read.map(justPair).filter((pair) => !asked.has(pairId(pair)) && hasNoneNear(busy, pair))
  const isAll = asked.size <= pairsPerPoll && busy.sources.every((from) => busy.targets.has(from))
  return { ask: first([...asked.values()]), empty, isAll }
}

/** Object types with records near a limit whose targets are asked for, longest waiting first. */
export function chooseSources(
  sources: readonly BusyObjectType[],
  { types, readings, pairsPerPoll }: Pick<ChooseFrom, 'types' | 'readings' | 'pairsPerPoll'>,
): string[] {
  const lastRead = new Map<string, number>()
  for (const [id, { at }] of readings) {
    const { from } = pairOf(id)
    lastRead.set(from, Math.max(at, lastRead.get(from) ?? 0))
  }
  const known = busyAmong(sources, new Set(types))
  return longestWaitingFirst(known, (from) => lastRead.get(from)).slice(0, pairsPerPoll)
}

/** The account's object types that have records at or near a limit. */
export function busyAmong(named: readonly BusyObjectType[], types: ReadonlySet<string>): string[] {
  const busy = named.filter(({ hasRecordsAtLimit, hasRecordsNearLimit }) => hasRecordsAtLimit || hasRecordsNearLimit)
  return [...new Set(busy.map(({ objectTypeId }) => objectTypeId))].filter((id) => types.has(id))
}

/** All pairs, a type with itself too: companies have parents. */
function everyPair(types: readonly string[]): Pair[] {
  return types.flatMap((from) => types.map((to) => ({ from, to })))
}

function namedPairs({ targets }: BusyPairs, types: ReadonlySet<string>): Pair[] {
  return [...targets].flatMap(([from, ends]) =>
    types.has(from) ? ends.filter((to) => types.has(to)).map((to) => ({ from, to })) : [],
  )
}

/** True where a pair had no records near its limit when it was asked last. */
function hasNoneNear({ sources, targets }: BusyPairs, { from, to }: Pair): boolean {
  const ends = targets.get(from)
  return ends === undefined ? !sources.includes(from) : !ends.includes(to)
}

/** Sorted by the last reading: never read first, equal ones in their order. */
function longestWaitingFirst<T>(all: readonly T[], readAt: (one: T) => number | undefined): T[] {
  const at = (one: T) => readAt(one) ?? Number.NEGATIVE_INFINITY
  return [...all].sort((a, b) => {
    const [one, other] = [at(a), at(b)]
    return one === other ? 0 : one - other
  })
}

function justPair({ from, to }: Pair): Pair {
  return { from, to }
}

/** Pairs grow with the square of these: a report that names more is not followed further. */
const MOST_TYPES = 100

const OBJECT_TYPE_ID = /^\d{1,10}-\d{1,18}$/

/** Object types of an account that can be asked for, in their order. */
export function askableTypes(types: Iterable<string>): string[] {
  const askable = [...types].filter((id) => OBJECT_TYPE_ID.test(id))
  // Always the same of them, in any order.
  return askable.length <= MOST_TYPES ? askable : askable.sort(olderFirst).slice(0, MOST_TYPES)
}

/** A poll, as far as the companion endpoints are asked by it. */
export interface CompanionPoll {
  provider: ProviderClient
  accessToken: Secret
  calls: AccountCalls
  settings: { pairsPerPoll: number }
  /** State of the account before. */
  state: PollState
  /** Begin, ms. */
  at: number
  refusals: Refusals
  companions: {
    failures: ProviderFailure[]
    /** The provider has none: not to be asked before, ms. */
    awayUntil?: number
  }
}

/** Which pairs have records at or near their limit, from the companion endpoints, if the provider has them. */
export async function askCompanions(
  poll: CompanionPoll,
  types: readonly string[],
): Promise<BusyPairs | 'away' | 'failed'> {
  const { state, settings, at } = poll
  if (at < state.companionsAwayUntil) return 'away'
  const [sources = 'failed'] = await callEach(poll, [ASSOCIATION_SOURCES])
  if (typeof sources === 'string') return sources
  const readings = pairsIn(state.readings.all)
  const chosen = chooseSources(sources, { types, readings, pairsPerPoll: settings.pairsPerPoll })
  const answers = await callEach(poll, chosen.map(associationTargets))
  if (answers.includes('away')) return 'away'
  const known = new Set(types)
  const targets = chosen.flatMap((from, n): [string, string[]][] => {
    const ends = answers[n]
    return ends === undefined || typeof ends === 'string' ? [] : [[from, busyAmong(ends, known)]]
  })
  return { sources: busyAmong(sources, known), targets: new Map(targets) }
}

type CompanionAnswer = BusyObjectType[] | 'away' | 'failed'

/** The answer of each of these calls; `failed` also where it could not be made. */
async function callEach(
  poll: CompanionPoll,
  calls: readonly LimitsCall<BusyObjectType[]>[],
): Promise<CompanionAnswer[]> {
  const { provider, accessToken } = poll
  const results = await poll.calls.make(calls.map((call) => () => provider.limits(accessToken, call)))
  return calls.map((_, n) => answerOf(poll, results[n]))
}

function answerOf(
  { state, companions, refusals, at }: CompanionPoll,
  result: CrmResult<BusyObjectType[]> | undefined,
): CompanionAnswer {
  if (result === undefined) return 'failed'
  if (result.ok) {
    refusals.isAnswered(COMPANION_CALLS)
    return result.value
  }
  const { failure } = result
  // One odd answer does not take away what was there.
  const wereThere = state.allPairsRead
  const isRefused = isAway(failure, wereThere)
  if (isRefused && (!wereThere || refusals.counts(COMPANION_CALLS))) {
    companions.awayUntil = at + ASK_AGAIN_MS
    return 'away'
  }
  companions.failures.push(isRefused ? asPassing(failure) : failure)
  return 'failed'
}

/** Not in this provider, not for this account, or, where it never was, not in the form that we know by that name. */
function isAway(failure: ProviderFailure, wereThere: boolean): boolean {
  return isRefusal(failure, 400, 403, 404, 405) || (!wereThere && failure.code === 'unreadable')
}
