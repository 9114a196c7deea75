import { inflateRawSync } from 'node:zlib'
import type { CustomPropertyReport } from '../../provider/answers.ts'
import type { AssociationReading, Readings } from '../readings.ts'
import type { SampleRecord, Samples } from '../samples.ts'
import { seriesOf } from '../series.ts'
import { type Change, undo, type Value, valuesOf } from './change.ts'
import { UnreadableBytes } from './packed.ts'

/*
 * Reads what versions before format 2 kept of an account, in a codec of their own: whole numbers of seven bits a byte, the low
 * ones first, times of 6 bytes, names in one compressed text at the end. Nothing is written in it any more: the first poll of an
 * account, or the daily work on its history, writes it in the new form.
 */

export function isFormat1(stored: Buffer): boolean {
  return Math.floor((stored[0] ?? 0) / 16) === 1
}

/** @throws UnreadableBytes, as those below */
export function readingsOfFormat1(stored: Buffer): Readings {
  return believed(() => readReadings(stored).readings)
}

/** The changes that led to the readings, newest first. */
export function changesOfFormat1(stored: Buffer, records: readonly Buffer[]): Change[] {
  const { readings, slots } = believed(() => readReadings(stored))
  const values = valuesOf(readings)
  return records.toReversed().map((record, n) =>
    believed(
      () => {
        const change = readChange(record, slots, values)
        undo(values, change)
        return change
      },
      `change ${records.length - n} of ${records.length}: `,
    ),
  )
}

export function samplesOfFormat1(stored: Buffer): Samples {
  return believed(() => readSamples(stored))
}

function believed<T>(read: () => T, where = ''): T {
  try {
    return read()
  } catch (error) {
    throw new UnreadableBytes(`${where}${error instanceof Error ? error.message : String(error)}`)
  }
}

class Input {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** At most 6 bytes. */
  fixed(width: number): number {
    const value = this.#bytes.readUIntBE(this.#at, width)
    this.#at += width
    return value
  }

  whole(): number {
    let value = 0
    for (let unit = 1; ; unit *= 128) {
      const byte = this.fixed(1)
      value += (byte % 128) * unit
      if (value > Number.MAX_SAFE_INTEGER) throw new RangeError('a number is too large')
      if (byte < 128) return value
    }
  }

  rest(length = this.#bytes.length - this.#at): Buffer {
    this.#at += length
    if (this.#at > this.#bytes.length) throw new RangeError('it ends too early')
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  /** So many things, after their number. */
  list<T>(read: () => T): T[] {
    const count = this.whole()
    if (count > MOST_ITEMS) throw new RangeError('it has more than any account')
    return Array.from({ length: count }, read)
  }

  /** The names at the end, with a zero between them. */
  texts(dictionary: string): string[] {
    const plain =
      this.fixed(1) === 0
        ? this.rest()
        : inflateRawSync(this.rest(), { dictionary: Buffer.from(dictionary), maxOutputLength: MOST_BYTES })
    const texts = plain.toString('utf8').split('\0')
    return texts.map((text) => text.replaceAll('\u0001b', '\0').replaceAll('\u0001a', '\u0001'))
  }
}

/** No account has as much text: a few bytes must not become gigabytes. */
const MOST_BYTES = 256 * 1024 * 1024
const MOST_ITEMS = 100_000

function readReadings(stored: Buffer): { readings: Readings; slots: Map<number, string> } {
  const input = new Input(stored)
  const hasProperties = input.fixed(1) % 16 === 1
  const last = input.fixed(6)
  const age = hasProperties ? input.whole() : 0
  const report = hasProperties ? readReport(input) : undefined
  const pairs = input.list((): AssociationReading => {
    const [at, limit, atLimit] = [last - input.whole(), input.whole(), input.whole()]
    return { at, limit, atLimit, nearLimit: input.whole(), fullest: input.whole() }
  })
  const runs = input.list(() => [input.whole(), input.whole()] as const)
  const texts = input.texts(DICTIONARY)
  for (const type of report?.byObjectType ?? []) {
    const [objectTypeId = '', singularLabel = '', plural = ''] = texts.splice(0, 3)
    const pluralLabel = plural === '' ? `${singularLabel}s` : plural.slice(1)
    Object.assign(type, { objectTypeId, singularLabel, pluralLabel })
  }
  const readings: Readings = {
    ...(report === undefined ? {} : { customProperties: { at: last - age, report } }),
    associations: Object.fromEntries(pairs.map((pair, n) => [texts[n] ?? '', pair])),
  }
  const ids = seriesOf(readings).map(({ id }) => id)
  if (runs.reduce((sum, [, length]) => sum + length, 0) !== ids.length) {
    throw new RangeError('it has not one slot for each series')
  }
  // By its slot a record of the history names a series.
  const slots = runs.flatMap(([first, length]) => Array.from({ length }, (_, n) => first + n))
  return { readings, slots: new Map(ids.map((id, n) => [slots[n] ?? 0, id])) }
}

function readReport(input: Input): CustomPropertyReport {
  const overall = readUsage(input, 0)
  let limit = 0
  const byObjectType = input.list(() => {
    const type = { objectTypeId: '', singularLabel: '', pluralLabel: '', ...readUsage(input, limit) }
    limit = type.limit
    return type
  })
  const { usage: overallUsage, limit: overallLimit, ...percentage } = overall
  return { overallUsage, overallLimit, ...percentage, byObjectType }
}

/** A byte for whether the limit is the one of the type before, and how the percentage follows from usage and limit. */
function readUsage(input: Input, limitBefore: number) {
  const how = input.fixed(1)
  const usage = input.whole()
  const limit = how >= 4 ? limitBefore : input.whole()
  const usual = [0, Math.round((usage * 100_000) / limit) / 1_000, (usage * 100) / limit]
  const percentage = how % 4 === 3 ? input.rest(8).readDoubleBE() : (usual[how % 4] ?? 0)
  return { usage, limit, ...(Number.isNaN(percentage) ? {} : { reportedPercentage: percentage }) }
}

/** Series by series its slot, then a number: its two low bits are what was before, the others are `d`. */
function readChange(record: Buffer, slots: Map<number, string>, after: ReadonlyMap<string, Value>): Change {
  const input = new Input(record)
  const endsGap = input.fixed(1) % 16 === 1
  const at = input.fixed(6)
  const change: Change = { at, ...(endsGap ? { missingSince: input.fixed(6) } : {}), before: [] }
  while (!input.isAtEnd) {
    const slot = input.whole()
    const how = input.whole()
    const [kind, d] = [how % 4, Math.floor(how / 4)]
    if (kind === 3 && d > 0) {
      const id = input.rest(input.whole()).toString('utf8')
      slots.set(slot, id)
      change.before.push([id, { usage: input.whole(), limit: d === 1 ? input.whole() : null }])
      continue
    }
    const id = slots.get(slot) ?? ''
    const now = after.get(id)
    if (now === undefined) throw new RangeError(`it names series ${slot}, which is unknown`)
    if (kind === 3) slots.delete(slot)
    change.before.push([id, kind === 3 ? undefined : valueBefore(input, now, kind, d)])
  }
  return change
}

function valueBefore(input: Input, now: Value, kind: number, d: number): Value {
  if (kind === 2) return { usage: input.whole(), limit: d === 0 ? input.whole() : null }
  return { usage: now.usage + (kind === 0 ? d : -d), limit: now.limit }
}

function readSamples(stored: Buffer): Samples {
  const input = new Input(stored)
  const width = input.fixed(1) % 16
  const last = input.fixed(6)
  const pairs = input.list(() => {
    const at = last - input.whole()
    return { at, atLimit: readRecords(input, width), nearLimit: readRecords(input, width) }
  })
  const texts = input.texts('')
  const names = texts.splice(0, pairs.length)
  const records = pairs.flatMap(({ atLimit, nearLimit }) => [...atLimit, ...nearLimit])
  for (const record of records) if (record.objectId === '') record.objectId = texts.shift() ?? ''
  for (const record of records) if (record.label === '') record.label = texts.shift() ?? ''
  return Object.fromEntries(pairs.map((pair, n) => [names[n] ?? '', pair]))
}

/** In groups that have the same beside their ids: 1 a label, 2 a usage, 4 an id that is a text. */
function readRecords(input: Input, width: number): SampleRecord[] {
  return input
    .list(() => {
      const shape = input.fixed(1)
      return input.list((): SampleRecord => {
        const high = shape < 4 && width === 7 ? input.fixed(1) : 0
        const objectId = shape < 4 ? high * 2 ** 48 + input.fixed(Math.min(width, 6)) : ''
        const label = shape % 2 === 1 ? { label: '' } : {}
        return { objectId, ...label, ...(shape % 4 >= 2 ? { usage: input.whole() } : {}) }
      })
    })
    .flat()
}

/** What the names usually had in common. */
const DICTIONARY =
  '0-1160-70-690-500-480-1360-1420-4210-1620-1230-540-530-470-490-460-270-190-180-160-149' +
  'Marketing event-Marketing eventsSubscription-SubscriptionsCommunication-CommunicationsAppointment-AppointmentsInvoice-InvoicesOrder-OrdersCart-CartsPayment-PaymentsCourse-CoursesListing-ListingsService-ServicesUser-UsersGoal-GoalsTaskEmailCallMeetingNote' +
  '0-10/0-20-2/0-10-1/0-30-3/0-10-2/0-30-3/0-20-1/0-50-5/0-10-136Lead0-14Quote0-8Line item0-7Product0-5Ticket0-3Deal0-2Company-Companies0-1Contact2-'
