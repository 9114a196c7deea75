import { type Change, changeBetween } from './history/change.ts'
import { areNumbersOf, packNumbers } from './history/packed-numbers.ts'
import { type Move, movesBetween } from './moves.ts'
import type { PollContext } from './poll-store.ts'
import type { Fetched } from './readings.ts'
import { mergeReadings, type Readings } from './readings.ts'
import { mergeSamples, type SampleSettings, type Samples } from './samples.ts'
import { namesFingerprint, recordsFingerprint, type Seen } from './seen.ts'

/** What a poll read, beside what was known. */
export interface Findings {
  before: Readings | undefined
  after: Readings
  change: Change | undefined
  /** The names in the readings as they are packed, where they are those from before. */
  packedTexts: Buffer | undefined
  /** Of a poll that read everything: the records that it was shown. */
  shown: Samples | undefined
  /** These are the records that are kept. */
  isShownAlike: boolean
  /** Of a poll that read everything: what it saw. */
  seen: Pick<Seen, 'names' | 'samples'> | undefined
}

/** Of a poll that did not read everything, or of pairs that take turns. */
export function partialFindings({ readings: before }: PollContext, fetched: Fetched, gapMs: number): Findings {
  const after = mergeReadings(before, fetched)
  const change = changeBetween(before, after, fetched.at, gapMs)
  const nothing = { packedTexts: undefined, shown: undefined, isShownAlike: false, seen: undefined }
  return { before, after, change, ...nothing }
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
  const samples = recordsFingerprint(fetched.associations, settings.records)
  const seen = { names: namesFingerprint(after), samples }
  const isShownAlike = last?.samples === seen.samples && packed.hasSamples && Object.keys(shown).length > 0
  // Numbers can be read without the names, which are most of what it takes to unpack readings, and to pack them.
  const kept = last?.names === seen.names ? packed.readingsNamedAs(after) : undefined
  const before = kept === undefined ? context.readings : kept.readings
  const change = changeBetween(before, after, fetched.at, gapMs)
  return { before, after, change, packedTexts: kept?.packedTexts, shown, isShownAlike, seen }
}

/** What a poll that read everything found of an account whose names are what they were. */
export interface Moved {
  before: Readings
  after: Readings
  moves: readonly Move[]
  /** `after`, packed. */
  packed: Buffer
  /** The records that it was shown, and whether they are those that are kept: then nobody may need them. */
  shown: () => Samples
  isShownAlike: boolean
  seen: Pick<Seen, 'names' | 'samples'>
}

/**
 * What a poll that read everything found beside the last one: the same, although the answers' bytes are others; or some
 * numbers that moved, or records. Undefined where names are not what they were. Numbers are compared as they are packed,
 * and no name is unpacked or packed for it.
 */
export function movedSince(
  { packed, seen }: PollContext,
  fetched: Fetched,
  settings: SampleSettings,
): Moved | 'nothing' | undefined {
  if (seen === undefined || packed.readings === null) return undefined
  const after = mergeReadings(undefined, fetched)
  if (namesFingerprint(after) !== seen.names) return undefined
  const numbers = packNumbers(after)
  const samples = recordsFingerprint(fetched.associations, settings.records)
  const isShownAlike = samples === seen.samples
  if (isShownAlike && areNumbersOf(numbers, packed.readings)) return 'nothing'
  const kept = packed.numbersNamedAs(after)
  const moves = kept === undefined ? undefined : movesBetween(kept, after)
  if (kept === undefined || moves === undefined) return undefined
  return {
    ...{ before: kept.readings, after, moves, packed: Buffer.concat([numbers, kept.rest]) },
    ...{ shown: () => mergeSamples({}, fetched, settings), isShownAlike, seen: { names: seen.names, samples } },
  }
}
