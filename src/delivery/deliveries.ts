import { alertOf, alertOfTransition, type Message } from '../alerts/alert.ts'
import { carriedIds, refsIn, type TransitionRef } from '../alerts/transition-log.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { Recorded } from '../redis/scripts.ts'
import { iso, isoOf } from '../text/format-time.ts'
import { type AttemptRecord, GIVE_UP_AFTER } from './after-attempt.ts'
import type { Receiver } from './receiver.ts'
import { recipientsJson } from './receiver-health.ts'

/** One message on its way to one receiver. */
export interface Delivery extends Pick<DeliveryHead, 'id' | 'receiver' | 'createdAt'> {
  message: Message
  /** Attempts that failed so far. */
  attempts: number
  /** How long it waited between them, ms. */
  waitedMs: number
  /** Recipients that have not got it, where others have. */
  left?: readonly string[]
}

/** A receiver, and its score: until when one worker alone sends to it, with a random fraction that shows whose it is. */
export interface ClaimedReceiver {
  receiver: string
  claim: number
}

/** A delivery that is to be sent now. */
export interface Begun extends Delivery {
  is: 'begun'
  /** By the clock of Redis, ms. */
  now: number
  /** The claim of its receiver from now on. */
  claim: number
  /** Why its receiver is switched off. */
  disabled?: string
  /** Set where its message is none. */
  isUnreadable?: true
}

/** A delivery without its message. */
export interface DeliveryHead {
  id: string
  receiver: string
  /** Type of its message. */
  type: string
  /** Moment at which it was made, or replayed. */
  createdAt: number
  attempts: number
  state: 'pending' | 'delivered' | 'dead'
  endedAt: number | null
  /** Outcome of the last attempt. */
  reason: string
  /** Ids of all transitions that it carries, also of those that were overtaken by one that it shows. */
  carried: string[]
  /** Shown transitions, the newest of each alert, by its place in the log. */
  shown: TransitionRef[]
}

/** An attempt as the log keeps it. */
export interface LoggedAttempt {
  /** ISO 8601 */
  at: string
  id: string
  receiver: string
  type: string
  attempt: number
  outcome: string
  reason: string
  /** How long it took; null where nothing was tried. */
  ms: number | null
  /** HTTP status or SMTP reply code; null where nothing was answered. */
  answer: number | null
  /** Moment of the next attempt, ISO 8601; null: never. */
  nextAt: string | null
}

/** Twice the longest attempt: one that begins within the first half ends before another worker may have its receiver. */
export const CLAIM_MS = 60_000
const DAY_MS = 24 * 3_600_000
/** A dead delivery is kept, and can be sent again, for this long. */
const DEAD_KEPT_MS = 30 * DAY_MS
/** A delivery that arrived is kept for so long. */
const DELIVERED_KEPT_MS = 7 * DAY_MS
/** Forgotten or read at a time. */
const CHUNK = 100

export class Deliveries {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /**
   * The first delivery that is due of a claimed receiver, with what earlier messages that failed have of its alerts; `underWay`: those
   * that are being sent to it. `lost`: another worker has it; `busy`: what is due waits for what is under way; `idle`: the claim is over, and
   * something is due at `next`.
   */
  async begin(
    { receiver, claim }: ClaimedReceiver,
    underWay: readonly string[],
  ): Promise<Begun | { is: 'lost' } | { is: 'busy' } | { is: 'idle'; next: number | undefined }> {
    const key = this.#keys.delivery.receiversDue
    const begun = await this.#store.beginAttempt(key, receiver, claim, CLAIM_MS, ...underWay)
    if (!Array.isArray(begun)) return { is: begun }
    const [now = '', renewed, disabled = '', id = '', ...fields] = begun
    if (renewed === undefined) return { is: 'idle', next: now === '' ? undefined : Number(now) }
    const delivery = deliveryOf(id, byName(fields))
    return { is: 'begun', now: Number(now), claim: Number(renewed), ...(disabled && { disabled }), ...delivery }
  }

  record(delivery: Delivery, record: AttemptRecord, now: number): Promise<Recorded> {
    const keys = this.#keys.delivery
    return this.#store.recordAttempt(
      keys.receiversDue,
      delivery.id,
      now,
      record.outcome,
      record.nextAt === null ? '' : Math.round(record.nextAt),
      record.reason,
      delivery.receiver,
      delivery.message.type,
      DELIVERED_KEPT_MS,
      record.ms ?? '',
      record.answer ?? '',
      record.address ?? '',
      record.pausedUntil ?? '',
      GIVE_UP_AFTER,
      record.left === undefined ? '' : JSON.stringify(record.left),
      recipientsJson(record.recipients),
    )
  }

  /** Leaves a claimed receiver to whoever takes it up next. */
  async leave({ receiver, claim }: ClaimedReceiver, now: number): Promise<void> {
    await this.#store.moveClaim(this.#keys.delivery.receiversDue, receiver, claim, Math.round(now))
  }

  /** Waiting for their first or next attempt. */
  async countPending(): Promise<number> {
    const { receivers, pending } = this.#keys.delivery
    const names = await this.#store.zrange(receivers, 0, '-1')
    const counts = await Promise.all(names.map((name) => this.#store.zcard(pending(name))))
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** Given up, and not forgotten yet. */
  countDead(): Promise<number> {
    return this.#store.zcard(this.#keys.delivery.dead)
  }

  /**
   * Every delivery that is on its way, was given up or has arrived, without its message; arrived ones since a moment.
   */
  async heads(since = 0): Promise<DeliveryHead[]> {
    const { dead, delivered } = this.#keys.delivery
    const found = await Promise.all([
      ...(await this.pendingByReceiver()).values(),
      this.#store.zrangebyscore(dead, since, '+inf'),
      this.#store.zrangebyscore(delivered, since, '+inf'),
    ])
    return this.#headsOf([...new Set(found.flat())])
  }

  async head(id: string): Promise<DeliveryHead | undefined> {
    const fields = [
      'receiver',
      'type',
      'createdAt',
      'attempts',
      'state',
      'endedAt',
      'lastReason',
      'transitions',
    ] as const
    const found = await this.#store.hmget(this.#keys.delivery.delivery(id), ...fields)
    const [receiver, type, createdAt, attempts, state, endedAt, reason, transitions] = found
    if (receiver == null) return undefined
    return {
      id,
      receiver,
      type: type ?? '',
      createdAt: Number(createdAt),
      attempts: Number(attempts),
      state: state === 'dead' || state === 'delivered' ? state : 'pending',
      endedAt: endedAt == null ? null : Number(endedAt),
      reason: reason ?? '',
      carried: carriedIds(transitions ?? ''),
      shown: refsIn(transitions ?? ''),
    }
  }

  /**
   * Sends given-up deliveries again, as if they were new. Others, and those of other receivers, stay unchanged, and so
   * do those of a receiver that is switched off: they would be given up at once. What waits for one receiver is due now, too.
   * Returns how many.
   */
  async replay({ since, receiver }: Replay, now: number): Promise<number> {
    const { dead, receiversDue } = this.#keys.delivery
    const disabled = await this.disabled()
    let replayed = 0
    for (const id of await this.#store.zrangebyscore(dead, since, '+inf')) {
      const head = await this.head(id)
      if (head === undefined || Object.hasOwn(disabled, head.receiver)) continue
      if (receiver !== undefined && head.receiver !== receiver) continue
      if ((await this.#store.replayDelivery(receiversDue, id, now)) === 'replayed') replayed++
    }
    if (receiver === undefined || Object.hasOwn(disabled, receiver)) return replayed
    return replayed + (await this.#store.hurryReceiver(receiversDue, receiver, now))
  }

  /** Deliveries that wait, by receiver. */
  async pendingByReceiver(): Promise<Map<string, string[]>> {
    const { receivers, pending } = this.#keys.delivery
    const read = async (name: string) => [name, await this.#store.zrange(pending(name), 0, '-1')] as const
    const all = await Promise.all((await this.#store.zrange(receivers, 0, '-1')).map(read))
    return new Map(all.filter(([, ids]) => ids.length > 0))
  }

  /** Deliveries that were given up, by receiver; the oldest ten thousand. */
  async deadByReceiver(): Promise<Map<string, string[]>> {
    const { dead, delivery } = this.#keys.delivery
    const ids = await this.#store.zrange(dead, 0, '9999')
    const receivers = await Promise.all(ids.map((id) => this.#store.hget(delivery(id), 'receiver')))
    return Map.groupBy(ids, (_, n) => receivers[n] ?? '')
  }

  async #headsOf(ids: readonly string[]): Promise<DeliveryHead[]> {
    const heads: DeliveryHead[] = []
    for (let from = 0; from < ids.length; from += CHUNK) {
      const some = await Promise.all(ids.slice(from, from + CHUNK).map((id) => this.head(id)))
      heads.push(...some.filter((head) => head !== undefined))
    }
    return heads
  }

  /** Forgets deliveries that were given up too long ago to be sent again. */
  async forgetDead(now: number): Promise<void> {
    const { dead, receiversDue } = this.#keys.delivery
    const ids = await this.#store.zrangebyscore(dead, '-inf', now - DEAD_KEPT_MS, 'LIMIT', 0, CHUNK)
    for (const id of ids) await this.#store.forgetDelivery(receiversDue, id, 'dead')
  }

  /** The newest attempts, newest first. */
  async log(count: number): Promise<LoggedAttempt[]> {
    return (await this.logFrom(undefined, count)).map(({ attempt }) => attempt)
  }

  /** The same from just behind an entry of the log on, each with the name of its own. */
  async logFrom(entry: string | undefined, count: number): Promise<{ entry: string; attempt: LoggedAttempt }[]> {
    const newest = entry === undefined ? '+' : `(${entry}`
    const entries = await this.#store.xrevrange(this.#keys.delivery.log, newest, '-', 'COUNT', count)
    return entries.map(([id, fields]) => ({ entry: id, attempt: attemptOf(byName(fields)) }))
  }

  /**
   * Gives these receivers another chance, at the addresses that they have now; what another address refused is on its way
   * again.
   */
  async enable(receivers: readonly Addressed[], now: number): Promise<void> {
    if (receivers.length === 0) return
    const { receiversDue, dead } = this.#keys.delivery
    const marks = receivers.map(({ name, address = '' }) => [name, address] as const)
    await this.#store.enableReceivers(receiversDue, now, ...marks.flat())
    const addresses = new Map(marks)
    for (const id of await this.#store.zrange(dead, '0', '-1')) {
      const [receiver, refusedBy] = await this.#store.hmget(this.#keys.delivery.delivery(id), 'receiver', 'refusedBy')
      const address = addresses.get(receiver ?? '')
      if (refusedBy != null && address !== undefined && address !== refusedBy)
        await this.#store.replayDelivery(receiversDue, id, now)
    }
  }

  /** Receivers that want nothing more, each with why. */
  disabled(): Promise<Record<string, string>> {
    return this.#store.hgetall(this.#keys.delivery.disabled)
  }
}

type Addressed = Pick<Receiver, 'name' | 'address'>

type Fields = Partial<Record<string, string>>

function byName(fields: readonly string[]): Fields {
  return Object.fromEntries(fields.flatMap((name, n) => (n % 2 === 0 ? [[name, fields[n + 1]]] : [])))
}

function deliveryOf(id: string, fields: Fields): Delivery & Pick<Begun, 'isUnreadable'> {
  const { message = '', receiver = '', type = '', createdAt, attempts, waitedMs = '0', left } = fields
  const numbers = { createdAt: Number(createdAt), attempts: Number(attempts), waitedMs: Number(waitedMs) }
  const known = { id, receiver, ...numbers }
  try {
    const made = JSON.parse(message) as Message
    if (!Array.isArray(made.data.alerts)) throw new Error('it shows nothing')
    return {
      ...known,
      message: fields.changed === undefined ? made : afterOvertaking(made, fields),
      ...(left !== undefined && { left: JSON.parse(left) as string[] }),
    }
  } catch {
    const data = { groupKey: '', truncated: 0, alerts: [] }
    return { ...known, message: { type: type as Message['type'], timestamp: '', data }, isUnreadable: true }
  }
}

/** Without the alerts that a newer message has taken over; what this one has taken over is named beside what supersedes it. */
function afterOvertaking(message: Message, { transitions = '', shows }: Fields): Message {
  const { alerts, truncated } = message.data
  const carried = shows === undefined ? carriedIds(transitions) : shows.split(' ')
  const idsOf = Map.groupBy(carried, alertOfTransition)
  const left = alerts.flatMap((alert) => {
    const ids = idsOf.get(alertOf(alert))
    if (ids === undefined) return []
    const others = shows === undefined ? ids.filter((id) => id !== alert.id).sort(byNumber) : []
    return others.length === 0 ? alert : { ...alert, supersedes: others }
  })
  // The totals of a digest stay unchanged.
  const counted = shows === undefined ? idsOf.size : alerts.length + truncated
  return { ...message, data: { ...message.data, alerts: left, truncated: Math.max(0, counted - left.length) } }
}

/** Ids of one alert, the oldest first. */
function byNumber(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}

function attemptOf({ at = '0', attempt = '0', ms, answer, nextAt, ...texts }: Fields): LoggedAttempt {
  const { id = '', receiver = '', type = '', outcome = '', reason = '' } = texts
  return {
    at: isoOf(Number(at)),
    id,
    receiver,
    type,
    attempt: Number(attempt),
    outcome,
    reason,
    ms: numberOrNull(ms),
    answer: numberOrNull(answer),
    nextAt: iso(numberOrNull(nextAt)),
  }
}

function numberOrNull(number: string | undefined): number | null {
  return number === undefined ? null : Number(number)
}

/** Deliveries that were given up since a moment (ms), of one receiver or of all, are sent again. */
export interface Replay {
  since: number
  receiver: string | undefined
}

/** Outcome of a replay. */
export type Replayed =
  /** `disabled`: receivers that are switched off, and get nothing. */
  { is: 'replayed'; replayed: number; disabled: string[] } | { is: 'unknown-receiver'; why: string }
