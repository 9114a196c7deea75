import type { Commands, Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { decodeReadings } from './readings.ts'
import { parseSeriesId, type Series, type SeriesName, seriesOf } from './series.ts'

/**
 * The history of an account is a stream of changes: an entry names the series that a poll found changed, each with what
 * it was *before* (`usage,limit`; empty = it did not exist). What it is now stands in the last reports, so that old
 * entries can be cut off at any point and the rest still reads.
 */
export type HistoryEntry = [series: string, before: string][]

export function historyEntry(before: readonly Series[], after: readonly Series[]): HistoryEntry {
  const old = new Map(before.map((series) => [series.id, packed(series)]))
  const entry: HistoryEntry = []
  for (const series of after) {
    const was = old.get(series.id) ?? ''
    old.delete(series.id)
    if (was !== packed(series)) entry.push([series.id, was])
  }
  for (const [id, was] of old) entry.push([id, was])
  return entry
}

function packed({ usage, limit }: Series): string {
  return `${usage},${limit ?? ''}`
}

/** All series of an account as they stood from `at` on. */
export interface Snapshot {
  at: number
  /** Nothing was read between this moment and `at`. */
  missingSince?: number
  series: SnapshotSeries[]
}

export type SnapshotSeries = Omit<Series, 'id' | 'label'>

export class History {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /**
   * What was reported between two moments, oldest first: one snapshot per change, and one for how things stood at
   * `from`. Empty for an account that was never polled.
   */
  async read(hubId: number, from: number, to: number): Promise<Snapshot[]> {
    const { readings, history } = this.#keys.account(hubId)
    // Together, or a poll committed in between would pair new numbers with old changes.
    const [stored, entries] = (await inOneStep(
      this.#store.multi().getBuffer(readings).xrevrange(history, '+', '-'),
    )) as [Buffer | null, [string, string[]][]]
    if (stored === null) return []
    const now = new Map(seriesOf(decodeReadings(stored)).map((series) => [series.id, packed(series)]))
    return backward(now, entries.map(readEntry), from, to)
  }
}

async function inOneStep(commands: Commands): Promise<unknown[]> {
  const answers = (await commands.exec()) ?? []
  return answers.map(([error, answer]) => {
    if (error !== null) throw error
    return answer
  })
}

interface Change {
  at: number
  before: HistoryEntry
}

function readEntry([id, fields]: [string, string[]]): Change {
  return { at: Number(id.split('-')[0]), before: JSON.parse(fields[1] ?? '[]') as HistoryEntry }
}

/** From how things stand now, back through the changes, newest first. */
function backward(values: Map<string, string>, changes: Change[], from: number, to: number): Snapshot[] {
  const snapshots: Snapshot[] = []
  for (const { at, before } of changes) {
    if (at <= to) snapshots.push(snapshotOf(at, values))
    if (at <= from) break
    for (const [id, was] of before) {
      if (was === '') values.delete(id)
      else values.set(id, was)
    }
  }
  return snapshots.filter((snapshot) => snapshot.series.length > 0).reverse()
}

function snapshotOf(at: number, values: Map<string, string>): Snapshot {
  return { at, series: [...values].map(([id, value]) => unpacked(id, value)) }
}

function unpacked(id: string, value: string): SnapshotSeries {
  const [usage, limit] = value.split(',')
  const bounded = limit === undefined || limit === '' ? null : Number(limit)
  return {
    ...(parseSeriesId(id) as SeriesName),
    usage: Number(usage),
    limit: bounded,
    percent: bounded === null ? null : (Number(usage) * 100) / bounded,
  }
}
