import { deflateSync, inflateSync } from 'node:zlib'
import type { Readings } from '../readings.ts'
import { seriesById } from '../series.ts'

/** The value of one series. `limit` is null where there is none to compare with. */
export interface Value {
  usage: number
  limit: number | null
}

/** The values before what one poll found changed: enough to undo it. */
export interface Change {
  /** Moment of the poll, ms. */
  at: number
  /** Nothing was read between this moment and `at`. */
  missingSince?: number
  /** Series that changed, each with what it was before; undefined: it did not exist. */
  before: [seriesId: string, before: Value | undefined][]
}

/**
 * The changes that a poll at `at` found; undefined where nothing changed. After a gap longer than `gapMs` a poll is
 * recorded even so: nothing is known of the time in between.
 */
export function changeBetween(
  before: Readings | undefined,
  after: Readings,
  at: number,
  gapMs: number,
): Change | undefined {
  const readAt = before === undefined ? undefined : lastReadAt(before)
  const missing = readAt !== undefined && at - readAt > gapMs
  const changed = differences(seriesById(before), seriesById(after))
  if (changed.length === 0 && !missing) return undefined
  return { at, ...(missing ? { missingSince: readAt } : {}), before: changed }
}

/** The values of all series of an account's last reports, by series id. */
export function valuesOf(readings: Readings | undefined): Map<string, Value> {
  return new Map(Array.from(seriesById(readings).values(), (series) => [series.id, plainValue(series)]))
}

function plainValue({ usage, limit }: Value): Value {
  return { usage, limit }
}

/** Moment of the last reading of any of it, ms; undefined where nothing was read. */
export function lastReadAt(readings: Readings): number | undefined {
  const times = Object.values(readings).map(({ at }) => at)
  return times.length === 0 ? undefined : times.reduce((last, at) => Math.max(last, at))
}

export function sameValue(one: Value | undefined, other: Value | undefined): boolean {
  return one?.usage === other?.usage && one?.limit === other?.limit
}

/** Undoes one change in `values`, in place. */
export function undo(values: Map<string, Value>, { before }: Change): void {
  for (const [id, was] of before) {
    if (was === undefined) values.delete(id)
    else values.set(id, was)
  }
}

function differences(before: ReadonlyMap<string, Value>, after: ReadonlyMap<string, Value>): Change['before'] {
  const changed: Change['before'] = []
  for (const [id, value] of after) {
    const was = before.get(id)
    if (was === undefined || !sameValue(was, value)) changed.push([id, was && plainValue(was)])
  }
  for (const [id, was] of before) if (!after.has(id)) changed.push([id, plainValue(was)])
  return changed
}

/*
 * Redis holds the history of an account as a list. Each change since it was last thinned out is a line of JSON. All older ones stand
 * before these as one block: a list of the same JSON, compressed. A month of changes is 40 kB as lines, and 4 kB as a block.
 */

export function encodeChange(change: Change): string {
  return JSON.stringify(change)
}

export function encodeBlock(changes: readonly Change[]): Buffer {
  return deflateSync(JSON.stringify(changes))
}

/** Lines and blocks in any order, oldest change first. Throws for what is neither. */
export function decodeChanges(stored: readonly Buffer[]): Change[] {
  return stored.flatMap((one) => {
    const isLine = one[0] === LINE_START
    const changes = isLine ? [JSON.parse(one.toString())] : JSON.parse(inflateSync(one).toString())
    return (changes as Change[]).map(withUndefined)
  })
}

const LINE_START = '{'.charCodeAt(0)

/** A series that did not exist is null in JSON. */
function withUndefined({ before, ...change }: Change): Change {
  return { ...change, before: before.map(([id, was]) => [id, was ?? undefined]) }
}
