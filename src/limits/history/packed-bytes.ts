import { FLOAT32_OPTIONS, Packr } from 'msgpackr/pack'

/** Bytes that are not what was written. The message names the fault, not the place. */
export class UnreadableBytes extends Error {}

/** The stored bytes of an account are not what Plimsoll wrote. The message names the key, and the way out. */
export class UnreadableKey extends Error {}

/** @throws UnreadableKey where `read` meets bytes that can't be what was written */
export function readKey<T>(hubId: number, key: string, hint: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof UnreadableBytes)) throw error
    throw new UnreadableKey(`account ${hubId}: ${key} can't be read, ${error.message}. ${hint}`)
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
export const READINGS_VERSION = 3

/** A value with the moment that it is of, ms. */
export interface Packed {
  at: number
  value: unknown
}

/** The moment has a place of its own, see `movedTo`. */
const TIME_PLACE = { at: 1, bytes: 6 }
const VALUE_AT = TIME_PLACE.at + TIME_PLACE.bytes

const CODEC = new Packr({ useRecords: false, mapsAsObjects: false, useFloat32: FLOAT32_OPTIONS.DECIMAL_FIT })

/** A value of arrays and maps with the moment that it is of, ms: a byte with the version, six with the moment, the value. */
export function pack(at: number, value: unknown, version = VERSION): Buffer {
  const packed = CODEC.pack(value)
  const bytes = Buffer.allocUnsafe(VALUE_AT + packed.length)
  bytes[0] = version
  bytes.writeUIntBE(at, TIME_PLACE.at, TIME_PLACE.bytes)
  packed.copy(bytes, VALUE_AT)
  return bytes
}

/** @throws UnreadableBytes */
export function unpack(bytes: Buffer, version = VERSION): Packed {
  const at = packedAt(bytes, version)
  if (at === undefined) throw new UnreadableBytes(`it begins with ${bytes[0]}: no version that is known`)
  try {
    return { at, value: CODEC.unpack(bytes.subarray(VALUE_AT)) }
  } catch (error) {
    throw new UnreadableBytes(error instanceof Error ? error.message : String(error))
  }
}

/** The same value as of another moment: a poll that finds all as it was moves it without the rest. */
export function movedTo(bytes: Buffer, at: number): Buffer {
  const moved = Buffer.from(bytes)
  moved.writeUIntBE(at, TIME_PLACE.at, TIME_PLACE.bytes)
  return moved
}

/** The moment of packed readings, ms; undefined for what are none of this version. */
export function packedAt(bytes: Buffer, version = READINGS_VERSION): number | undefined {
  const isOurs = bytes[0] === version && bytes.length > VALUE_AT
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

export function asPercentage(percentage: unknown): number {
  return typeof percentage === 'number' ? percentage : unreadable(percentage, 'percentage')
}

export function earlier(last: number, age: unknown): number {
  const at = last - asCount(age)
  if (at < 0) throw new UnreadableBytes('a reading is older than there are times')
  return at
}
