import { type Change, undo, type Value } from './change.ts'
import { asCount, asItems, asText, pack, UnreadableBytes, unpack } from './packed-bytes.ts'

/*
 * A record of the history is one change: its moment, and a map of the series that changed to what they were before. It is read
 * from the values after it, so the newest starts from the last readings, and the oldest can be cut off at any point.
 * A series has the place of its id among those that existed after the change, in order; one that exists no more has its id. It was
 * a usage, with the limit as it still is; [usage, limit]; or null: it did not exist. Where the change ended a gap, the record is
 * [map, since when nothing was read].
 */

/** `after`: the values after the change. */
export function encodeChange({ at, missingSince, before }: Change, after: ReadonlyMap<string, Value>): Buffer {
  const places = new Map(idsOf(after).map((id, place) => [id, place]))
  const changed = new Map(before.map(([id, was]) => [places.get(id) ?? id, plainOf(was, after.get(id))]))
  return pack(at, missingSince === undefined ? changed : [changed, missingSince])
}

/** Packs changes one after the other, oldest first; `current` has the values since the last. */
export function encodeChanges(changes: readonly Change[], current: ReadonlyMap<string, Value>): Buffer[] {
  const values = new Map(current)
  const records = changes.toReversed().map((change) => {
    const record = encodeChange(change, values)
    undo(values, change)
    return record
  })
  return records.reverse()
}

/**
 * The changes that led to the present values, newest first.
 *
 * @throws UnreadableBytes
 */
export function* changesBackward(current: ReadonlyMap<string, Value>, records: readonly Buffer[]): Generator<Change> {
  const values = new Map(current)
  let ids = idsOf(values)
  let newer = Number.POSITIVE_INFINITY
  for (let n = records.length - 1; n >= 0; n--) {
    const change = decodeChange(records[n] as Buffer, values, ids, `change ${n + 1} of ${records.length}: `)
    if (change.at >= newer) throw new UnreadableBytes(`change ${n + 1} is not older than the next`)
    newer = change.at
    const isOfOthers = change.before.some(([id, was]) => was === undefined || !values.has(id))
    undo(values, change)
    if (isOfOthers) ids = idsOf(values)
    yield change
  }
}

function decodeChange(
  record: Buffer,
  after: ReadonlyMap<string, Value>,
  ids: readonly string[],
  where: string,
): Change {
  try {
    const { at, value } = unpack(record)
    const [changed, since] = value instanceof Map ? [value] : asItems(value)
    if (!(changed instanceof Map)) throw new UnreadableBytes('it has no changes')
    const missingSince = since === undefined ? {} : { missingSince: asCount(since) }
    if (since !== undefined && asCount(since) >= at) throw new UnreadableBytes('a gap ends before it begins')
    return { at, ...missingSince, before: [...changed].map(([series, was]) => readBefore(series, was, after, ids)) }
  } catch (error) {
    if (!(error instanceof UnreadableBytes)) throw error
    throw new UnreadableBytes(`${where}${error.message}`)
  }
}

function readBefore(
  series: unknown,
  was: unknown,
  after: ReadonlyMap<string, Value>,
  ids: readonly string[],
): Change['before'][number] {
  const id = typeof series === 'number' ? ids[series] : asText(series)
  if (id === undefined) throw new UnreadableBytes(`it names series ${series}, which is unknown`)
  const now = after.get(id)
  if (typeof series === 'string' && now !== undefined) throw new UnreadableBytes(`${id} would have been there twice`)
  if (was === null) return [id, undefined]
  if (typeof was === 'number' && now !== undefined) return [id, { usage: asCount(was), limit: now.limit }]
  const [usage, limit] = asItems(was)
  return [id, { usage: asCount(usage), limit: limit === null ? null : asCount(limit) }]
}

function plainOf(was: Value | undefined, now: Value | undefined): number | [number, number | null] | null {
  if (was === undefined) return null
  return was.limit === now?.limit ? was.usage : [was.usage, was.limit]
}

/** Codepoint by codepoint: the same in every language of the machine. */
function idsOf(values: ReadonlyMap<string, Value>): string[] {
  return [...values.keys()].sort()
}
