import { crc32 } from 'node:zlib'
import { UnreadableBytes } from '../history/packed-bytes.ts'
import { afterGrant, NEW_WATCH, type Watch } from './watch.ts'

/** The stored watch of an account, with its numbers, packed. */
export interface StoredWatch {
  watch: Watch
  /** See `encodeReadings`; undefined: nothing was ever read. */
  readings: Buffer | undefined
  /** The account was not polled for a while, or has a new grant: the last poll's fingerprints count no more. */
  isInterrupted: boolean
}

/**
 * A byte that steps on the account set when they end its polling: `1` as it was written, `s` stopped since, `g` granted anew
 * since. Then a checksum of the rest in eight hex digits, so that nothing else has to be checked of what was written here.
 * Then a line of JSON, and the readings.
 */
const MARK = { written: 0x31, stopped: 0x73, granted: 0x67 } as const
const HEAD_BYTES = 10
const LINE_END = 0x0a

/** `isInterrupted`: as it was read; no poll has begun anew since. */
export function encodeWatch(watch: Watch, readings: Buffer | undefined, isInterrupted = false): Buffer {
  const text = `{"polledAt":${watch.polledAt}${partsOf(watch)}}\n`
  const bytes = Buffer.byteLength(text)
  const packed = Buffer.allocUnsafe(HEAD_BYTES + bytes + (readings?.length ?? 0))
  packed.write(text, HEAD_BYTES)
  readings?.copy(packed, HEAD_BYTES + bytes)
  packed.write(`${isInterrupted ? 's' : '1'}${checksum(packed)} `, 0, 'latin1')
  return packed
}

function checksum(packed: Buffer): string {
  return crc32(packed.subarray(HEAD_BYTES)).toString(16).padStart(8, '0')
}

const NAMES = (Object.keys(NEW_WATCH) as (keyof Watch)[]).filter((name) => name !== 'polledAt')

const MAYBE_EMPTY: ReadonlySet<keyof Watch> = new Set(['gaps', 'notAvailable', 'unconfirmed'])

/** All that is not as of an account that was never polled. */
function partsOf(watch: Watch): string {
  let text = ''
  for (const name of NAMES) {
    const value = watch[name]
    if (value === undefined || value === 0 || value === false) continue
    if (MAYBE_EMPTY.has(name) && isEmpty(value as object)) continue
    text += `,"${name}":${JSON.stringify(value)}`
  }
  return text
}

function isEmpty(value: object): boolean {
  for (const _ in value) return false
  return true
}

/** @throws UnreadableBytes */
function readLine(packed: Buffer, end: number): Watch {
  if (packed.toString('latin1', 1, HEAD_BYTES - 1) !== checksum(packed)) {
    throw new UnreadableBytes('it is not what Plimsoll wrote')
  }
  return { ...NEW_WATCH, ...(JSON.parse(packed.toString('utf8', HEAD_BYTES, end)) as Partial<Watch>) }
}

/** @throws UnreadableBytes */
export function decodeWatch(packed: Buffer): StoredWatch {
  const end = packed.indexOf(LINE_END)
  const mark = packed[0]
  if (end < HEAD_BYTES) throw new UnreadableBytes('it has no end of its line')
  const written = readLine(packed, end)
  const readings = end + 1 === packed.length ? undefined : packed.subarray(end + 1)
  switch (mark) {
    case MARK.written:
      return { watch: written, readings, isInterrupted: false }
    case MARK.stopped:
      return { watch: { ...written, seen: undefined }, readings, isInterrupted: true }
    case MARK.granted:
      return { watch: afterGrant(written), readings, isInterrupted: true }
    default:
      throw new UnreadableBytes(`it begins with ${mark}: no mark that is known`)
  }
}
