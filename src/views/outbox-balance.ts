import { type LedgerCounts, readLedger } from '../alerts/ledger.ts'
import { committedIn } from '../alerts/outbox.ts'
import type { Store } from '../redis/connect.ts'
import { type Keys, PARTITIONS } from '../redis/keys.ts'
import { iso } from '../text/format-time.ts'
import type { OutboxShape } from './shapes/delivery.ts'

/**
 * What became of all transitions that were ever committed: opened = delivered + pending + dead, where opened is what was
 * committed and not withheld.
 */
export interface OutboxBalance {
  committed: number
  withheld: number
  opened: number
  delivered: number
  pending: number
  /** Of the pending ones, those that were not collected yet. */
  inOutbox: number
  dead: number
  balanced: boolean
  /** When the oldest transition that somebody waits for happened, ms; held back ones and those of a receiver that is down too. */
  oldestPendingAt: number | null
  /** Since when something should have moved on and has not, ms: a transition in the outbox, a group, a delivery. */
  lateSince: number | null
}

/**
 * From counters alone. What was collected and has not left the outbox yet counts twice, as committed and as pending, unless
 * the caller has looked how many are `inOutbox` without those.
 */
export async function readOutboxBalance(
  { store, keys }: { store: Store; keys: Keys },
  now: number,
  inOutbox?: number,
): Promise<OutboxBalance> {
  const outboxes = await Promise.all(
    Array.from({ length: PARTITIONS }, (_, number) => readOutbox(store, keys.partition(number).outbox)),
  )
  return balanceOf(outboxes, await readLedger(store, keys), now, inOutbox)
}

interface Outbox {
  waiting: number
  oldestAt: number | null
}

async function readOutbox(store: Store, outbox: string): Promise<Outbox> {
  const waiting = await store.xlen(outbox)
  if (waiting === 0) return { waiting, oldestAt: null }
  const [first] = committedIn(await store.xrange(outbox, '-', '+', 'COUNT', 1))
  return { waiting, oldestAt: first === undefined ? null : Date.parse(first.entry.alert.measuredAt) }
}

function balanceOf(
  outboxes: readonly Outbox[],
  ledger: LedgerCounts,
  now: number,
  inOutbox = outboxes.reduce((sum, { waiting }) => sum + waiting, 0),
): OutboxBalance {
  const { collected, ended } = ledger
  const committed = collected + inOutbox
  const pending = inOutbox + ledger.pending
  const dead = ended.dead + ledger.open - ledger.pending
  const opened = committed - ended.withheld
  const oldest = [ledger.oldestPendingAt, ...outboxes.map(({ oldestAt }) => oldestAt)].filter((at) => at !== null)
  const late = [ledger.groupDueAt, ledger.deliveryDueAt, ...outboxes.map(({ oldestAt }) => oldestAt)].filter(
    (at) => at !== null && at < now,
  )
  return {
    ...{ committed, withheld: ended.withheld, opened, delivered: ended.delivered, pending, inOutbox, dead },
    balanced: opened === ended.delivered + pending + dead,
    oldestPendingAt: oldest.length === 0 ? null : Math.min(...oldest),
    lateSince: late.length === 0 ? null : Math.min(...late.filter((at) => at !== null)),
  }
}

/** The same as API and command line tell it: times in ISO 8601. */
export function outboxJson({ oldestPendingAt, lateSince, ...balance }: OutboxBalance): OutboxShape {
  return { ...balance, oldestPendingAt: iso(oldestPendingAt), lateSince: iso(lateSince) }
}
