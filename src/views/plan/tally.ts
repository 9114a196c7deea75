import type { AccountName } from '../../accounts/match-account.ts'
import type { AlertLevel, AlertReason } from '../../alerts/alert.ts'
import type { SeriesName } from '../../limits/series.ts'
import { type EstimatedMessages, MessageEstimate } from './message-estimate.ts'
import type { ToldThen } from './replay-series.ts'
import type { RuleSet } from './rule-set.ts'

/** An alert that is over sooner than that told nobody anything that lasts. */
export const FLAP_MS = 2 * 3_600_000

/** How often something was told. */
export interface ToldCount {
  rule: string
  level: AlertLevel
  reason: AlertReason
  count: number
}

/** What a set of rules would have told over a time. */
export interface TallyResult {
  transitions: number
  /** Alerts that were opened, and of these those that were over within FLAP_MS. */
  entered: number
  flaps: number
  repeats: number
  /** Transitions that no route is for. */
  unrouted: number
  counts: ToldCount[]
  messages: ReadonlyMap<string, EstimatedMessages>
}

/** Counts what would have been told, series by series. */
export class Tally {
  readonly #counts = new Map<string, ToldCount>()
  readonly #messages: MessageEstimate
  #entered = 0
  #flaps = 0

  constructor(rules: RuleSet, overMs: number) {
    this.#messages = new MessageEstimate(rules, overMs)
  }

  /** All that one series would have been told of, oldest first. */
  add(account: AccountName, told: readonly ToldThen[]): void {
    let enteredAt: number | undefined
    for (const { at, kind, rule, level, reason } of told) {
      const key = `${level}|${reason}|${rule}`
      const count = this.#counts.get(key)
      if (count === undefined) this.#counts.set(key, { rule, level, reason, count: 1 })
      else count.count++
      if (kind !== 'limit') continue
      if (reason === 'entered') {
        this.#entered++
        enteredAt = at
      } else if (reason === 'recovered') {
        if (enteredAt !== undefined && at - enteredAt <= FLAP_MS) this.#flaps++
        enteredAt = undefined
      }
    }
    this.#messages.add(account, told)
  }

  endAccount(): void {
    this.#messages.endAccount()
  }

  result(): TallyResult {
    const counts = [...this.#counts.values()].sort((a, b) => b.count - a.count || (a.rule < b.rule ? -1 : 1))
    const sum = (some: readonly ToldCount[]) => some.reduce((total, { count }) => total + count, 0)
    return {
      transitions: sum(counts),
      ...{ entered: this.#entered, flaps: this.#flaps },
      repeats: sum(counts.filter(({ reason }) => reason === 'repeat')),
      unrouted: this.#messages.unrouted,
      counts,
      messages: this.#messages.end(),
    }
  }
}

/** A series with how often it would have been told of. */
export interface Offender extends AccountName {
  id: string
  series: SeriesName
  before: number
  after: number
}

/** Those that would have been told of most by either set of rules; only so many are kept in mind. */
export class Offenders {
  readonly #most: number
  #worst: Offender[] = []

  constructor(most: number) {
    this.#most = most
  }

  add(one: Offender): void {
    if (one.before + one.after === 0) return
    this.#worst.push(one)
    if (this.#worst.length > 20 * this.#most) this.#cut()
  }

  worst(): readonly Offender[] {
    this.#cut()
    return this.#worst
  }

  #cut(): void {
    const rank = ({ before, after }: Offender) => Math.max(before, after)
    this.#worst.sort((a, b) => rank(b) - rank(a) || b.after - a.after || a.hubId - b.hubId)
    this.#worst.length = Math.min(this.#worst.length, this.#most)
  }
}
