import type { AccountName } from '../../accounts/match-account.ts'
import { LIVE_STATES, liveHubIds } from '../../accounts/registry.ts'
import { storedStates } from '../../alerts/open-alerts.ts'
import { loadForecasts, loadReadings } from '../../limits/load-readings.ts'
import { type CurrentSeries, currentSeries } from '../account-view.ts'
import type { PlannedAccountShape } from '../shapes/thresholds.ts'
import type { RuleSet, ViewDeps } from '../view-deps.ts'
import { type LevelChange, levelChanges, type PlannedMove } from './level-changes.ts'

type Sources = Pick<ViewDeps, 'store' | 'keys' | 'registry' | 'clock'>

export interface PlanRequest {
  /** In force, and the ones that may come. */
  old: RuleSet
  planned: RuleSet
}

export interface PlanSummary {
  accounts: { looked: number; changed: number; neverRead: number }
  /** Series that a rule watches: now, and by the new rules. */
  watched: { before: number; after: number }
  now: Record<PlannedMove, { series: number; accounts: number }>
}

/** Accounts in memory at a time. */
const BATCH = 100

/**
 * Effect of new rules: yields the accounts in which a series would change its level now, as they are found; returns the
 * sums over all. Reads only. `onLooked` gets the number of accounts that were checked so far.
 */
export async function* planChanges(
  deps: Sources,
  request: PlanRequest,
  onLooked: (accounts: number) => void,
): AsyncGenerator<PlannedAccountShape, PlanSummary> {
  const plan = new Plan(request, deps.clock.now())
  for await (const hubIds of liveHubIds(deps, BATCH)) {
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
  /** Undefined: it was never read. */
  series: CurrentSeries[] | undefined
  states: Record<string, string>
}

/** Undefined: it was uninstalled since it was listed. */
async function readStored(deps: Sources, hubId: number): Promise<Stored | undefined> {
  const { store, keys, registry, clock } = deps
  const [account, kept, forecasts, states] = await Promise.all([
    registry.get(hubId),
    loadReadings(store, keys, hubId),
    loadForecasts(store, keys, hubId),
    storedStates(store, keys, hubId),
  ])
  if (account === undefined || !LIVE_STATES.includes(account.state)) return undefined
  const { hubDomain } = account
  const series = kept && currentSeries(kept, forecasts, clock.now())
  return { hubId, hubDomain, states, series }
}

const MOVES: readonly PlannedMove[] = ['critical', 'warning', 'eases', 'recovers', 'unwatched', 'unknown']

/** Adds up what accounts would see, one after the other. */
class Plan {
  readonly #request: PlanRequest
  readonly #now: number
  readonly #accounts = { looked: 0, changed: 0, neverRead: 0 }
  readonly #watched = { before: 0, after: 0 }
  readonly #moves = new Map(MOVES.map((move) => [move, { series: 0, accounts: 0 }]))

  constructor(request: PlanRequest, now: number) {
    this.#request = request
    this.#now = now
  }

  get looked(): number {
    return this.#accounts.looked
  }

  add({ hubId, hubDomain, series, states }: Stored): PlannedAccountShape {
    const account = { hubId, hubDomain }
    this.#accounts.looked++
    if (series !== undefined) return { ...account, changes: this.#compare(account, series, states) }
    this.#accounts.neverRead++
    return { ...account, changes: [] }
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

  summary(): PlanSummary {
    return {
      accounts: this.#accounts,
      watched: this.#watched,
      now: Object.fromEntries(this.#moves) as PlanSummary['now'],
    }
  }
}
