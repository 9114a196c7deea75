import type { Message } from '../alerts/alert.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'

/** An event of an account as it was written with the change itself. */
export interface StoredEvent {
  id: string
  hubId: number
  /** ms, by the clock of Redis. */
  at: number
  event: AccountEventType
}

/** An acknowledgement, likewise. */
export interface WaitingAcknowledgement extends Omit<StoredEvent, 'event'> {
  field: string
  alert: string
  /** Moment of the acknowledgement, ms. */
  acknowledgedAt: number
}

export type AccountEventType = 'connected' | 'reauthorize' | 'recovered' | 'uninstalled'

const EVENTS: readonly string[] = ['connected', 'reauthorize', 'recovered', 'uninstalled']

/** Read at a time. */
export const BATCH = 500
/** Time for which events are kept that no receiver here wants: another daemon may have another config for a while. */
const UNWANTED_KEPT_MS = 3_600_000

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

  /** The oldest waiting events. What is unreadable is forgotten. */
  async readAccountEvents(): Promise<StoredEvent[]> {
    return this.#readable('accountEvents', await this.#read('accountEvents', '-'), eventOf)
  }

  /** All waiting acknowledgements: one may wait for a day. What is unreadable is forgotten. */
  async readAcknowledgements(): Promise<WaitingAcknowledgement[]> {
    const found: Entry[] = []
    for (let page: Entry[] | undefined; page === undefined || page.length === BATCH; ) {
      const last = found.at(-1)
      page = await this.#read('acknowledgements', last === undefined ? '-' : `(${last[0]}`)
      found.push(...page)
    }
    return this.#readable('acknowledgements', found, acknowledgementOf)
  }

  /** No receiver here wants them. */
  async leave(stream: EventStream, now: number): Promise<void> {
    await this.#store.xtrim(this.#keys[stream], 'MINID', Math.max(0, Math.round(now - UNWANTED_KEPT_MS)))
  }

  #read(stream: EventStream, first: string): Promise<Entry[]> {
    return this.#store.xrange(this.#keys[stream], first, '+', 'COUNT', BATCH)
  }

  async #readable<T>(
    stream: EventStream,
    found: readonly Entry[],
    read: (entry: Entry) => T | undefined,
  ): Promise<T[]> {
    const events = found.map(read)
    await this.forget(
      stream,
      found.flatMap(([id], n) => (events[n] === undefined ? [id] : [])),
    )
    return events.filter((event) => event !== undefined)
  }

  /** Events whose id is stored already are on their way. */
  async plan(events: readonly PlannedEvent[], now: number): Promise<number> {
    if (events.length === 0) return 0
    return this.#store.planEvents(
      this.#keys.delivery.deliveriesDue,
      now,
      BEFORE_KEPT_MS,
      ...events.flatMap(({ id, receiver, hubId, message }) => [
        id,
        receiver,
        hubId,
        message.type,
        JSON.stringify(message),
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

  async forget(stream: EventStream, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#store.xdel(this.#keys[stream], ...ids)
  }
}

type Entry = [id: string, fields: string[]]
type EventStream = 'accountEvents' | 'acknowledgements'

function headOf(id: string, hubId: string): { id: string; hubId: number; at: number } | undefined {
  const at = Number(id.split('-', 1)[0])
  return /^\d{1,16}$/.test(hubId) && Number.isSafeInteger(at) ? { id, hubId: Number(hubId), at } : undefined
}

function eventOf([id, [, hubId = '', , event = '']]: Entry): StoredEvent | undefined {
  const head = headOf(id, hubId)
  return head === undefined || !EVENTS.includes(event) ? undefined : { ...head, event: event as AccountEventType }
}

function acknowledgementOf([id, [, hubId = '', , details = '']]: Entry): WaitingAcknowledgement | undefined {
  const [head, read] = [headOf(id, hubId), detailsOf(details)]
  return head && read && { ...head, ...read }
}

function detailsOf(json: string): Pick<WaitingAcknowledgement, 'field' | 'alert' | 'acknowledgedAt'> | undefined {
  try {
    const read: unknown = JSON.parse(json)
    if (typeof read !== 'object' || read === null) return undefined
    const { field, alert, at } = read as Partial<Record<string, unknown>>
    return typeof field === 'string' && typeof alert === 'string' && typeof at === 'number'
      ? { field, alert, acknowledgedAt: at }
      : undefined
  } catch {
    return undefined
  }
}
