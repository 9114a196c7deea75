import { isDeepStrictEqual } from 'node:util'
import type { AccountName } from '../../accounts/match-account.ts'
import { inBatches, LIVE_STATES, liveHubIds } from '../../accounts/registry.ts'
import { isLimitChangeOff, ruleFor } from '../../alerts/evaluation/rules.ts'
import { storedStates } from '../../alerts/open-alerts.ts'
import { type AccountHistory, timelineOf } from '../../limits/history/history.ts'
import { UnreadableKey } from '../../limits/history/packed-bytes.ts'
import { readForecasts, readReadings } from '../../limits/history/stored-readings.ts'
import { type CurrentSeries, currentSeries } from '../account-view.ts'
import type { RuleSet, ViewDeps } from '../view-deps.ts'
import { type LevelChange, levelChanges, type PlannedMove } from './level-changes.ts'
import {
  type ReadingTurns,
  type ReplayedSeries,
  type ReplaySpan,
  replayedSeries,
  replaySeries,
} from './replay-series.ts'
import { Tally } from './tally.ts'

type Sources = Pick<ViewDeps, 'store' | 'keys' | 'registry' | 'history' | 'clock'>

export interface PlanRequest {
  /** In force, and the ones that may come. */
  old: RuleSet
  planned: RuleSet
  /** Span of the stored history for which notifications are counted, ms. */
  overMs: number
  /** How an account is polled. */
  readingOf: (account: AccountName) => ReadingTurns
}

/** Effect of the new rules on an account. */
export interface AccountPlan extends AccountName {
  changes: LevelChange[]
}

export interface PlanSummary {
  accounts: { looked: number; changed: number; neverRead: number; unreadable: number }
  /** Series that a rule watches: now, and by the new rules. */
  watched: { before: number; after: number }
  now: Record<PlannedMove, { series: number; accounts: number }>
  replay: {
    from: number
    to: number
    /** Moment of the oldest poll that is known of any account, ms. */
    knownFrom: number | null
    /** Messages that each receiver would have been sent, estimated. */
    before: ReadonlyMap<string, number>
    after: ReadonlyMap<string, number>
  }
}

/** Accounts in memory at a time, each with its history. */
const BATCH = 100
/** Lead before the replayed span: levels in force at its start were entered some time before. */
const WARM_MS = 7 * 86_400_000

/**
 * Effect of new rules: yields the accounts in which a series would change its level now, as they are found; returns the
 * sums over all. Reads only. `onLooked` gets the number of accounts that were checked so far.
 */
export async function* planThresholds(
  deps: Sources,
  request: PlanRequest,
  onLooked: (accounts: number) => void,
): AsyncGenerator<AccountPlan, PlanSummary> {
  const plan = new Plan(request, deps.clock.now())
  for await (const hubIds of inBatches(liveHubIds(deps), BATCH)) {
    for (const read of await Promise.all(hubIds.map((hubId) => readStored(deps, hubId)))) {
      if (read === undefined) continue
      const account = plan.add(read)
      if (account.changes.length > 0) yield account
    }
    onLooked(plan.looked)
  }
  return plan.summary()
}

/** The stored values of an account. */
interface Stored extends AccountName {
  /** Undefined: it was never read. 'unreadable': the stored data is damaged. */
  read: { series: CurrentSeries[]; history: AccountHistory } | 'unreadable' | undefined
  states: Record<string, string>
}

/** Undefined: it was uninstalled since it was listed. */
async function readStored(deps: Sources, hubId: number): Promise<Stored | undefined> {
  const { store, keys, registry, clock } = deps
  const [account, kept, forecasts, states] = await Promise.all([
    registry.get(hubId),
    readReadings(store, keys, hubId),
    readForecasts(store, keys, hubId),
    storedStates(store, keys, hubId),
  ])
  if (account === undefined || !LIVE_STATES.includes(account.state)) return undefined
  const { hubDomain } = account
  if (kept === 'unreadable') return { hubId, hubDomain, states, read: 'unreadable' }
  try {
    const history = await deps.history.changes(hubId)
    if (kept === undefined || history === undefined) return { hubId, hubDomain, states, read: undefined }
    const series = currentSeries(kept, forecasts, clock.now())
    return { hubId, hubDomain, states, read: { series, history } }
  } catch (error) {
    if (!(error instanceof UnreadableKey)) throw error
    return { hubId, hubDomain, states, read: 'unreadable' }
  }
}

const MOVES: readonly PlannedMove[] = ['critical', 'warning', 'eases', 'recovers', 'unwatched', 'unknown']

/** Adds up what accounts would see, one after the other. */
class Plan {
  readonly #request: PlanRequest
  readonly #now: number
  readonly #span: ReplaySpan
  readonly #before: Tally
  readonly #after: Tally
  readonly #accounts = { looked: 0, changed: 0, neverRead: 0, unreadable: 0 }
  readonly #watched = { before: 0, after: 0 }
  readonly #moves = new Map(MOVES.map((move) => [move, { series: 0, accounts: 0 }]))
  readonly #areSettingsSame: boolean
  #knownFrom: number | null = null

  constructor(request: PlanRequest, now: number) {
    const from = now - request.overMs
    this.#request = request
    this.#now = now
    this.#span = { warmFrom: from - WARM_MS, from, to: now }
    this.#areSettingsSame = isDeepStrictEqual(judging(request.old), judging(request.planned))
    this.#before = new Tally(request.old)
    this.#after = new Tally(request.planned)
  }

  get looked(): number {
    return this.#accounts.looked
  }

  add({ hubId, hubDomain, read, states }: Stored): AccountPlan {
    const account = { hubId, hubDomain }
    this.#accounts.looked++
    if (read === undefined) this.#accounts.neverRead++
    if (read === 'unreadable') this.#accounts.unreadable++
    if (read === undefined || read === 'unreadable') return { ...account, changes: [] }
    this.#replay(account, read.history)
    return { ...account, changes: this.#compare(account, read.series, states) }
  }

  #compare(account: AccountName, series: readonly CurrentSeries[], states: Record<string, string>): LevelChange[] {
    const { old, planned } = this.#request
    const { changes, watched } = levelChanges(old, planned, { ...account, series, states }, this.#now)
    this.#watched.before += watched.before
    this.#watched.after += watched.after
    if (changes.length > 0) this.#accounts.changed++
    for (const [move, some] of Map.groupBy(changes, (change) => change.move)) {
      const sum = this.#moves.get(move)
      if (sum === undefined) continue
      sum.series += some.length
      sum.accounts++
    }
    return changes
  }

  #replay(account: AccountName, history: AccountHistory): void {
    const { old, planned, readingOf } = this.#request
    const timeline = timelineOf(history)
    const oldest = timeline.polls[0]?.at ?? timeline.readAt
    this.#knownFrom = Math.min(this.#knownFrom ?? oldest, oldest)
    for (const series of replayedSeries(account, timeline, readingOf(account))) {
      const before = replaySeries(old, series, this.#span)
      const after = this.#isSame(series) ? before : replaySeries(planned, series, this.#span)
      this.#before.add(account, before)
      this.#after.add(account, after)
    }
  }

  /** Most rules of a config that may come are as they were: then there is nothing to replay twice. */
  #isSame({ account, name }: ReplayedSeries): boolean {
    if (!this.#areSettingsSame) return false
    const { old, planned } = this.#request
    const isOff = ({ rules }: RuleSet) => isLimitChangeOff(rules, account, name)
    if (isOff(old) !== isOff(planned)) return false
    const [before, after] = [ruleFor(old.rules, account, name), ruleFor(planned.rules, account, name)]
    return isDeepStrictEqual(before, after)
  }

  summary(): PlanSummary {
    const { from, to } = this.#span
    return {
      accounts: this.#accounts,
      watched: this.#watched,
      now: Object.fromEntries(this.#moves) as PlanSummary['now'],
      replay: {
        ...{ from, to, knownFrom: this.#knownFrom },
        before: this.#before.messages(),
        after: this.#after.messages(),
      },
    }
  }
}

/** Settings beside its rule that decide the alerts of a series. */
function judging({ recoverBelow, for: polls, repeatEveryMs, worseAfterMs, firstRun }: RuleSet) {
  return { recoverBelow, polls, repeatEveryMs, worseAfterMs, firstRun }
}
