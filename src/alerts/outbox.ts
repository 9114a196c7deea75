import { accountSteps } from '../redis/account-steps.ts'
import type { Store } from '../redis/connect.ts'
import type { Alert } from './alert.ts'
import type { SeriesState } from './alert-state.ts'
import type { AlertsDeps } from './deps.ts'

/** What is committed to the outbox. */
export interface OutboxEntry {
  alert: Alert
  /** The alert belongs to an account's very first reading. */
  firstReading?: true
  /** The alert was at both levels since it opened: what gets better is sent to the receivers of either. */
  toBothLevels?: true
  /** The receiver that the alert is about: it would not get it. */
  notTo?: string
}

/** As it follows from the alert's state: a receiver that got the beginning gets the end. */
export function entryOf(alert: Alert, { wasAtBoth }: Pick<SeriesState, 'wasAtBoth'>): OutboxEntry {
  const getsBetter = alert.reason === 'eased' || alert.status === 'resolved'
  return wasAtBoth === true && getsBetter ? { alert, toBothLevels: true } : { alert }
}

export function encodeEntry(entry: OutboxEntry): string {
  return JSON.stringify(entry)
}

export function decodeEntry(stored: string): OutboxEntry {
  return JSON.parse(stored) as OutboxEntry
}

/** A transition as it is in the outbox, or in the log of its partition. */
export interface Committed {
  /** In the stream. */
  id: string
  /** Its id in its partition: its place in the log. */
  name: string
  entry: OutboxEntry
}

/** What of a partition is to be collected, oldest first. */
export interface Uncollected {
  partition: number
  /** Of what was collected right before these; '' where that is not known. */
  before: string
  /** Left the outbox, so it was collected; the node of the deliveries lost it again. */
  lost: Committed[]
  /** In the outbox, `most` at most. */
  waiting: Committed[]
  /** Ids of what is in the outbox and is no transition. */
  unreadable: string[]
  /** There may be more. */
  isFull: boolean
}

type OutboxStore = Pick<AlertsDeps, 'store' | 'keys'>

export async function readUncollected(
  deps: OutboxStore,
  partitions: readonly number[],
  most: number,
  now: number,
): Promise<Uncollected[]> {
  const { store, keys } = deps
  const read = await Promise.all(
    partitions.map(async (partition) => {
      // The partition is the number of one of its accounts, too.
      const [before, found] = await accountSteps(store).readOutbox(keys.own(partition), most)
      const waiting = committedIn(found)
      const isRead = new Set(waiting.map(({ id }) => id))
      const unreadable = found.map(([id]) => id).filter((id) => !isRead.has(id))
      return { partition, before, lost: [], waiting, unreadable, isFull: found.length === most }
    }),
  )
  const left = read.flatMap(({ partition, before }) => (before === '' ? [] : [partition, before]))
  const forgotten = left.length === 0 ? [] : await store.findForgotten(keys.delivery.ledger, ...left)
  return Promise.all(
    read.map(async (one) =>
      forgotten.includes(String(one.partition)) ? { ...one, ...(await readLost(deps, one, now)) } : one,
    ),
  )
}

/** Lost with a crash or a failover: what is older was lost otherwise, and may be over for long. */
const RECENT_MS = 86_400_000
/** Where nothing is known to have been collected, more than so many are no loss of a moment: all that was known is gone. */
const FEW = 20

export function isRecent({ entry }: Committed, now: number): boolean {
  return now - Date.parse(entry.alert.measuredAt) < RECENT_MS
}

/** What the log has up to `before` and is not known as collected. */
async function readLost(
  { store, keys }: OutboxStore,
  { partition, before }: Uncollected,
  now: number,
): Promise<Pick<Uncollected, 'before' | 'lost'>> {
  const nothing = { before: '', lost: [] }
  const { log } = keys.partition(partition)
  // Where nothing is to be had, all of it would be read with each sweep.
  const [newest] = await readLog(store, log, [before, before])
  if (newest === undefined || !isRecent(newest, now)) return nothing
  const collected = await readCollected({ store, keys }, partition)
  if (collected.size === 0 && (await readLog(store, log, ['-', before], FEW + 1)).length > FEW) return nothing
  const logged = await readLog(store, log, ['-', before])
  const lost = logged.filter((one) => !collected.has(one.name) && isRecent(one, now))
  return { before: logged.findLast(({ name }) => collected.has(name))?.name ?? '', lost }
}

/** Names of what was collected of a partition. */
export async function readCollected({ store, keys }: OutboxStore, partition: number): Promise<Set<string>> {
  return new Set(await store.lrange(keys.delivery.collected(partition), 0, -1))
}

async function readLog(
  store: Store,
  log: string,
  [from, to]: [from: string, to: string],
  most = 10_000,
): Promise<Committed[]> {
  return committedIn(await store.xrange(log, from, to, 'COUNT', most))
}

type StreamEntry = [id: string, fields: string[]]

/** What can't be read of them, nobody here wrote: it is passed over. */
export function committedIn(entries: readonly StreamEntry[]): Committed[] {
  return entries.flatMap((one) => decodeCommitted(one) ?? [])
}

/** In the log the place is the name. */
function decodeCommitted([id, fields]: StreamEntry): Committed | undefined {
  try {
    const [, stored = '', , name = id] = fields
    const entry = decodeEntry(stored)
    const { id: alert, kind, status, level, rule, measuredAt } = entry.alert
    const areTexts = [alert, kind, status, level, rule, measuredAt].every((text) => typeof text === 'string')
    return areTexts && !Number.isNaN(Date.parse(measuredAt)) && PLACE.test(name) ? { id, name, entry } : undefined
  } catch {
    return undefined
  }
}

const PLACE = /^\d+(-\d+)?$/
