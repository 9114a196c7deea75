import type { CustomPropertyReport } from '../../provider/answers.ts'
import type { Readings } from '../readings.ts'
import { seriesOf } from '../series.ts'
import { PackedReader, PackedWriter, UnreadableBytes } from './packed.ts'
import { type Numbers, readNumbers, writeNumbers } from './packed-numbers.ts'
import { readTexts, writeTexts } from './packed-text.ts'
import { countSlots, readSlots, type SlotRuns, writeSlots } from './slot-runs.ts'
import type { Slots } from './standing.ts'

/** The last numbers of an account as they are kept, with the slots by which the history's records name its series. */
export interface KeptReadings {
  readings: Readings
  slots: Slots
  /** Their names as they are packed. */
  packedTexts: Buffer
}

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

/** All names in the readings, in the order in which they are packed. */
function textsOf({ customProperties, associations }: Readings): string[] {
  const types = customProperties?.report.byObjectType ?? []
  return [...types.flatMap(typeTexts), ...Object.keys(associations)]
}

/**
 * `names`: readings with the same names, where that is known: then they need not be unpacked.
 *
 * @throws UnreadableBytes where that can't have been written
 */
export function decodeReadings(stored: Buffer, names?: Readings): KeptReadings {
  const input = new PackedReader(stored)
  const numbers = readNumbers(input)
  const runs = readSlots(input)
  const packedTexts = input.rest()
  const readings = names === undefined ? named(numbers, new PackedReader(packedTexts)) : namedAs(names, numbers)
  return { readings, slots: slotsOf(readings, runs), packedTexts }
}

function named({ customProperties, pairs }: Numbers, input: PackedReader): Readings {
  const types = customProperties?.report.byObjectType ?? []
  const texts = readTexts(input, types.length * TEXTS_OF_TYPE + pairs.length, DICTIONARY)
  types.forEach((type, n) => {
    Object.assign(type, namesOf(texts.slice(n * TEXTS_OF_TYPE, (n + 1) * TEXTS_OF_TYPE)))
  })
  return readingsOf({ customProperties, pairs }, texts.slice(types.length * TEXTS_OF_TYPE))
}

/** The numbers under the names of other readings, which are the same. */
function namedAs(names: Readings, numbers: Numbers): Readings {
  const types = names.customProperties?.report.byObjectType ?? []
  for (const [n, type] of numbers.customProperties?.report.byObjectType.entries() ?? []) {
    const named = types[n]
    if (named === undefined) break
    type.objectTypeId = named.objectTypeId
    type.singularLabel = named.singularLabel
    type.pluralLabel = named.pluralLabel
  }
  return readingsOf(numbers, Object.keys(names.associations))
}

function readingsOf({ customProperties, pairs }: Numbers, pairNames: readonly string[]): Readings {
  const associations = Object.fromEntries(pairs.map((pair, n) => [pairNames[n] ?? '', pair]))
  return customProperties === undefined ? { associations } : { customProperties, associations }
}

function slotsOf(readings: Readings, runs: SlotRuns): Slots {
  const ids = seriesOf(readings).map(({ id }) => id)
  if (countSlots(runs) !== ids.length) {
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
