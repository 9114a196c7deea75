import { UnreadableData } from '../../redis/account-record.ts'
import { isOfOtherType } from '../../redis/answers.ts'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { readPollState } from '../poll-state-text.ts'
import type { Readings } from '../readings.ts'
import type { SeriesName } from '../reports/report.ts'
import { parseSeriesId, type Series } from '../series.ts'
import { type Change, decodeChanges, encodeBlock, lastReadAt, undo, type Value, valuesOf } from './change.ts'

/** All that is known of an account's numbers. The values before the first change are in it, but not when they began. */
export interface AccountHistory {
  /** Moment at which its limits were last read, ms. */
  readAt: number
  /** The values since the last change, by series id. */
  current: ReadonlyMap<string, Value>
  /** Oldest first. */
  changes: readonly Change[]
  readings: Readings
  /** The account's poll state as Redis holds it. */
  stored: Buffer
  /** How many records Redis holds: one for each change since it was thinned out last, and one for all before. */
  records: number
}

/** All series of an account as they were from `at` on. */
export interface Snapshot {
  at: number
  /** Nothing was read between this moment and `at`. */
  missingSince?: number
  series: SnapshotSeries[]
}

export type SnapshotSeries = Omit<Series, 'id' | 'label'>

/**
 * The history of an account is a list of changes, oldest first, one per poll that saw any or that ended a gap. Each has
 * what was *before* it, so old ones can be cut off at any point and the rest still reads; what is now is in the
 * readings.
 */
export class History {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /**
   * Snapshots between two moments, oldest first: one per change, and one for the values at `from`. Empty for an account
   * that was never polled, or whose history can't be read.
   */
  async read(hubId: number, from: number, to: number): Promise<Snapshot[]> {
    const found = await this.readable(hubId)
    if (found === undefined) return []
    const { readAt, current, changes } = found
    // The numbers have not changed for longer than changes are kept.
    if (changes.length === 0) return readAt <= to ? [snapshotOf({ at: readAt }, current)] : []
    return snapshotsBackward(current, changes.toReversed(), from, to).reverse()
  }

  /**
   * Every change that is kept. Undefined for an account that was never polled.
   *
   * @throws UnreadableData
   */
  async changes(hubId: number): Promise<AccountHistory | undefined> {
    const keys = this.#keys.account(hubId)
    // Together, or a poll committed in between would pair new numbers with old changes.
    const answers = await this.#store.multi().getBuffer(keys.poll).lrangeBuffer(keys.history, 0, -1).exec()
    const [stored, records] = (answers ?? []).map(([error, answer]) => {
      if (isOfOtherType(error))
        throw new UnreadableData(`account ${hubId}: its numbers or its history are of another type`)
      if (error !== null) throw error
      return answer
    }) as [Buffer | null, Buffer[]]
    if (stored === null) return undefined
    const state = readPollState(stored)
    if (state === undefined) throw new UnreadableData(`account ${hubId}: ${keys.poll} can't be read`)
    const readings = state.readings.all
    const readAt = readings && lastReadAt(readings)
    if (readings === undefined || readAt === undefined) return undefined
    return {
      readAt,
      readings,
      stored,
      current: valuesOf(readings),
      changes: changesIn(hubId, records),
      records: records.length,
    }
  }

  /** The same; undefined also where it can't be read: the account's next work puts that aside. */
  async readable(hubId: number): Promise<AccountHistory | undefined> {
    try {
      return await this.changes(hubId)
    } catch (error) {
      if (!(error instanceof UnreadableData)) throw error
      return undefined
    }
  }

  /**
   * Puts `thinned` in the place of the changes of `asRead`, in one step. 'lost': another job has polled the account or thinned
   * out its history meanwhile, and nothing was changed.
   */
  replace(hubId: number, asRead: AccountHistory, thinned: readonly Change[]): Promise<'replaced' | 'lost'> {
    const { stored, records } = asRead
    return this.#store.replaceHistory(this.#keys.own(hubId), stored, records, encodeBlock(thinned))
  }
}

function changesIn(hubId: number, records: readonly Buffer[]): Change[] {
  try {
    return decodeChanges(records)
  } catch (error) {
    throw new UnreadableData(`account ${hubId}: its history can't be read: ${(error as Error).message}`)
  }
}

/** One snapshot for each change from the last one at or before `from` until `to`, newest first. */
function snapshotsBackward(
  current: ReadonlyMap<string, Value>,
  changes: readonly Change[],
  from: number,
  to: number,
): Snapshot[] {
  const values = new Map(current)
  const found: Snapshot[] = []
  for (const change of changes) {
    // Moments at which no series existed are left out.
    if (change.at <= to && values.size > 0) found.push(snapshotOf(change, values))
    if (change.at <= from) break
    undo(values, change)
  }
  return found
}

function snapshotOf({ at, missingSince }: Omit<Change, 'before'>, values: ReadonlyMap<string, Value>): Snapshot {
  return {
    at,
    ...(missingSince === undefined ? {} : { missingSince }),
    series: [...values].map(([id, value]) => snapshotSeries(id, value)),
  }
}

function snapshotSeries(id: string, { usage, limit }: Value): SnapshotSeries {
  return {
    ...(parseSeriesId(id) as SeriesName),
    usage,
    limit,
    percent: limit === null ? null : (usage * 100) / limit,
  }
}

/** The value of a series from a moment on, until its next stretch. */
export interface TimelineStretch {
  /** ms; -Infinity where it began before all that is kept. */
  from: number
  /** Undefined: it did not exist. */
  value: Value | undefined
}

/** An account's history, series by series. */
export interface Timeline {
  /** By series id, oldest first; a series that appeared begins with a stretch in which it did not exist. */
  series: ReadonlyMap<string, readonly TimelineStretch[]>
  /** Moments of polls that are known: those that saw a change or ended a gap, oldest first. */
  polls: readonly TimelinePoll[]
  /** Moment of the last reading, ms. */
  readAt: number
}

export interface TimelinePoll {
  at: number
  /** Nothing was read between this moment and `at`. */
  missingSince?: number
}

export function timelineOf({
  readAt,
  current,
  changes,
}: Pick<AccountHistory, 'readAt' | 'current' | 'changes'>): Timeline {
  const stretches = new Map<string, TimelineStretch[]>()
  const values = new Map<string, Value | undefined>(current)
  const begin = (id: string, from: number) => {
    const before = stretches.get(id) ?? []
    stretches.set(id, before)
    before.push({ from, value: values.get(id) })
  }
  for (const { at, before } of changes.toReversed()) {
    for (const [id, was] of before) {
      begin(id, at)
      values.set(id, was)
    }
  }
  for (const id of values.keys()) begin(id, Number.NEGATIVE_INFINITY)
  for (const each of stretches.values()) each.reverse()
  const polls = changes.map(({ at, missingSince }) => (missingSince === undefined ? { at } : { at, missingSince }))
  return { series: stretches, polls, readAt }
}
