import { createHash, hash } from 'node:crypto'
import type { AssociationReport } from '../provider/answers.ts'
import type { ProviderFailure } from '../provider/failure.ts'
import { isFailure, type Readings } from './readings.ts'
import type { RecordChoice } from './samples.ts'

/**
 * What the last poll of an account saw, as fingerprints: of a fleet's answers nine in ten are what they were, and one that
 * is needs no parsing, no comparing and no judging, which are most of a poll. It is only kept of a poll that read everything
 * it asked for, so that all readings have one age.
 *
 * Answers are told apart by groups: the report of custom properties is one, pairs take turns in the others. More would not
 * fit: above 64 bytes Redis would keep the account's whole record in a dearer form. A fingerprint is cut so short that all
 * have room; that two differ and look alike happens less than once in 10^10 changes, and only until the next one.
 */
export interface Seen {
  /** Of the bytes of the answers, by group. */
  answers: readonly string[]
  /** Of the words in them, by group: names of object types and pairs, and records. */
  words: readonly string[]
  /** Of all that the judgement rests on beside the numbers; NOT_JUDGED where it has to be made at every poll. */
  judged: string
  /** As it was ranked; null: it was not. */
  nearness: number | null
}

/** The group of the report of custom properties. */
export const PROPERTIES = 0
const GROUPS = 4

/** The group of the pair that stands in this place among those that are asked for. */
export function groupOfPair(place: number): number {
  return 1 + (place % (GROUPS - 1))
}

const ANSWER_LENGTH = 7
const LENGTH = 6
const WORDS_AT = GROUPS * ANSWER_LENGTH
const JUDGED_AT = WORDS_AT + GROUPS * LENGTH
const NEARNESS_AT = JUDGED_AT + LENGTH

/** No fingerprint looks like this. */
export const NOT_JUDGED = '-'.padEnd(LENGTH, '.')

export function encodeSeen(seen: Seen | undefined): string {
  if (seen === undefined) return ''
  const { answers, words, judged, nearness } = seen
  return `${answers.join('')}${words.join('')}${judged}${nearness ?? ''}`
}

/** Undefined for what is none. */
export function decodeSeen(stored: string): Seen | undefined {
  if (stored.length < NEARNESS_AT) return undefined
  const nearness = stored.slice(NEARNESS_AT)
  return {
    answers: inParts(stored, 0, ANSWER_LENGTH),
    words: inParts(stored, WORDS_AT, LENGTH),
    judged: stored.slice(JUDGED_AT, NEARNESS_AT),
    nearness: nearness === '' ? null : Number(nearness),
  }
}

function inParts(text: string, from: number, length: number): string[] {
  const parts: string[] = []
  for (let group = 0; group < GROUPS; group++)
    parts.push(text.slice(from + group * length, from + (group + 1) * length))
  return parts
}

/** Groups of which something is another than it was. */
export function differingGroups(before: readonly string[], now: readonly string[]): number[] {
  const differing: number[] = []
  for (let group = 0; group < GROUPS; group++) if (before[group] !== now[group]) differing.push(group)
  return differing
}

/** Of the report of custom properties, and of those of pairs in the order in which they are asked for. */
export function answerFingerprints(properties: Buffer, pairs: readonly Buffer[]): string[] {
  const groups: Buffer[][] = [[properties], [], [], []]
  for (const [place, body] of pairs.entries()) groups[groupOfPair(place)]?.push(body)
  return groups.map((bodies) => bytesFingerprint(bodies).slice(0, ANSWER_LENGTH))
}

function bytesFingerprint([first, ...others]: readonly Buffer[]): string {
  if (first === undefined) return NO_BYTES
  if (others.length === 0) return hash('sha1', first, 'base64url')
  const all = createHash('sha1').update(`${first.length}|`).update(first)
  for (const body of others) all.update(`|${body.length}|`).update(body)
  return all.digest('base64url')
}

const NO_BYTES = '-'.padEnd(ANSWER_LENGTH, '.')

export function wordFingerprints(readings: Readings, reports: Reports, records: RecordChoice): string[] {
  return Array.from({ length: GROUPS }, (_, group) => wordsFingerprint(group, readings, reports, records))
}

type Reports = ReadonlyMap<string, AssociationReport | ProviderFailure>

/** Of the words of one group. `readings` are those of the reports. */
export function wordsFingerprint(group: number, readings: Readings, reports: Reports, records: RecordChoice): string {
  return fingerprint(group === PROPERTIES ? namesIn(readings) : recordsIn(group, readings, reports, records))
}

function namesIn({ customProperties, associations }: Readings): string {
  const { typesLeftOut } = customProperties?.report ?? {}
  let text = typesLeftOut === undefined ? '' : `${typesLeftOut} more\0`
  for (const { objectTypeId, singularLabel, pluralLabel } of customProperties?.report.byObjectType ?? []) {
    text += `${objectTypeId}\0${singularLabel}\0${pluralLabel}\0`
  }
  for (const pair of Object.keys(associations)) text += `${pair}\0`
  return text
}

/** As far as they may be kept. */
function recordsIn(group: number, { associations }: Readings, reports: Reports, records: RecordChoice): string {
  let text: string = records
  for (const [place, pair] of Object.keys(associations).entries()) {
    const report = reports.get(pair)
    if (records === 'none' || groupOfPair(place) !== group || report === undefined || isFailure(report)) continue
    text += `\0${pair}`
    for (const { objectId, label } of report.atLimit) text += `\0${objectId}\0${records === 'full' ? label : ''}`
    text += '\0near'
    for (const { objectId, label, usage } of report.nearLimit) {
      text += `\0${objectId}\0${usage}\0${records === 'full' ? label : ''}`
    }
  }
  return text
}

export function fingerprint(text: string): string {
  return hash('sha1', text, 'base64url').slice(0, LENGTH)
}
