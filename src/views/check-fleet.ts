import { inBatches, LIVE_STATES, liveHubIds } from '../accounts/registry.ts'
import type { AlertLevel } from '../alerts/alert.ts'
import { currentAcknowledgement, readableState, TOKEN_FIELD } from '../alerts/alert-state.ts'
import { storedStates } from '../alerts/open-alerts.ts'
import { silenceOf } from '../alerts/silence.ts'
import { readForecasts, readReadings } from '../limits/history/stored-readings.ts'
import { currentSeries, withBucketSeries } from './account-view.ts'
import {
  type CheckLevel,
  type JudgedAccount,
  type JudgeSettings,
  judgeAbsent,
  judgeAccount,
  worstOf,
} from './judge-account.ts'
import type { ViewDeps } from './view-deps.ts'

type Sources = Pick<ViewDeps, 'store' | 'keys' | 'registry' | 'clock'>

export interface CheckRequest extends JudgeSettings {
  /** Empty: all live accounts. */
  hubIds: readonly number[]
  /** Reads an account anew before it is judged, some at a time; resolves with why that could not be done. */
  poll?: (hubId: number) => Promise<string | undefined>
}

/** Accounts judged at a time: the readings of a whole fleet must not be in memory together. */
const BATCH = 500

/**
 * The levels of all accounts that are asked for, by their last readings, some hundreds at a time, in no particular
 * order.
 */
export async function* checkFleet(deps: Sources, request: CheckRequest): AsyncGenerator<JudgedAccount[]> {
  const { hubIds, poll } = request
  const isAsked = hubIds.length > 0
  for await (const batch of inBatches(isAsked ? [[...new Set(hubIds)]] : liveHubIds(deps), BATCH)) {
    const troubles = poll === undefined ? [] : await Promise.all(batch.map(poll))
    const judged = await Promise.all(batch.map((hubId, n) => judgeOne(deps, request, hubId, troubles[n])))
    yield judged.filter((account) => account !== undefined)
  }
}

export async function countLive({ registry }: Pick<ViewDeps, 'registry'>): Promise<number> {
  const counts = await registry.countByState()
  return LIVE_STATES.reduce((sum, state) => sum + counts[state], 0)
}

/** Undefined: it was uninstalled since it was listed. */
async function judgeOne(
  deps: Sources,
  request: CheckRequest,
  hubId: number,
  trouble: string | undefined,
): Promise<JudgedAccount | undefined> {
  const { store, keys } = deps
  const [account, kept, forecasts, states] = await Promise.all([
    deps.registry.get(hubId),
    readReadings(store, keys, hubId),
    readForecasts(store, keys, hubId),
    storedStates(store, keys, hubId),
  ])
  if (account === undefined || !LIVE_STATES.includes(account.state)) {
    return request.hubIds.length > 0 ? judgeAbsent(hubId, account) : undefined
  }
  const now = deps.clock.now()
  const lost = { kind: 'token' as const, level: 'critical' as const, rule: 'token', account }
  const isKnown =
    openAlert(states[TOKEN_FIELD], now)?.isAcknowledged === true || silenceOf(request.silences, lost, now) !== undefined
  if (kept === 'unreadable' || account.unreadable.length > 0) {
    // One account with a damaged record must not hide all others.
    return judgeAccount({ ...request, isKnown, trouble: 'its stored readings are damaged' }, account, [], now)
  }
  const read = kept === undefined ? [] : currentSeries(kept, forecasts, now)
  const series = withBucketSeries(read, account, { rules: request.rules, states }, now)
  const withAlerts = series.map((one) => ({ ...one, ...openAlert(states[one.id], now) }))
  return judgeAccount({ ...request, isKnown, trouble }, account, withAlerts, now)
}

function openAlert(stored: string | undefined, now: number): { open: AlertLevel; isAcknowledged: boolean } | undefined {
  const state = stored === undefined ? undefined : readableState(stored)
  if (state === undefined || state.level === 'ok') return undefined
  return { open: state.level, isAcknowledged: currentAcknowledgement(state, now) !== undefined }
}

/** Results of a check over all accounts. */
export interface CheckCounts {
  accounts: number
  /** Accounts that are not ok, whichever way. */
  notOk: number
  /** Series that a rule watches. */
  series: number
  /** Series at this level that no operator has handled. */
  critical: number
  warning: number
  /** Series at a level that an operator has acknowledged or silenced. */
  handled: number
  /** Accounts of which not all is known: no fresh reading. */
  unknown: number
  /** Accounts that must reconnect, and that no operator has handled. */
  reconnect: number
  /** Series that can't be judged because their limit is not known. */
  withoutLimit: number
}

export function noCounts(): CheckCounts {
  return {
    accounts: 0,
    notOk: 0,
    series: 0,
    critical: 0,
    warning: 0,
    handled: 0,
    unknown: 0,
    reconnect: 0,
    withoutLimit: 0,
  }
}

export function addAccount(counts: CheckCounts, { level, ofAccount, reason, series }: JudgedAccount): void {
  counts.accounts++
  if (level !== 'ok') counts.notOk++
  if (reason !== null) counts.unknown++
  if (ofAccount === 'critical') counts.reconnect++
  counts.series += series.length
  for (const one of series) {
    if (one.level === 'critical' || one.level === 'warning') counts[one.handled ? 'handled' : one.level]++
    if (one.level === 'unknown' && reason === null) counts.withoutLimit++
  }
}

/** The worst there is. Of no accounts at all nothing is known: more likely it was looked in the wrong place. */
export function statusOf(counts: CheckCounts): CheckLevel {
  return worstOf([
    counts.critical + counts.reconnect > 0 ? 'critical' : 'ok',
    counts.warning > 0 ? 'warning' : 'ok',
    counts.unknown > 0 || counts.accounts === 0 ? 'unknown' : 'ok',
  ])
}

/** Exit codes of monitoring systems. */
export const EXIT_CODES: Readonly<Record<CheckLevel, number>> = { ok: 0, warning: 1, critical: 2, unknown: 3 }
