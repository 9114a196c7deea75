import { type Change, changeBetween } from './history/change.ts'
import { areNumbersOf, packNumbers } from './history/packed-numbers.ts'
import { type Move, movesBetween } from './moves.ts'
import type { PollContext } from './poll-context.ts'
import type { SomeReports } from './polling/unread-reports.ts'
import type { Fetched } from './readings.ts'
import { laterReadings, mergeReadings, type Readings } from './readings.ts'
import { mergeSamples, type RecordChoice, type SampleSettings, type Samples } from './samples.ts'
import { differingGroups, PROPERTIES, type Seen, wordFingerprints, wordsFingerprint } from './seen.ts'

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
  /** Of a poll that read everything: the words that it saw. */
  words: Seen['words'] | undefined
}

/** Of a poll that did not read everything, or of pairs that take turns. */
export function partialFindings({ readings: before }: PollContext, fetched: Fetched, gapMs: number): Findings {
  const after = mergeReadings(before, fetched)
  const change = changeBetween(before, after, fetched.at, gapMs)
  const nothing = { packedTexts: undefined, shown: undefined, isShownAlike: false, words: undefined }
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
  const words = wordFingerprints(after, fetched.associations, settings.records)
  const differing = differingGroups(last?.words ?? [], words)
  const isShownAlike = !differing.some(isOfPairs) && packed.hasSamples && Object.keys(shown).length > 0
  // Numbers can be read without the names, which are most of what it takes to unpack readings, and to pack them.
  const kept = differing.includes(PROPERTIES) ? undefined : packed.readingsNamedAs(after)
  const before = kept === undefined ? context.readings : kept.readings
  const change = changeBetween(before, after, fetched.at, gapMs)
  return { before, after, change, packedTexts: kept?.packedTexts, shown, isShownAlike, words }
}

function isOfPairs(group: number): boolean {
  return group !== PROPERTIES
}

/** What a poll that read everything found of an account whose names are what they were. */
export interface Moved {
  before: Readings
  /** Where the report of custom properties was not read anew, its types have no names, here and before. */
  after: Readings
  moves: readonly Move[]
  /** `after`, packed. */
  packed: Buffer
  /** The records that it was shown are those that are kept. */
  isShownAlike: boolean
  words: Seen['words']
}

/**
 * What a poll found that read all reports but those that it knew by their bytes: the same as the last one, or some numbers
 * that moved, or records. Undefined where names are not what they were. Numbers are compared as they are packed, and no
 * name is unpacked or packed for it.
 */
export function movedSince(
  { packed, seen }: PollContext,
  reports: SomeReports,
  at: number,
  records: RecordChoice,
): Moved | 'nothing' | undefined {
  const { groups, pairs, customProperties, associations } = reports
  if (groups.length === 0) return 'nothing'
  const kept = packed.numbersNamedAs({ types: customProperties?.byObjectType, pairs })
  if (seen === undefined || packed.readings === null || kept === undefined) return undefined
  if (Object.keys(kept.readings.associations).length !== pairs.length) return undefined
  const after = laterReadings(kept.readings, reports, at)
  const words = [...seen.words]
  for (const group of groups) words[group] = wordsFingerprint(group, after, associations, records)
  const differing = differingGroups(seen.words, words)
  if (differing.includes(PROPERTIES)) return undefined
  const isShownAlike = differing.length === 0
  const numbers = packNumbers(after)
  if (isShownAlike && areNumbersOf(numbers, packed.readings)) return 'nothing'
  const moves = movesBetween(kept, after)
  if (moves === undefined) return undefined
  return { before: kept.readings, after, moves, packed: Buffer.concat([numbers, kept.rest]), isShownAlike, words }
}
