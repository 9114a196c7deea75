import type { CustomPropertyReport } from '../../provider/answers.ts'
import type { AssociationReading, Readings } from '../readings.ts'
import { lastReadAt } from './change.ts'
import { type PackedReader, type PackedWriter, UnreadableBytes } from './packed.ts'

const VERSION = 1
const WITH_CUSTOM_PROPERTIES = 1

/** The time of readings that were all read at once; everything else is told from it. */
export const TIME_PLACE = { at: 1, bytes: 6 }

/** When packed readings were read last, ms; undefined for what is none. */
export function packedAt(packed: Buffer): number | undefined {
  const { at, bytes } = TIME_PLACE
  const isOurs = packed.length > at + bytes && Math.floor((packed[0] as number) / 16) === VERSION
  return isOurs ? packed.readUIntBE(at, bytes) : undefined
}

/** Whether packed readings are the same but for their moment. */
export function differInMomentOnly(one: Buffer, other: Buffer): boolean {
  const from = TIME_PLACE.at + TIME_PLACE.bytes
  return one[0] === other[0] && one.subarray(from).equals(other.subarray(from))
}

export function writeNumbers(out: PackedWriter, readings: Readings): void {
  const { customProperties, associations } = readings
  const pairs = Object.values(associations)
  const last = lastReadAt(readings) ?? 0
  out.byte(VERSION * 16 + (customProperties === undefined ? 0 : WITH_CUSTOM_PROPERTIES))
  out.time(last)
  if (customProperties !== undefined) {
    out.whole(last - customProperties.at)
    writeReport(out, customProperties.report)
  }
  out.whole(pairs.length)
  for (const { at, limit, atLimit, nearLimit, fullest } of pairs) {
    out.whole(last - at)
    out.whole(limit)
    out.whole(atLimit)
    out.whole(nearLimit)
    out.whole(fullest)
  }
}

/** The numbers of readings, in the order of their names. */
export interface Numbers {
  customProperties: { at: number; report: CustomPropertyReport } | undefined
  pairs: AssociationReading[]
}

/** @throws UnreadableBytes where that can't have been written */
export function readNumbers(input: PackedReader): Numbers {
  const head = input.byte()
  if (Math.floor(head / 16) !== VERSION || head % 16 > WITH_CUSTOM_PROPERTIES) {
    throw new UnreadableBytes(`it begins with ${head}: no version that is known`)
  }
  const last = input.time()
  const customProperties =
    head % 16 === WITH_CUSTOM_PROPERTIES ? { at: readAt(input, last), report: readReport(input) } : undefined
  const pairs: AssociationReading[] = []
  for (let left = input.whole(); left > 0; left--) pairs.push(readPair(input, last))
  return { customProperties, pairs }
}

function writeReport(out: PackedWriter, report: CustomPropertyReport): void {
  const { overallUsage, overallLimit, reportedPercentage, byObjectType } = report
  writeUsage(out, { usage: overallUsage, limit: overallLimit, percentage: reportedPercentage ?? NONE }, undefined)
  out.whole(byObjectType.length)
  let limitBefore: number | undefined
  for (const { usage, limit, reportedPercentage: percentage = NONE } of byObjectType) {
    writeUsage(out, { usage, limit, percentage }, limitBefore)
    limitBefore = limit
  }
}

function readReport(input: PackedReader): CustomPropertyReport {
  const overall = readUsage(input, undefined)
  const byObjectType: CustomPropertyReport['byObjectType'] = []
  for (let left = input.whole(); left > 0; left--) {
    const { usage, limit, percentage } = readUsage(input, byObjectType.at(-1)?.limit)
    const names = { objectTypeId: '', singularLabel: '', pluralLabel: '' }
    byObjectType.push({ ...names, limit, usage, ...reported(percentage) })
  }
  return {
    ...{ overallLimit: overall.limit, overallUsage: overall.usage, ...reported(overall.percentage) },
    byObjectType,
  }
}

/** Of a percentage that could not be read. */
const NONE = Number.NaN

function reported(percentage: number): { reportedPercentage?: number } {
  return Number.isNaN(percentage) ? {} : { reportedPercentage: percentage }
}

interface ReportedUsage {
  usage: number
  limit: number
  percentage: number
}

/** What is usual follows from usage and limit; anything else is written down. */
const USUAL_PERCENTAGES = [
  () => 0,
  (usage: number, limit: number) => Math.round((usage * 100_000) / limit) / 1_000,
  (usage: number, limit: number) => (usage * 100) / limit,
]

const UNUSUAL = USUAL_PERCENTAGES.length
/** Object types mostly share one limit. */
const SAME_LIMIT = UNUSUAL + 1

function writeUsage(out: PackedWriter, reported: ReportedUsage, limitBefore: number | undefined): void {
  const { usage, limit, percentage } = reported
  let how = 0
  while (how < UNUSUAL && !Object.is(USUAL_PERCENTAGES[how]?.(usage, limit), percentage)) how++
  out.byte(how + (limit === limitBefore ? SAME_LIMIT : 0))
  out.whole(usage)
  if (limit !== limitBefore) out.whole(limit)
  if (how === UNUSUAL) out.float(percentage)
}

function readUsage(input: PackedReader, limitBefore: number | undefined): ReportedUsage {
  const how = input.byte()
  if (how >= 2 * SAME_LIMIT || (how >= SAME_LIMIT && limitBefore === undefined)) {
    throw new UnreadableBytes(`it has a usage of an unknown kind, ${how}`)
  }
  const usage = input.whole()
  const limit = how >= SAME_LIMIT ? (limitBefore as number) : input.whole()
  const usual = USUAL_PERCENTAGES[how % SAME_LIMIT]
  return { usage, limit, percentage: usual === undefined ? input.float() : usual(usage, limit) }
}

function readPair(input: PackedReader, last: number): AssociationReading {
  return {
    at: readAt(input, last),
    limit: input.whole(),
    atLimit: input.whole(),
    nearLimit: input.whole(),
    fullest: input.whole(),
  }
}

function readAt(input: PackedReader, last: number): number {
  const at = last - input.whole()
  if (at < 0) throw new UnreadableBytes('a reading is older than there are times')
  return at
}
