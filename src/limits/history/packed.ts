import { FLOAT32_OPTIONS, Packr } from 'msgpackr/pack'
import type { AccountKeys } from '../../redis/keys.ts'
import type { AssociationReading, Readings } from '../readings.ts'
import { type Change, lastReadAt, undo, type Value } from './change.ts'

/** Bytes that are not what was written. The message names the fault, not the place. */
export class UnreadableBytes extends Error {}

/** What Redis holds of an account is not what was written there. The message names the key, and the way out. */
export class UnreadableKey extends Error {}

/** @throws UnreadableKey where `read` meets bytes that can't be what was written */
export function readKey<T>(hubId: number, key: string, wayOut: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof UnreadableBytes)) throw error
    throw new UnreadableKey(`account ${hubId}: what ${key} holds can't be read, ${error.message}. ${wayOut}`)
  }
}

/** For who shows many things of an account, of which one can't be read. */
export async function unlessUnreadable<T>(read: () => Promise<T>): Promise<T | 'unreadable'> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof UnreadableKey)) throw error
    return 'unreadable'
  }
}

const VERSION = 2

/** The moment has a place of its own, so that a poll that finds all as it was can move it without the rest. */
export const TIME_PLACE = { at: 1, bytes: 6 }
const VALUE_AT = TIME_PLACE.at + TIME_PLACE.bytes

const CODEC = new Packr({ useRecords: false, mapsAsObjects: false, useFloat32: FLOAT32_OPTIONS.DECIMAL_FIT })

/** A value of arrays and maps with the moment that it is of, ms: a byte with the version, six with the moment, the value. */
export function pack(at: number, value: unknown): Buffer {
  const packed = CODEC.pack(value)
  const bytes = Buffer.allocUnsafe(VALUE_AT + packed.length)
  bytes[0] = VERSION
  bytes.writeUIntBE(at, TIME_PLACE.at, TIME_PLACE.bytes)
  packed.copy(bytes, VALUE_AT)
  return bytes
}

/** @throws UnreadableBytes */
export function unpack(bytes: Buffer): { at: number; value: unknown } {
  const at = packedAt(bytes)
  if (at === undefined) throw new UnreadableBytes(`it begins with ${bytes[0]}: no version that is known`)
  try {
    return { at, value: CODEC.unpack(bytes.subarray(VALUE_AT)) }
  } catch (error) {
    throw new UnreadableBytes(error instanceof Error ? error.message : String(error))
  }
}

/** The moment of a packed value, ms; undefined for what is none. */
export function packedAt(bytes: Buffer): number | undefined {
  const isOurs = bytes[0] === VERSION && bytes.length > VALUE_AT
  return isOurs ? bytes.readUIntBE(TIME_PLACE.at, TIME_PLACE.bytes) : undefined
}

/** @throws UnreadableBytes, as those below */
export function asItems(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : unreadable(value, 'list')
}

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : unreadable(value, 'text')
}

/** A whole number of 0 or more. */
export function asCount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : unreadable(value, 'count')
}

function unreadable(value: unknown, wanted: string): never {
  throw new UnreadableBytes(`it has ${String(value)} where a ${wanted} belongs`)
}

/**
 * The last numbers of an account from what Redis holds; undefined if it was never polled.
 *
 * @throws UnreadableKey
 */
export function keptReadings(hubId: number, keys: AccountKeys, stored: Buffer | null): Readings | undefined {
  if (stored === null) return undefined
  // Records of the history are read from the readings: without these they are useless.
  const wayOut = `Delete it and ${keys.history}: the next poll reads all numbers, and its history begins anew.`
  return readKey(hubId, keys.readings, wayOut, () => decodeReadings(stored))
}

/** Moments are kept as how much earlier than the last one they were, so that all of them move with it. */
export function encodeReadings(readings: Readings): Buffer {
  const last = lastReadAt(readings) ?? 0
  const { customProperties, associations } = readings
  const pairs = Object.entries(associations).map(([pair, { at, limit, atLimit, nearLimit, fullest }]) => {
    return [pair, last - at, limit, atLimit, nearLimit, fullest]
  })
  if (customProperties === undefined) return pack(last, [pairs])
  const { overallUsage, overallLimit, reportedPercentage, byObjectType } = customProperties.report
  const overall = [last - customProperties.at, overallUsage, overallLimit, reportedPercentage ?? null]
  const types = byObjectType.map((type) => {
    const { objectTypeId, singularLabel, pluralLabel, usage, limit, reportedPercentage: percentage = null } = type
    return [objectTypeId, singularLabel, pluralLabel, usage, limit, percentage]
  })
  return pack(last, [pairs, overall, types])
}

/** @throws UnreadableBytes */
export function decodeReadings(stored: Buffer): Readings {
  const { at: last, value } = unpack(stored)
  const [pairs, overall, types] = asItems(value)
  const associations = Object.fromEntries(asItems(pairs).map((pair) => readPair(asItems(pair), last)))
  if (overall === undefined) return { associations }
  const [age, usage, limit, percentage] = asItems(overall)
  const numbers = { overallUsage: asCount(usage), overallLimit: asCount(limit), ...reported(percentage) }
  const report = { ...numbers, byObjectType: asItems(types).map((type) => readType(asItems(type))) }
  return { customProperties: { at: earlier(last, age), report }, associations }
}

function readPair(
  [pair, age, limit, atLimit, nearLimit, fullest]: readonly unknown[],
  last: number,
): [string, AssociationReading] {
  const counts = { limit: asCount(limit), atLimit: asCount(atLimit), nearLimit: asCount(nearLimit) }
  return [asText(pair), { at: earlier(last, age), ...counts, fullest: asCount(fullest) }]
}

function readType([objectTypeId, singular, plural, usage, limit, percentage]: readonly unknown[]) {
  return {
    ...{ objectTypeId: asText(objectTypeId), singularLabel: asText(singular), pluralLabel: asText(plural) },
    ...{ usage: asCount(usage), limit: asCount(limit), ...reported(percentage) },
  }
}

function reported(percentage: unknown): { reportedPercentage?: number } {
  if (percentage === null) return {}
  if (typeof percentage !== 'number') throw new UnreadableBytes('a percentage is no number')
  return { reportedPercentage: percentage }
}

function earlier(last: number, age: unknown): number {
  const at = last - asCount(age)
  if (at < 0) throw new UnreadableBytes('a reading is older than there are times')
  return at
}

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

/** Of changes one after the other, oldest first; `current` has the values since the last. */
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
