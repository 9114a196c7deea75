import { decodeNews } from '../alerts/sending/read-news.ts'
import { decodeSendState, type SendState } from '../alerts/sending/send-state.ts'
import type { Store } from '../redis/connect.ts'
import { type Keys, PARTITIONS } from '../redis/keys.ts'
import { readPresentReceivers } from '../redis/present-receivers.ts'
import { type OutboxBalance, readOutboxBalance } from './outbox-balance.ts'
import { waitingText } from './receiver-fates.ts'
import type { ViewDeps } from './view-deps.ts'

interface Sources extends Pick<ViewDeps, 'store' | 'keys'> {
  now: () => number
  /** Between two looks. */
  pause: () => Promise<void>
  /** Ids of all alerts that are open. */
  readOpen: () => Promise<ReadonlySet<string>>
}

export interface OutboxProof extends OutboxBalance {
  /** Every open alert is known to its receivers, or waits, and every end is known to who was sent the beginning. */
  balanced: boolean
  /** Alerts that are open. */
  open: number
  /** Why some are not known to a receiver yet. */
  waits: Waiting[]
  /** Alerts that are open, and are not known to a receiver that was sent them. */
  missing: ReceiverAlert[]
  /** What receivers that a daemon has were sent as firing and that is over, with no end on its way to them. */
  unresolved: ReceiverAlert[]
}

interface ReceiverAlert {
  receiver: string
  /** The alert's own id. */
  alert: string
}

export interface Waiting extends ReceiverAlert {
  why: string
}

/** An alert that moves on can be missed by one look; hardly by so many. */
const ROUNDS = 5
const PAGE = 1_000

/**
 * Compares every alert that is open with what its receivers know. While the fleet is at work a look is not one moment: so what
 * seems wrong is looked at again, and only what is found look after look is reported.
 */
export async function verifyOutbox(deps: Sources): Promise<OutboxProof> {
  let found = await compareOnce(deps)
  let { missing, unresolved } = found
  for (let n = 1; n < ROUNDS && missing.length + unresolved.length > 0; n++) {
    await deps.pause()
    found = await compareOnce(deps)
    missing = stillFound(missing, found.missing)
    unresolved = stillFound(unresolved, found.unresolved)
  }
  const balance = await readOutboxBalance(deps, deps.now())
  const balanced = missing.length + unresolved.length === 0
  return { ...balance, balanced, open: found.open, waits: found.waits, missing, unresolved }
}

function stillFound(before: readonly ReceiverAlert[], now: readonly ReceiverAlert[]): ReceiverAlert[] {
  const again = new Set(now.map(nameOf))
  return before.filter((one) => again.has(nameOf(one)))
}

function nameOf({ receiver, alert }: ReceiverAlert): string {
  return `${receiver}|${alert}`
}

type Comparison = Pick<OutboxProof, 'open' | 'waits' | 'missing' | 'unresolved'>

/** An alert that closes is news before it is known to be over: what is known is read first. */
async function compareOnce({ store, keys, readOpen }: Sources): Promise<Comparison> {
  const receivers = await readPresentReceivers(store, keys)
  const known = new Map<string, ReadonlyMap<string, SendState>>()
  for (const receiver of receivers) known.set(receiver, await readKnown(store, keys, receiver))
  const { due, settledFor } = await readAllNews(store, keys)
  const open = await readOpen()
  const found: Comparison = { open: open.size, waits: [], missing: [], unresolved: [] }
  for (const [receiver, alerts] of known) {
    for (const [alert, { lastSent, waits }] of alerts) {
      if (waits !== undefined) found.waits.push({ receiver, alert, why: waitingText(waits) })
      const wasSent = lastSent !== undefined && lastSent.isOver !== true
      if (wasSent && !open.has(alert) && !due.has(alert)) found.unresolved.push({ receiver, alert })
    }
  }
  for (const [alert, names] of settledFor) {
    if (!open.has(alert) || due.has(alert)) continue
    for (const receiver of names) {
      const alerts = known.get(receiver)
      if (alerts !== undefined && alerts.get(alert)?.lastSent === undefined) found.missing.push({ receiver, alert })
    }
  }
  return found
}

async function readKnown(store: Store, keys: Keys, receiver: string): Promise<Map<string, SendState>> {
  const found = new Map<string, SendState>()
  await scan(store, keys.delivery.known(receiver), (alert, stored) => found.set(alert, decodeSendState(stored)))
  return found
}

/** Alerts that are looked at again, and of the others who was sent them. */
async function readAllNews(store: Store, keys: Keys) {
  const due = new Set<string>()
  const settledFor = new Map<string, readonly string[]>()
  for (let number = 0; number < PARTITIONS; number++) {
    const { news, newsDue } = keys.partition(number)
    await scan(store, news, (alert, stored) => settledFor.set(alert, decodeNews(number, alert, stored)?.notified ?? []))
    for (const alert of await store.zrange(newsDue, 0, '-1')) due.add(alert)
  }
  return { due, settledFor }
}

/** A hash that changes meanwhile may show a field twice. */
async function scan(store: Store, key: string, see: (field: string, value: string) => void): Promise<void> {
  let cursor = '0'
  do {
    const [next, found] = await store.hscan(key, cursor, 'COUNT', PAGE)
    for (let n = 0; n + 1 < found.length; n += 2) see(found[n] ?? '', found[n + 1] ?? '')
    cursor = next
  } while (cursor !== '0')
}
