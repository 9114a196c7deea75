import type { Message } from '../alerts/alert.ts'
import { accountSteps } from '../redis/account-steps.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'

/** An event of an account, or an acknowledgement, as it was written with the change itself. */
export interface WaitingEvent {
  id: string
  hubId: number
  /** ms, by the clock of Redis. */
  at: number
  event: AccountEventType | 'acknowledged'
  /** Details of an acknowledgement, as JSON. */
  details: string
}

export type AccountEventType = 'connected' | 'reauthorize' | 'recovered' | 'uninstalled'

const EVENTS: readonly string[] = ['connected', 'reauthorize', 'recovered', 'uninstalled', 'acknowledged']

/** Longer than a delivery is tried, and may wait to be replayed for. */
const BEFORE_KEPT_MS = 4 * 24 * 3_600_000

/** A message about an account on its way to one receiver. Any daemon makes the same id, however often. */
export interface PlannedEvent {
  id: string
  receiver: string
  hubId: number
  message: Message
}

export class EventStore {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** Waiting events of a partition, oldest first. Unreadable ones are skipped, and named for `forget`. */
  async read(partition: number, most: number): Promise<{ waiting: WaitingEvent[]; unreadable: string[] }> {
    // The partition is the number of one of its accounts, too.
    const found = await accountSteps(this.#store).readEvents(this.#keys.own(partition), most)
    const waiting = found.flatMap(([id, fields]) => eventOf(id, fields) ?? [])
    const isRead = new Set(waiting.map(({ id }) => id))
    return { waiting, unreadable: found.flatMap(([id]) => (isRead.has(id) ? [] : [id])) }
  }

  /** Events whose id is stored already are on their way. */
  async plan(events: readonly PlannedEvent[], now: number): Promise<number> {
    if (events.length === 0) return 0
    return this.#store.planEvents(
      ...[this.#keys.delivery.deliveriesDue, now, BEFORE_KEPT_MS],
      ...events.flatMap(({ id, receiver, hubId, message }) => [
        ...[id, receiver, hubId, message.type, JSON.stringify(message)],
      ]),
    )
  }

  /** `newest`: the alert's newest transition, which must have been sent before; '' = whatever was sent last will do. */
  planAcknowledgement(
    { id, receiver, message }: Omit<PlannedEvent, 'hubId'>,
    { alert, newest }: { alert: string; newest: string },
    now: number,
  ) {
    const { deliveriesDue } = this.#keys.delivery
    return this.#store.planAcknowledgement(deliveriesDue, now, id, receiver, alert, newest, JSON.stringify(message))
  }

  async forget(partition: number, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#store.xdel(this.#keys.partition(partition).accountEvents, ...ids)
  }
}

function eventOf(id: string, [, hubId = '', , event = '', , details = '']: string[]): WaitingEvent | undefined {
  const at = Number(id.split('-', 1)[0])
  if (!/^\d{1,16}$/.test(hubId) || !EVENTS.includes(event) || !Number.isSafeInteger(at)) return undefined
  return { id, hubId: Number(hubId), at, event: event as WaitingEvent['event'], details }
}
