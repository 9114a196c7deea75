import type { AccountName } from '../../accounts/match-account.ts'
import type { Alert } from '../../alerts/alert.ts'
import type { GroupSettings } from '../../alerts/deps.ts'
import { receiversOf } from '../../alerts/route.ts'
import { MASS } from '../../alerts/sending/decide-sending.ts'
import { groupingFor, homesOf } from '../../alerts/sending/group.ts'
import type { RuleSet } from '../view-deps.ts'
import type { ReplayedNotification } from './replay-series.ts'

/** A transition on its way to one receiver. */
interface Sent extends Pick<ReplayedNotification, 'at'> {
  receiver: string
  hubId: number
  /** The account's own group, and the one that it shares with other accounts where they are many at once; '': none. */
  own: string
  mass: string
  isUrgent: boolean
  status: 'firing' | 'resolved'
}

/** Counts the messages about all series. An estimate: it does not know what held messages back or delayed them. */
export class Tally {
  readonly #rules: RuleSet
  readonly #sent: Sent[] = []

  constructor(rules: RuleSet) {
    this.#rules = rules
  }

  /** Adds the notifications of one series. */
  add(account: AccountName, notifications: readonly ReplayedNotification[]): void {
    for (const one of notifications) this.#send(account, one)
  }

  #send({ hubId, hubDomain }: AccountName, { at, kind, rule, level, reason, inDigest }: ReplayedNotification): void {
    const { routes, group } = this.#rules
    const status = reason === 'recovered' ? 'resolved' : 'firing'
    // The parts of an alert that routes and groups match.
    const alert: Alert = {
      ...{ id: '', kind, status, level, reason, rule, account: { hubId, hubDomain }, measuredAt: '', since: '' },
    }
    const isUrgent = !inDigest && (reason === 'escalated' || (reason === 'entered' && level === 'critical'))
    for (const receiver of receiversOf(routes, alert)) {
      const entry = inDigest ? { alert, firstReading: true as const } : { alert }
      const [own, mass] = homesOf(entry, groupingFor(group, receiver))
      const named = (name: string) => (name === '' ? '' : `${receiver}|${name}`)
      this.#sent.push({ at, receiver, hubId, own: `${receiver}|${own}`, mass: named(mass), isUrgent, status })
    }
  }

  /** By receiver. */
  messages(): Map<string, number> {
    return messagesOf(this.#sent, this.#rules.group)
  }
}

function messagesOf(sent: readonly Sent[], group: GroupSettings): Map<string, number> {
  const momentOf = ({ mass, at }: Sent) => `${mass}|${Math.floor(at / Math.max(1, group.waitMs))}`
  const together = new Map<string, Set<number>>()
  for (const one of sent) if (one.mass !== '') entryOf(together, momentOf(one), () => new Set()).add(one.hubId)
  const isMass = (one: Sent) => (together.get(momentOf(one))?.size ?? 0) >= MASS
  const found = new Map<string, number>()
  for (const some of Map.groupBy(sent, (one) => (isMass(one) ? one.mass : one.own)).values()) {
    const receiver = some[0]?.receiver ?? ''
    for (const statuses of closings(some, group)) found.set(receiver, (found.get(receiver) ?? 0) + statuses.size)
  }
  return found
}

/**
 * Messages of a group when it closes: firing and resolved apart. A group that opens waits for more; after a message the
 * next one keeps its distance, unless something just got worse.
 */
function* closings(sent: readonly Sent[], { waitMs, intervalMs }: GroupSettings) {
  let open: { closesAt: number; statuses: Set<Sent['status']> } | undefined
  let closedAt = Number.NEGATIVE_INFINITY
  for (const { at, isUrgent, status } of sent.toSorted((a, b) => a.at - b.at)) {
    if (open !== undefined && open.closesAt < at) {
      yield open.statuses
      closedAt = open.closesAt
      open = undefined
    }
    open ??= { closesAt: Math.max(at + waitMs, closedAt + intervalMs), statuses: new Set() }
    if (isUrgent) open.closesAt = Math.min(open.closesAt, at + waitMs)
    open.statuses.add(status)
  }
  if (open !== undefined) yield open.statuses
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make()
  map.set(key, found)
  return found
}
