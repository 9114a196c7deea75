import { LIVE_STATES, liveHubIds } from '../accounts/registry.ts'
import { judgeReading } from '../alerts/evaluation/evaluate.ts'
import { levelOf, type Rule, ruleFor } from '../alerts/evaluation/rules.ts'
import { openStatesOf } from '../alerts/open-alerts.ts'
import type { Silence } from '../alerts/silence.ts'
import { loadForecasts, loadReadings } from '../limits/load-readings.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import { type CurrentSeries, currentSeries, withBucketSeries } from './account-view.ts'
import { type AccountFinding, isLeaving, type PlannedAccount } from './judge-account.ts'
import type { VerdictLevel } from './shapes/account.ts'
import type { CheckedAccountShape, CheckShape } from './shapes/thresholds.ts'
import type { JudgedAlert } from './silenced.ts'
import { readVerdict } from './unwell-accounts.ts'
import type { ViewDeps } from './view-deps.ts'

type Sources = Pick<ViewDeps, 'store' | 'keys' | 'registry' | 'due' | 'clock' | 'coverage'>
export type CheckLevel = CheckShape['status']
type CheckedSeries = CheckedAccountShape['series'][number]

export interface CheckRequest {
  rules: readonly Rule[]
  /** In force. */
  silences: readonly Silence[]
  /** Empty: all live accounts. */
  hubIds: readonly number[]
  /** Reads an account anew before it is judged, some at a time; resolves with why that could not be done. */
  poll?: (hubId: number) => Promise<string | undefined>
}

export interface CheckedAccount extends CheckedAccountShape {
  /** Level of the account itself, without its series. */
  ofAccount: CheckLevel
  /** False where its last reading is too old, or missing. */
  isKnown: boolean
}

/** Accounts judged at a time: the readings of a whole fleet must not be in memory together. */
const BATCH = 500

/** All accounts that are asked for, by their last readings and open alerts, some hundreds at a time. */
export async function* checkFleet(deps: Sources, request: CheckRequest): AsyncGenerator<CheckedAccount[]> {
  const { hubIds, poll } = request
  const isAsked = hubIds.length > 0
  for await (const batch of isAsked ? chunksOf([...new Set(hubIds)], BATCH) : liveHubIds(deps, BATCH)) {
    const troubles = poll === undefined ? [] : await Promise.all(batch.map(poll))
    const checked = await Promise.all(batch.map((hubId, n) => checkOne(deps, request, hubId, troubles[n])))
    yield checked.filter((account) => account !== undefined)
  }
}

export async function countLive({ registry }: Pick<ViewDeps, 'registry'>): Promise<number> {
  const counts = await registry.countByState()
  return LIVE_STATES.reduce((sum, state) => sum + counts[state], 0)
}

/** Undefined: it was uninstalled since it was listed. */
async function checkOne(
  deps: Sources,
  request: CheckRequest,
  hubId: number,
  trouble: string | undefined,
): Promise<CheckedAccount | undefined> {
  const { store, keys } = deps
  const [found, kept, forecasts, open] = await Promise.all([
    deps.registry.get(hubId),
    loadReadings(store, keys, hubId),
    loadForecasts(store, keys, hubId),
    openStatesOf(store, keys, hubId),
  ])
  if (found === undefined || isLeaving(found)) {
    if (request.hubIds.length === 0) return undefined
    const reason = found === undefined ? 'there is no such account' : `it is ${found.state}`
    const { hubDomain = '', state = null } = found ?? {}
    const level = 'unknown'
    return { hubId, hubDomain, state, level, ofAccount: level, isKnown: false, reason, readAt: null, series: [] }
  }
  const now = deps.clock.now()
  const { account, alerts, verdict } = await readVerdict(deps, found, open, request.silences)
  const { level, findings } = verdict
  const own = findings.filter(({ about }) => about !== 'alerts').concat(trouble === undefined ? [] : couldNot(trouble))
  const ofAccount = worstOf(own.map((one) => one.level))
  const isKnown = own.every((one) => one.level !== 'unknown')
  const states = Object.fromEntries(open.map(({ field, stored }) => [field, stored]))
  const read = kept === undefined ? [] : currentSeries(kept, forecasts, now)
  const series = withBucketSeries(read, account, { rules: request.rules, states }, now)
  return {
    hubId,
    hubDomain: account.hubDomain,
    state: account.state,
    level: worstOf([level, ofAccount]),
    ofAccount,
    isKnown,
    reason: reasonOf(own, ofAccount),
    readAt:
      read
        .flatMap(({ shown }) => shown.measuredAt ?? [])
        .sort()
        .at(-1) ?? null,
    series: series.flatMap((one) => checkSeries(request, account, one, { alerts, isKnown })),
  }
}

function couldNot(trouble: string): AccountFinding {
  return { about: 'limits', level: 'unknown', brief: trouble, says: trouble }
}

function reasonOf(own: readonly AccountFinding[], ofAccount: CheckLevel): string | null {
  const worst = own.find(({ level }) => level === ofAccount)
  return ofAccount === 'ok' || worst === undefined ? null : worst.brief || worst.says
}

/** A series has the level of its open alert; nothing is known of it where its account is not, or its limit. */
function checkSeries(
  { rules }: CheckRequest,
  account: PlannedAccount,
  { shown, judged: series }: CurrentSeries,
  { alerts, isKnown }: { alerts: readonly JudgedAlert[]; isKnown: boolean },
): CheckedSeries[] {
  const rule = ruleFor(rules, account, series)
  const judged = judgeReading(rule, series)
  if (rule === undefined || judged === 'off') return []
  const open = alerts.find(({ field }) => field === series.id)
  const level = isKnown ? (open?.level ?? (judged === 'unknown' ? 'unknown' : 'ok')) : 'unknown'
  const isBreach = level === 'critical' || level === 'warning'
  return [
    {
      ...shown,
      level,
      rule: rule.name,
      threshold: isBreach ? (levelOf(rule, level, series) ?? null) : null,
      handled: isBreach && open?.isHandled === true,
    },
  ]
}

const LEVELS: readonly CheckLevel[] = ['critical', 'warning', 'unknown', 'ok']

/** The worst level; a handled one, or none, is ok. */
function worstOf(levels: readonly VerdictLevel[]): CheckLevel {
  return LEVELS.find((level) => levels.includes(level)) ?? 'ok'
}

/** Worst first, by the level alone. */
export function byLevel(a: CheckLevel, b: CheckLevel): number {
  return LEVELS.indexOf(a) - LEVELS.indexOf(b)
}

/** Results of a check over all accounts. */
export interface CheckTotals {
  /** Unknown of no accounts at all: more likely the wrong place was read. */
  status: CheckLevel
  counts: NonNullable<CheckShape['counts']>
  /** Accounts whose tokens have expired, and that no operator has handled. */
  expired: number
}

export function noTotals(): CheckTotals {
  const counts = { accounts: 0, notOk: 0, series: 0, critical: 0, warning: 0 }
  return { status: 'unknown', counts: { ...counts, handled: 0, unknown: 0, reconnect: 0, withoutLimit: 0 }, expired: 0 }
}

export function addAccount(totals: CheckTotals, { level, state, ofAccount, isKnown, series }: CheckedAccount): void {
  const { counts } = totals
  totals.status = counts.accounts === 0 ? level : worstOf([totals.status, level])
  counts.accounts++
  if (level !== 'ok') counts.notOk++
  if (!isKnown) counts.unknown++
  if (ofAccount === 'critical' && state === 'reauthorize') counts.reconnect++
  if (ofAccount === 'critical' && state !== 'reauthorize') totals.expired++
  counts.series += series.length
  for (const one of series) {
    if (one.level === 'critical' || one.level === 'warning') counts[one.handled ? 'handled' : one.level]++
    if (one.level === 'unknown' && isKnown) counts.withoutLimit++
  }
}

/** Exit codes of monitoring systems. */
export const EXIT_CODES: Readonly<Record<CheckLevel, number>> = { ok: 0, warning: 1, critical: 2, unknown: 3 }
