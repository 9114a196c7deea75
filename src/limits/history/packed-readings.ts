import type { CustomPropertyReport } from '../../provider/answers.ts'
import type { AssociationReading, Readings } from '../readings.ts'
import { seriesOf } from '../series.ts'
import { lastReadAt } from './change.ts'
import { PackedReader, PackedWriter, UnreadableBytes } from './packed.ts'
import { readTexts, writeTexts } from './packed-text.ts'
import type { Slots } from './standing.ts'

/** The last numbers of an account as they are kept, with the slots by which the history's records name its series. */
export interface KeptReadings {
  readings: Readings
  slots: Slots
  /** Their names as they are packed. */
  packedTexts: Buffer
}

const VERSION = 1
const WITH_CUSTOM_PROPERTIES = 1

/**
 * As kept in Redis: version and flags, the time of the last reading (others are told by how much earlier they were),
 * custom properties, pairs, slots, and at the end all texts. Numbers are as short as they get; of the texts, two thirds
 * are left by compressing them; `packedTexts` are those of readings with the same names, where there are any.
 */
export function encodeReadings(readings: Readings, slots: Slots, packedTexts?: Buffer): Buffer {
  const out = new PackedWriter()
  writeNumbers(out, readings)
  writeSlots(
    out,
    seriesOf(readings).map(({ id }) => slots.get(id) ?? missingSlot(id)),
  )
  // Compressing costs more than all the rest of a poll's writing: what was packed with the same texts is as good.
  if (packedTexts !== undefined) out.append(packedTexts)
  else writeTexts(out, textsOf(readings), DICTIONARY)
  return out.done()
}

/** The time of readings that were all read at once; everything else is told from it. */
export const TIME_PLACE = { at: 1, bytes: 6 }

/** When packed readings were read last, ms; undefined for what is none. */
export function packedAt(packed: Buffer): number | undefined {
  const { at, bytes } = TIME_PLACE
  const isOurs = packed.length > at + bytes && Math.floor((packed[0] as number) / 16) === VERSION
  return isOurs ? packed.readUIntBE(at, bytes) : undefined
}

/** Whether `readings` have the numbers of the packed ones, and each the same age: only the moment may be another. */
export function hasNumbersOf(readings: Readings, packed: Buffer): boolean {
  const out = new PackedWriter()
  writeNumbers(out, readings)
  const from = TIME_PLACE.at + TIME_PLACE.bytes
  const numbers = out.done()
  return (
    numbers[0] === packed[0] &&
    packed.length >= numbers.length &&
    numbers.compare(packed, from, numbers.length, from, numbers.length) === 0
  )
}

/** All names in the readings, in the order in which they are packed. */
export function textsOf({ customProperties, associations }: Readings): string[] {
  const types = customProperties?.report.byObjectType ?? []
  return [...types.flatMap(typeTexts), ...Object.keys(associations)]
}

function writeNumbers(out: PackedWriter, readings: Readings): void {
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

/**
 * `names`: readings with the same names, where that is known: then they need not be unpacked.
 *
 * @throws UnreadableBytes where that can't have been written
 */
export function decodeReadings(stored: Buffer, names?: Readings): KeptReadings {
  const input = new PackedReader(stored)
  const head = input.byte()
  if (Math.floor(head / 16) !== VERSION || head % 16 > WITH_CUSTOM_PROPERTIES) {
    throw new UnreadableBytes(`it begins with ${head}: no version that is known`)
  }
  const last = input.time()
  const customProperties =
    head % 16 === WITH_CUSTOM_PROPERTIES ? { at: readAt(input, last), report: readReport(input) } : undefined
  const pairs: AssociationReading[] = []
  for (let left = input.whole(); left > 0; left--) pairs.push(readPair(input, last))
  const runs = readSlots(input)
  const types = customProperties?.report.byObjectType ?? []
  const packedTexts = input.rest()
  const texts =
    names === undefined
      ? readTexts(new PackedReader(packedTexts), types.length * TEXTS_OF_TYPE + pairs.length, DICTIONARY)
      : textsOf(names)
  types.forEach((type, n) => {
    Object.assign(type, namesOf(texts.slice(n * TEXTS_OF_TYPE, (n + 1) * TEXTS_OF_TYPE)))
  })
  const pairNames = texts.slice(types.length * TEXTS_OF_TYPE)
  const readings: Readings = {
    ...(customProperties === undefined ? {} : { customProperties }),
    associations: Object.fromEntries(pairs.map((pair, n) => [pairNames[n] ?? '', pair])),
  }
  return { readings, slots: slotsOf(readings, runs), packedTexts }
}

function writeReport(out: PackedWriter, report: CustomPropertyReport): void {
  const { overallUsage, overallLimit, reportedPercentage, byObjectType } = report
  writeUsage(out, { usage: overallUsage, limit: overallLimit, percentage: reportedPercentage }, undefined)
  out.whole(byObjectType.length)
  let limitBefore: number | undefined
  for (const { usage, limit, reportedPercentage: percentage } of byObjectType) {
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
    byObjectType.push({ ...names, limit, usage, reportedPercentage: percentage })
  }
  return {
    ...{ overallLimit: overall.limit, overallUsage: overall.usage, reportedPercentage: overall.percentage },
    byObjectType,
  }
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
  const usual = USUAL_PERCENTAGES.findIndex((compute) => Object.is(compute(usage, limit), percentage))
  out.byte((usual === -1 ? UNUSUAL : usual) + (limit === limitBefore ? SAME_LIMIT : 0))
  out.whole(usage)
  if (limit !== limitBefore) out.whole(limit)
  if (usual === -1) out.float(percentage)
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

/** Slots as runs: mostly there is one, from 0 on. */
function writeSlots(out: PackedWriter, slots: readonly number[]): void {
  const runs: [first: number, length: number][] = []
  for (const slot of slots) {
    const run = runs.at(-1)
    if (run !== undefined && run[0] + run[1] === slot) run[1]++
    else runs.push([slot, 1])
  }
  out.whole(runs.length)
  for (const [first, length] of runs) {
    out.whole(first)
    out.whole(length)
  }
}

function readSlots(input: PackedReader): [first: number, length: number][] {
  const runs: [number, number][] = []
  for (let left = input.whole(); left > 0; left--) runs.push([input.whole(), input.whole()])
  return runs
}

function slotsOf(readings: Readings, runs: readonly [first: number, length: number][]): Slots {
  const ids = seriesOf(readings).map(({ id }) => id)
  if (runs.reduce((sum, [, length]) => sum + length, 0) !== ids.length) {
    throw new UnreadableBytes('it has not one slot for each series')
  }
  const slots = runs.flatMap(([first, length]) => Array.from({ length }, (_, n) => first + n))
  if (new Set(slots).size !== slots.length) throw new UnreadableBytes('two of its series share a slot')
  return new Map(ids.map((id, n) => [id, slots[n] as number]))
}

const TEXTS_OF_TYPE = 3

/** Id, singular, plural; '' stands for the plural that is regular, and for one that is empty '-'. */
function typeTexts({ objectTypeId, singularLabel, pluralLabel }: CustomPropertyReport['byObjectType'][number]) {
  if (pluralLabel === `${singularLabel}s`) return [objectTypeId, singularLabel, '']
  return [objectTypeId, singularLabel, `-${pluralLabel}`]
}

function namesOf([objectTypeId = '', singularLabel = '', plural = '']: string[]) {
  return { objectTypeId, singularLabel, pluralLabel: plural === '' ? `${singularLabel}s` : plural.slice(1) }
}

function missingSlot(id: string): never {
  throw new Error(`series ${id} has no slot`)
}

/** What texts usually have in common. Never to be changed: what was compressed with it could not be read without it. */
const DICTIONARY = Buffer.from(
  '0-1160-70-690-500-480-1360-1420-4210-1620-1230-540-530-470-490-460-270-190-180-160-149' +
    'Marketing event-Marketing eventsSubscription-SubscriptionsCommunication-CommunicationsAppointment-AppointmentsInvoice-InvoicesOrder-OrdersCart-CartsPayment-PaymentsCourse-CoursesListing-ListingsService-ServicesUser-UsersGoal-GoalsTaskEmailCallMeetingNote' +
    '0-10/0-20-2/0-10-1/0-30-3/0-10-2/0-30-3/0-20-1/0-50-5/0-10-136Lead0-14Quote0-8Line item0-7Product0-5Ticket0-3Deal0-2Company-Companies0-1Contact2-',
)
