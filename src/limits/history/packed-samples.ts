import type { PairSamples, SampleRecord, Samples } from '../samples.ts'
import { PackedReader, PackedWriter, UnreadableBytes } from './packed.ts'
import { readTexts, writeTexts } from './packed-text.ts'

const VERSION = 1

/** What a record has beside its object id. */
const WITH_LABEL = 1
const WITH_USAGE = 2
/** In the place of the id: its digits stand among the texts. */
const LONG_ID = 4

/**
 * As kept in Redis: version, how many bytes an object id takes, the time of the last reading (others are told by how much
 * earlier they were), pairs with their records, and at the end pairs' names, ids that are
 * too long for a number, and labels.
 */
export function encodeSamples(samples: Samples): Buffer {
  const pairs = Object.entries(samples)
  const ids = pairs.flatMap(([, pair]) =>
    recordsIn(pair).map(({ objectId }) => (typeof objectId === 'number' ? objectId : 0)),
  )
  const width = widthOf(ids.reduce((largest, id) => Math.max(largest, id), 0))
  const last = pairs.reduce((latest, [, { at }]) => Math.max(latest, at), 0)
  const out = new PackedWriter()
  out.byte(VERSION * 16 + width)
  out.time(last)
  out.whole(pairs.length)
  for (const [, { at, atLimit, nearLimit }] of pairs) {
    out.whole(last - at)
    writeRecords(out, atLimit, width)
    writeRecords(out, nearLimit, width)
  }
  const records = pairs.flatMap(([, pair]) => recordsIn(pair))
  const longIds = records.flatMap(({ objectId }) => (typeof objectId === 'string' ? [objectId] : []))
  const labels = records.flatMap(({ label }) => (label === undefined ? [] : [label]))
  writeTexts(out, [...pairs.map(([pair]) => pair), ...longIds, ...labels], NO_DICTIONARY)
  return out.done()
}

/** @throws UnreadableBytes where that can't have been written */
export function decodeSamples(stored: Buffer): Samples {
  const input = new PackedReader(stored)
  const head = input.byte()
  const width = head % 16
  if (Math.floor(head / 16) !== VERSION || width < 1 || width > 7) {
    throw new UnreadableBytes(`it begins with ${head}: no version that is known`)
  }
  const last = input.time()
  const pairs: PairSamples[] = []
  for (let left = input.whole(); left > 0; left--) {
    pairs.push({ at: last - input.whole(), atLimit: readRecords(input, width), nearLimit: readRecords(input, width) })
  }
  const records = pairs.flatMap(recordsIn)
  const longNamed = records.filter(({ objectId }) => typeof objectId === 'string')
  const labelled = records.filter(({ label }) => label !== undefined)
  const texts = readTexts(input, pairs.length + longNamed.length + labelled.length, NO_DICTIONARY)
  for (const [n, record] of longNamed.entries()) record.objectId = texts[pairs.length + n] ?? ''
  for (const [n, record] of labelled.entries()) record.label = texts[pairs.length + longNamed.length + n] ?? ''
  return Object.fromEntries(pairs.map((pair, n) => [texts[n] ?? '', pair]))
}

/** Records that have the same things beside their ids stand together: mostly one such group is all. */
function writeRecords(out: PackedWriter, records: readonly SampleRecord[], width: number): void {
  const groups: SampleRecord[][] = []
  for (const record of records) {
    const group = groups.at(-1)
    if (group?.[0] !== undefined && shapeOf(group[0]) === shapeOf(record)) group.push(record)
    else groups.push([record])
  }
  out.whole(groups.length)
  for (const group of groups) {
    out.byte(shapeOf(group[0] as SampleRecord))
    out.whole(group.length)
    for (const { objectId, usage } of group) {
      if (typeof objectId === 'number') writeId(out, objectId, width)
      if (usage !== undefined) out.whole(usage)
    }
  }
}

function readRecords(input: PackedReader, width: number): SampleRecord[] {
  const records: SampleRecord[] = []
  for (let groups = input.whole(); groups > 0; groups--) {
    const shape = input.byte()
    if (shape > WITH_LABEL + WITH_USAGE + LONG_ID)
      throw new UnreadableBytes(`it has records of an unknown kind, ${shape}`)
    for (let left = input.whole(); left > 0; left--) {
      const record: SampleRecord = { objectId: shape >= LONG_ID ? '' : readId(input, width) }
      if (shape % 2 === WITH_LABEL) record.label = ''
      if (shape % LONG_ID >= WITH_USAGE) record.usage = input.whole()
      records.push(record)
    }
  }
  return records
}

function shapeOf({ objectId, label, usage }: SampleRecord): number {
  const beside = (label === undefined ? 0 : WITH_LABEL) + (usage === undefined ? 0 : WITH_USAGE)
  return beside + (typeof objectId === 'string' ? LONG_ID : 0)
}

function recordsIn({ atLimit, nearLimit }: PairSamples): SampleRecord[] {
  return [...atLimit, ...nearLimit]
}

function widthOf(id: number): number {
  let width = 1
  for (let rest = id; rest >= 256; rest = Math.floor(rest / 256)) width++
  return width
}

/** In two parts: of more than 6 bytes nothing can be written at once. */
function writeId(out: PackedWriter, id: number, width: number): void {
  if (width === 7) out.byte(Math.floor(id / 2 ** 48))
  out.fixed(id % 2 ** 48, Math.min(width, 6))
}

function readId(input: PackedReader, width: number): number {
  const high = width === 7 ? input.byte() : 0
  const id = high * 2 ** 48 + input.fixed(Math.min(width, 6))
  if (!Number.isSafeInteger(id)) throw new UnreadableBytes('an object id is too large')
  return id
}

const NO_DICTIONARY = Buffer.alloc(0)
