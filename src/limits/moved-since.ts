import { areNumbersOf, packNumbers } from './history/packed-numbers.ts'
import { type Move, movesBetween } from './moves.ts'
import type { PollContext } from './poll-context.ts'
import type { SomeReports } from './polling/unread-reports.ts'
import { laterReadings, type Readings } from './readings.ts'
import type { RecordChoice } from './samples.ts'
import { differingGroups, PROPERTIES, type Seen, wordsFingerprint } from './seen.ts'

/** What a poll that read everything found of an account whose names are what they were. */
export interface Moved {
  before: Readings
  /** Where the report of custom properties was not read anew, its types have no names, here and before. */
  after: Readings
  moves: readonly Move[]
  /** `after`, packed. */
  packed: Buffer
  /** Reports of pairs that were not known by their bytes. */
  readAnew: SomeReports['associations']
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
  const packedAfter = Buffer.concat([numbers, kept.rest])
  return { before: kept.readings, after, moves, packed: packedAfter, readAnew: associations, isShownAlike, words }
}
