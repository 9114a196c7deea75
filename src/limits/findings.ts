import { type Change, changeBetween } from './history/change.ts'
import { type PackedPoll, packPoll } from './history/pack-poll.ts'
import { differInMomentOnly } from './history/packed-numbers.ts'
import type { PollContext } from './poll-context.ts'
import type { Fetched } from './readings.ts'
import { mergeReadings, type Readings } from './readings.ts'
import { mergeSamples, type SampleSettings, type Samples } from './samples.ts'
import { namesFingerprint, recordsFingerprint, type Seen } from './seen.ts'

/** What a poll read, beside what was known. */
export interface Findings {
  before: Readings | undefined
  after: Readings
  change: Change | undefined
  packed: PackedPoll
  /** Of a poll that read everything: the records that it was shown. */
  shown: Samples | undefined
  /** These are the records that are kept. */
  isShownAlike: boolean
  /** Nothing that was read is another than before. */
  isAsBefore: boolean
  /** Of a poll that read everything: the words that it saw. */
  words: Pick<Seen, 'names' | 'records'> | undefined
}

/** Of a poll that did not read everything, or of pairs that take turns. */
export function partialFindings({ readings: before, slots }: PollContext, fetched: Fetched, gapMs: number): Findings {
  const after = mergeReadings(before, fetched)
  const change = changeBetween(before, after, fetched.at, gapMs)
  const packed = packPoll(after, slots, change)
  return { before, after, change, packed, shown: undefined, isShownAlike: false, isAsBefore: false, words: undefined }
}

/** Of a poll that read everything. */
export function wholeFindings(
  context: PollContext,
  fetched: Fetched,
  settings: SampleSettings,
  gapMs: number,
): Findings {
  const { packed, seen: last } = context
  const after = mergeReadings(undefined, fetched)
  const shown = mergeSamples({}, fetched, settings)
  const words = {
    names: namesFingerprint(after),
    records: recordsFingerprint(fetched.associations, settings.records),
  }
  const isShownAlike = words.records === last?.records && packed.hasSamples && Object.keys(shown).length > 0
  // Numbers can be read without the names, which are most of what it takes to unpack readings, and to pack them.
  const kept = words.names === last?.names ? packed.readingsNamedAs(after) : undefined
  const before = kept === undefined ? context.readings : kept.readings
  const change = changeBetween(before, after, fetched.at, gapMs)
  const now = packPoll(after, context.slots, change, kept?.packedTexts)
  const isAsBefore =
    packed.readings !== null &&
    differInMomentOnly(now.readings, packed.readings) &&
    words.names === last?.names &&
    words.records === last.records
  return { before, after, change, packed: now, shown, isShownAlike, isAsBefore, words }
}
