import type { PairSamples, SampleRecord, Samples } from '../samples.ts'
import { PackedReader, PackedWriter, UnreadableBytes } from './packed.ts'
import { readTexts, writeTexts } from './packed-text.ts'

const VERSION = 1

/** What a record has beside its object id. */
const WITH_LABEL = 1
const WITH_USAGE = 2

/**
 * As kept in Redis: version, how many bytes an object id takes, the time of the last reading (others are told by how much
 * earlier they were), pairs with their records, and at the end pairs' names and labels.
 */
export function encodeSamples(samples: Samples): Buffer {
  const pairs = Object.entries(samples)
  const ids = pairs.flatMap(([, pair]) => recordsIn(pair).map(({ objectId }) => objectId))
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
  const labels = pairs.flatMap(([, pair]) =>
    recordsIn(pair).flatMap(({ label }) => (label === undefined ? [] : [label])),
  )
  writeTexts(out, [...pairs.map(([pair]) => pair), ...labels], NO_DICTIONARY)
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
  const labelled = pairs.flatMap(recordsIn).filter(({ label }) => label !== undefined)
  const texts = readTexts(input, pairs.length + labelled.length, NO_DICTIONARY)
  labelled.forEach((record, n) => {
    record.label = texts[pairs.length + n] ?? ''
  })
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
      writeId(out, objectId, width)
      if (usage !== undefined) out.whole(usage)
    }
  }
}

function readRecords(input: PackedReader, width: number): SampleRecord[] {
  const records: SampleRecord[] = []
  for (let groups = input.whole(); groups > 0; groups--) {
    const shape = input.byte()
    if (shape > WITH_LABEL + WITH_USAGE) throw new UnreadableBytes(`it has records of an unknown kind, ${shape}`)
    for (let left = input.whole(); left > 0; left--) {
      const record: SampleRecord = { objectId: readId(input, width) }
      if (shape % 2 === WITH_LABEL) record.label = ''
      if (shape >= WITH_USAGE) record.usage = input.whole()
      records.push(record)
    }
  }
  return records
}

function shapeOf({ label, usage }: SampleRecord): number {
  return (label === undefined ? 0 : WITH_LABEL) + (usage === undefined ? 0 : WITH_USAGE)
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
