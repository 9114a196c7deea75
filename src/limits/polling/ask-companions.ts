import type { LimitsCall, ProviderClient } from '../../provider/client.ts'
import type { CrmResult, ProviderFailure } from '../../provider/failure.ts'
import type { Secret } from '../../runtime/secret.ts'
import type { PollState } from '../poll-state.ts'
import { pairsIn } from '../readings.ts'
import { ASSOCIATION_SOURCES, associationTargets, type BusyObjectType } from '../reports/companions.ts'
import type { AccountCalls } from './account-calls.ts'
import { type BusyPairs, busyAmong, chooseSources } from './choose-pairs.ts'
import { ASK_AGAIN_MS, asPassing, COMPANION_CALLS, isRefusal, type Refusals } from './refusals.ts'

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
