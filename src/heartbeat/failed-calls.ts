import type { Store } from '../redis/connect.ts'
import { addToDay, readDays } from '../redis/day-counts.ts'
import type { Keys } from '../redis/keys.ts'
import { capitalized, countOf, formatPercent } from '../text/format-number.ts'

/** Calls of the whole app to the provider that were answered, and those of them that failed. */
export interface CallCounts {
  calls: number
  failed: number
  /** Days since the first of them (UTC), that one and today among them. */
  days: number
}

/** Shares, 0 to 1: from these on there is an alert. */
export interface CallLimits {
  warning: number
  critical: number
}

/** The provider's rule for certified apps: more than 95 % of an app's calls succeed, over 30 days. */
export const MOST_FAILED = 0.05
const DAYS = 30
/** Fewest calls that are judged: fewer may be one bad hour of a new installation. */
const LEAST_CALLS = 500
/** Between the first day and today lies a whole one: of the calls of an hour, a minute's outage is a large share. */
const LEAST_DAYS = 3
/** A level is left when no more than this part of its share is left: a share of 30 days moves slowly, and to and fro. */
const LEFT = 0.9

/**
 * Counts calls in this process. Each answer of status 400 and above failed: the provider's rule names
 * none that do not count. A call without an answer is left out: most of those never reached the provider, and how it counted
 * the others is not known.
 */
export class CallCounter {
  #counts = { calls: 0, failed: 0 }
  #sent: Promise<void> = Promise.resolve()

  /** `status`: undefined where no answer came. */
  note(status: number | undefined): void {
    if (status === undefined) return
    this.#counts.calls++
    if (status >= 400) this.#counts.failed++
  }

  /** Adds what was counted since to the counts of all daemons. What Redis refuses is kept for the next time. */
  handOver(store: Store, keys: Keys, now: number): Promise<void> {
    const counts = this.#counts
    if (counts.calls === 0) return this.#sent
    this.#counts = { calls: 0, failed: 0 }
    this.#sent = addToDay(store, daysOf(keys), counts, now).catch((error: unknown) => {
      this.#counts.calls += counts.calls
      this.#counts.failed += counts.failed
      throw error
    })
    return this.#sent
  }
}

const daysOf = ({ dayCounts: key }: Keys) => ({ key, names: ['calls', 'failed'] as const, days: DAYS })

/** The counts of all daemons, and the alert about them. */
export class FailedCalls {
  readonly limits: CallLimits
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys, limits: CallLimits) {
    this.limits = limits
    this.#store = store
    this.#keys = keys
  }

  /** Counts of the last 30 days (UTC), today among them. */
  async read(now: number): Promise<CallCounts> {
    const { sums, days } = await readDays(this.#store, daysOf(this.#keys), now)
    // A damaged hash must not give a share above 1.
    return { calls: Math.max(sums.calls, sums.failed), failed: sums.failed, days }
  }
}

type Level = 'warning' | 'critical' | undefined

/** The level of the alert; undefined: none. `open`: the level that it has now. */
export function judgeCalls(counts: CallCounts, { warning, critical }: CallLimits, open: Level): Level {
  const isEnough = counts.calls >= LEAST_CALLS && counts.days >= LEAST_DAYS
  const share = isEnough ? (failedShare(counts) ?? 0) : 0
  if (share >= (open === 'critical' ? critical * LEFT : critical)) return 'critical'
  return share >= (open === undefined ? warning : warning * LEFT) ? 'warning' : undefined
}

/** 0 to 1; null where no call was answered. */
export function failedShare({ calls, failed }: Pick<CallCounts, 'calls' | 'failed'>): number | null {
  return calls === 0 ? null : failed / calls
}

/** The share of a text, and what follows it. */
export function callsParts(counts: CallCounts): [percent: string, inTime: string] {
  const percent = (failedShare(counts) ?? 0) * 100
  return [
    percent > 0 && percent < 0.05 ? '< 0.1 %' : formatPercent(percent),
    `in ${DAYS} days (HubSpot allows ${formatPercent(MOST_FAILED * 100)})`,
  ]
}

/** `0.4 % of 1,204,332 calls failed in 30 days (HubSpot allows 5 %)`. */
export function callsText(counts: CallCounts): string {
  const [percent, inTime] = callsParts(counts)
  return counts.calls === 0 ? `no calls ${inTime}` : `${percent} of ${countOf(counts.calls, 'call')} failed ${inTime}`
}

/** The text of the alert; `level` undefined: it is over. */
export function describeCalls(counts: CallCounts, level: 'warning' | 'critical' | undefined): string {
  const text = callsText(counts)
  if (level === undefined) return `Calls to HubSpot succeed again: ${text}.`
  return (
    `${capitalized(text)}. HubSpot asks of certified apps that more than 95 % of all calls ` +
    'succeed. The metric plimsoll_provider_requests_total shows which calls fail and how; plimsoll accounts list ' +
    '--state failing and --stale names accounts whose calls fail: uninstall those that are gone.'
  )
}
