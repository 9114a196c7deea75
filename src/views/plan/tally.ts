import type { AccountName } from '../../accounts/match-account.ts'
import type { Alert, AlertLevel, AlertReason } from '../../alerts/alert.ts'
import type { GroupSettings } from '../../alerts/deps.ts'
import { homesOf } from '../../alerts/groups/group.ts'
import { receiversOf } from '../../alerts/route.ts'
import type { RuleSet } from '../view-deps.ts'
import type { ReplayedNotification } from './replay-series.ts'

/** An alert that is over sooner than that told nobody anything that lasts. */
export const FLAP_MS = 2 * 3_600_000
/** As many accounts under one rule within `alerts.group.wait` are one message. */
const MASS = 5

/** How often something was told. */
interface ToldCount {
  rule: string
  level: AlertLevel
  reason: AlertReason
  count: number
}

/** What one receiver would have got. */
interface EstimatedMessages {
  messages: number
  /** Alerts that would only have been counted in them: more than alerts.group.max at once. */
  truncated: number
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

/** A transition on its way to one receiver. */
interface Sent extends Pick<ReplayedNotification, 'at'> {
  receiver: string
  hubId: number
  /** Its group, and the one that it shares with other accounts where they are many at once; '': none. */
  own: string
  mass: string
  isUrgent: boolean
  status: 'firing' | 'resolved'
}

/**
 * Counts what would have been told, series by series, and in how many messages. That is an estimate: it knows nothing of
 * what held messages back or delayed them.
 */
export class Tally {
  readonly #rules: RuleSet
  readonly #counts = new Map<string, ToldCount>()
  readonly #sent: Sent[] = []
  #entered = 0
  #flaps = 0
  #unrouted = 0

  constructor(rules: RuleSet) {
    this.#rules = rules
  }

  /** All that one series would have been told of, oldest first. */
  add(account: AccountName, told: readonly ReplayedNotification[]): void {
    let enteredAt: number | undefined
    for (const one of told) {
      const { at, kind, rule, level, reason } = one
      entryOf(this.#counts, `${level}|${reason}|${rule}`, () => ({ rule, level, reason, count: 0 })).count++
      this.#send(account, one)
      if (kind !== 'limit') continue
      if (reason === 'entered') {
        this.#entered++
        enteredAt = at
      } else if (reason === 'recovered') {
        if (enteredAt !== undefined && at - enteredAt <= FLAP_MS) this.#flaps++
        enteredAt = undefined
      }
    }
  }

  #send({ hubId, hubDomain }: AccountName, { at, kind, rule, level, reason, inDigest }: ReplayedNotification): void {
    const { routes, group } = this.#rules
    const status = reason === 'recovered' ? 'resolved' : 'firing'
    // As far as routes and groups look at one.
    const alert: Alert = {
      ...{ id: '', kind, status, level, reason, rule, account: { hubId, hubDomain }, measuredAt: '', since: '' },
    }
    const receivers = receiversOf(routes, alert)
    if (receivers.length === 0) this.#unrouted++
    const isUrgent = !inDigest && (reason === 'escalated' || (reason === 'entered' && level === 'critical'))
    for (const receiver of receivers) {
      const [own, mass] = homesOf(receiver, inDigest ? { alert, firstReading: true } : { alert }, group.by)
      this.#sent.push({ at, receiver, hubId, own, mass, isUrgent, status })
    }
  }

  result(): TallyResult {
    const counts = [...this.#counts.values()].sort((a, b) => b.count - a.count || (a.rule < b.rule ? -1 : 1))
    const sum = (some: readonly ToldCount[]) => some.reduce((total, { count }) => total + count, 0)
    return {
      transitions: sum(counts),
      ...{ entered: this.#entered, flaps: this.#flaps, unrouted: this.#unrouted, counts },
      repeats: sum(counts.filter(({ reason }) => reason === 'repeat')),
      messages: messagesOf(this.#sent, this.#rules.group),
    }
  }
}

/** By receiver. */
function messagesOf(sent: readonly Sent[], group: GroupSettings): Map<string, EstimatedMessages> {
  const momentOf = ({ mass, at }: Sent) => `${mass}|${Math.floor(at / Math.max(1, group.waitMs))}`
  const together = new Map<string, Set<number>>()
  for (const one of sent) if (one.mass !== '') entryOf(together, momentOf(one), () => new Set()).add(one.hubId)
  const isMass = (one: Sent) => (together.get(momentOf(one))?.size ?? 0) >= MASS
  const found = new Map<string, EstimatedMessages>()
  for (const some of Map.groupBy(sent, (one) => (isMass(one) ? one.mass : one.own)).values()) {
    const sum = entryOf(found, some[0]?.receiver ?? '', () => ({ messages: 0, truncated: 0 }))
    for (const { firing, resolved } of closings(some, group)) {
      sum.messages += Number(firing > 0) + Number(resolved > 0)
      sum.truncated += Math.max(0, firing - group.max) + Math.max(0, resolved - group.max)
    }
  }
  return found
}

/** A group that opens waits for more; after a message the next one keeps its distance, unless something just got worse. */
function* closings(sent: readonly Sent[], { waitMs, intervalMs }: GroupSettings) {
  let open: { closesAt: number; firing: number; resolved: number } | undefined
  let closedAt = Number.NEGATIVE_INFINITY
  for (const { at, isUrgent, status } of sent.toSorted((a, b) => a.at - b.at)) {
    if (open !== undefined && open.closesAt < at) {
      yield open
      closedAt = open.closesAt
      open = undefined
    }
    open ??= { closesAt: Math.max(at + waitMs, closedAt + intervalMs), firing: 0, resolved: 0 }
    if (isUrgent) open.closesAt = Math.min(open.closesAt, at + waitMs)
    open[status]++
  }
  if (open !== undefined) yield open
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make()
  map.set(key, found)
  return found
}
