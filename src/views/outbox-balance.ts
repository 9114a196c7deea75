import { type Gap, type LedgerStanding, readLedger } from '../alerts/ledger/ledger.ts'
import { decodeEntry } from '../alerts/outbox/outbox-entry.ts'
import type { Store } from '../redis/connect.ts'
import { type Keys, PARTITIONS } from '../redis/keys.ts'
import { iso } from '../text/format-time.ts'
import type { OutboxShape } from './shapes/outbox.ts'

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
  /** Numbers that were committed and are nowhere. */
  missing: number
  gaps: Gap[]
  balanced: boolean
  /** When the oldest transition that somebody waits for happened, ms; held back ones and those of a receiver that is down too. */
  oldestPendingAt: number | null
  /** Since when something should have moved on and has not, ms: a transition in the outbox, a group, a delivery. */
  lateSince: number | null
}

/** One partition, read in the order of the fields. */
interface Partition {
  number: number
  committed: number
  inStream: number
  oldestAt: number | null
}

/**
 * From counters alone. It is read while the fleet is at work, so the order matters: first how many were committed, then how
 * many stand in the outbox, then, at one moment, the ledger. A transition leaves the outbox only after the ledger has it:
 * those that were committed at first and are still beyond the ledger's mark at last stood in the outbox in between. If it
 * had fewer, some are lost, however much moved meanwhile.
 */
export async function readOutboxBalance(
  { store, keys }: { store: Store; keys: Keys },
  now: number,
): Promise<OutboxBalance> {
  const partitions = await Promise.all(
    Array.from({ length: PARTITIONS }, (_, number) => readPartition(store, keys, number)),
  )
  return balanceOf(partitions, await readLedger(store, keys), now)
}

async function readPartition(store: Store, keys: Keys, number: number): Promise<Partition> {
  const { sequence, outbox } = keys.partition(number)
  const committed = Number((await store.get(sequence)) ?? 0)
  const inStream = await store.xlen(outbox)
  if (inStream === 0) return { number, committed, inStream, oldestAt: null }
  const [first] = await store.xrange(outbox, '-', '+', 'COUNT', 1)
  const at = first === undefined ? Number.NaN : Date.parse(decodeEntry(first[1][1] ?? '').alert.measuredAt)
  return { number, committed, inStream, oldestAt: Number.isNaN(at) ? null : at }
}

function balanceOf(partitions: readonly Partition[], ledger: LedgerStanding, now: number): OutboxBalance {
  let [committed, collected, lost] = [0, 0, 0]
  for (const { number, committed: inAll, inStream } of partitions) {
    const mark = ledger.marks.get(number) ?? 0
    committed += Math.max(inAll, mark)
    collected += mark
    lost += Math.max(0, inAll - mark - inStream)
  }
  const { ended, missing } = ledger
  const inOutbox = committed - collected - lost
  const pending = inOutbox + ledger.pending
  const dead = ended.dead + ledger.open - ledger.pending
  const opened = committed - ended.withheld
  const oldest = [ledger.oldestPendingAt, ...partitions.map(({ oldestAt }) => oldestAt)].filter((at) => at !== null)
  const late = [ledger.groupDueAt, ledger.deliveryDueAt, ...partitions.map(({ oldestAt }) => oldestAt)].filter(
    (at) => at !== null && at < now,
  )
  return {
    ...{ committed, withheld: ended.withheld, opened, delivered: ended.delivered, pending, inOutbox, dead },
    ...{ missing: missing + lost, gaps: ledger.gaps },
    balanced: missing + lost === 0 && opened === ended.delivered + pending + dead,
    oldestPendingAt: oldest.length === 0 ? null : Math.min(...oldest),
    lateSince: late.length === 0 ? null : Math.min(...late.filter((at) => at !== null)),
  }
}

/** The same as API and command line tell it: times in ISO 8601. */
export function outboxJson({ oldestPendingAt, lateSince, ...balance }: OutboxBalance): OutboxShape {
  return { ...balance, oldestPendingAt: iso(oldestPendingAt), lateSince: iso(lateSince) }
}
