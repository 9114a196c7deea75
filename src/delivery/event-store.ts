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
export interface StoredAcknowledgement {
  alert: string
  hubId: number
  field: string
  /** Moment of the acknowledgement, ms. */
  at: number
  /** Since when it is due, as it was read. */
  dueSince: string
}

export type AccountEventType = 'connected' | 'reauthorize' | 'recovered' | 'uninstalled'

const EVENTS: readonly string[] = ['connected', 'reauthorize', 'recovered', 'uninstalled']

/** Read at a time. */
export const BATCH = 500
/** Time for which events are kept that no receiver here wants: another daemon may have another config for a while. */
const UNWANTED_KEPT_MS = 3_600_000

/** A message about an account on its way to one receiver. Any daemon makes the same id, however often. */
export interface PlannedEvent {
  id: string
  receiver: string
  hubId: number
  message: Message
}

interface Sources {
  store: Store
  keys: Keys
}

/** The oldest waiting events. What is unreadable is forgotten. */
export async function readAccountEvents({ store, keys }: Sources): Promise<StoredEvent[]> {
  const found = await store.xrange(keys.accountEvents, '-', '+', 'COUNT', BATCH)
  const events = found.map(eventOf)
  const strange = found.flatMap(([id], n) => (events[n] === undefined ? [id] : []))
  if (strange.length > 0) await store.xdel(keys.accountEvents, ...strange)
  return events.filter((event) => event !== undefined)
}

/** No receiver here wants them. */
export async function leaveAccountEvents({ store, keys }: Sources, now: number): Promise<void> {
  await store.xtrim(keys.accountEvents, 'MINID', Math.max(0, Math.round(now - UNWANTED_KEPT_MS)))
}

/** Messages whose id is stored already are on their way. `done`: events that wait no longer, as of the same step. */
export async function planEvents(
  { store, keys }: Sources,
  messages: readonly PlannedEvent[],
  done: readonly string[],
  now: number,
): Promise<number> {
  const args = messages.flatMap(({ id, receiver, hubId, message }) => {
    return [id, receiver, hubId, message.type, JSON.stringify(message)]
  })
  return store.planEvents(keys.delivery.receiversDue, now, done.join(' '), ...args)
}

/** Acknowledgements that are due, those first that have been for longest. */
export async function readAcknowledgements({ store, keys }: Sources): Promise<StoredAcknowledgement[]> {
  const due = await store.zrange(keys.acknowledgementsDue, '0', `${BATCH - 1}`, 'WITHSCORES')
  const alerts = due.filter((_, n) => n % 2 === 0)
  const stored = alerts.length === 0 ? [] : await store.hmget(keys.acknowledged, ...alerts)
  return alerts.map((alert, n) => acknowledgementOf(alert, due[2 * n + 1] ?? '', stored[n] ?? ''))
}

/**
 * `newest`: the alert's newest transition, which a receiver must have; '' where the acknowledgement is over. `dueSince`: it is done,
 * unless it came due again; '' where it stays due, for daemons with other receivers.
 */
export function planAcknowledgement(
  { store, keys }: Sources,
  { alert, newest, message, dueSince }: { alert: string; newest: string; message?: Message; dueSince: string },
  receivers: readonly { id: string; receiver: string }[],
  now: number,
): Promise<number> {
  const ids = receivers.flatMap(({ id, receiver }) => [id, receiver])
  const json = message === undefined ? '' : JSON.stringify(message)
  return store.planAcknowledgement(keys.delivery.receiversDue, now, alert, newest, json, dueSince, ...ids)
}

function eventOf([id, [, hubId = '', , event = '']]: [id: string, fields: string[]]): StoredEvent | undefined {
  const at = Number(id.split('-', 1)[0])
  const isReadable = /^\d{1,16}$/.test(hubId) && Number.isSafeInteger(at) && EVENTS.includes(event)
  return isReadable ? { id, hubId: Number(hubId), at, event: event as AccountEventType } : undefined
}

/** One that can't be read is of no account, and so over. */
function acknowledgementOf(alert: string, dueSince: string, json: string): StoredAcknowledgement {
  try {
    const { hubId, field, at } = JSON.parse(json) as StoredAcknowledgement
    if (Number.isSafeInteger(hubId) && typeof field === 'string') return { alert, hubId, field, at, dueSince }
  } catch {}
  return { alert, hubId: -1, field: '', at: 0, dueSince }
}
