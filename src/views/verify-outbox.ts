import { decodeSendState, type SendState } from '../alerts/sending/send-state.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { readPresentReceivers } from '../redis/present-receivers.ts'
import { readOutboxBalance } from './outbox-balance.ts'
import { waitingText } from './receiver-fates.ts'
import type { OutboxProofShape } from './shapes/delivery.ts'
import type { ViewDeps } from './view-deps.ts'

interface Sources extends Pick<ViewDeps, 'store' | 'keys'> {
  now: () => number
  /** Pause between two comparisons. */
  pause: () => Promise<void>
  /** Ids of all alerts that are open. */
  readOpen: () => Promise<ReadonlySet<string>>
}

type ReceiverAlert = OutboxProofShape['missing'][number]

/** One comparison can miss an alert that moves on; hardly so many of them. */
const ROUNDS = 5
const PAGE = 1_000

/**
 * Compares every alert that is open with what its receivers were sent. A comparison while the fleet is at work is not
 * one moment: what seems wrong is compared again, and reported only if every comparison finds it.
 */
export async function proveOutbox(deps: Sources): Promise<OutboxProofShape> {
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

type Comparison = Pick<OutboxProofShape, 'open' | 'waits' | 'missing' | 'unresolved'>

/** An alert that closes is news before it is known to be over: what is known is read first. */
async function compareOnce({ store, keys, readOpen }: Sources): Promise<Comparison> {
  const receivers = await readPresentReceivers(store, keys)
  const sendStates = new Map<string, ReadonlyMap<string, SendState>>()
  for (const receiver of receivers) sendStates.set(receiver, await readKnown(store, keys, receiver))
  const { due, settledFor } = await readAllNews(store, keys)
  const open = await readOpen()
  const found: Comparison = { open: open.size, waits: [], missing: [], unresolved: [] }
  for (const [receiver, alerts] of sendStates) {
    for (const [alert, { lastSent, waits }] of alerts) {
      if (waits !== undefined) found.waits.push({ receiver, alert, why: waitingText(waits) })
      const isSettled = lastSent !== undefined && lastSent.isOver !== true && waits === undefined
      if (isSettled && !open.has(alert) && !due.has(alert)) found.unresolved.push({ receiver, alert })
    }
  }
  for (const [alert, names] of settledFor) {
    if (!open.has(alert) || due.has(alert)) continue
    for (const receiver of names) {
      const alerts = sendStates.get(receiver)
      if (alerts !== undefined && !alerts.has(alert)) found.missing.push({ receiver, alert })
    }
  }
  return found
}

async function readKnown(store: Store, keys: Keys, receiver: string): Promise<Map<string, SendState>> {
  const found = new Map<string, SendState>()
  await scan(store, keys.delivery.known(receiver), (alert, stored) => found.set(alert, decodeSendState(stored)))
  return found
}

/** Alerts whose news is due, and for the others the receivers that were sent them. */
async function readAllNews(store: Store, keys: Keys) {
  const settledFor = new Map<string, readonly string[]>()
  // The third word of an alert's news.
  await scan(store, keys.news, (alert, stored) => settledFor.set(alert, stored.split(' ', 3)[2]?.split(',') ?? []))
  const due = new Set(await store.zrange(keys.unsent, 0, '-1'))
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
