import { createHash, hash } from 'node:crypto'
import { type Fetched, isFailure, type Readings } from './readings.ts'
import type { RecordChoice } from './samples.ts'

/**
 * What the last poll of an account saw, as fingerprints: of a fleet's answers nine in ten are what they were, and one that
 * is needs no parsing, no comparing and no judging, which are most of a poll. It is only kept of a poll that read everything
 * it asked for, so that all readings have one age.
 *
 * A fingerprint is cut so short that every account has room for it; that two differ and look alike happens less than once
 * in 10^14, and only until the next change.
 */
export interface Seen {
  /** Of the bytes of all answers. */
  answers: string
  /** Of the names in them, and of the records. */
  names: string
  samples: string
  /** Of all that the judgement rests on beside the numbers; NOT_JUDGED where it has to be made at every poll. */
  judged: string
  /** As it was ranked; null: it was not. */
  nearness: number | null
}

const ANSWERS_LENGTH = 11
const LENGTH = 8
const ANSWERS_END = ANSWERS_LENGTH
const NAMES_END = ANSWERS_END + LENGTH
const SAMPLES_END = NAMES_END + LENGTH
const JUDGED_END = SAMPLES_END + LENGTH

/** No fingerprint looks like this. */
export const NOT_JUDGED = '-'.padEnd(LENGTH, '.')

export function encodeSeen(seen: Seen | undefined): string {
  if (seen === undefined) return ''
  const { answers, names, samples, judged, nearness } = seen
  return `${answers}${names}${samples}${judged}${nearness ?? ''}`
}

/** Undefined for what is none. */
export function decodeSeen(stored: string): Seen | undefined {
  if (stored.length < JUDGED_END) return undefined
  const nearness = stored.slice(JUDGED_END)
  return {
    answers: stored.slice(0, ANSWERS_END),
    names: stored.slice(ANSWERS_END, NAMES_END),
    samples: stored.slice(NAMES_END, SAMPLES_END),
    judged: stored.slice(SAMPLES_END, JUDGED_END),
    nearness: nearness === '' ? null : Number(nearness),
  }
}

/** Of answers in the order in which they are asked for; `asked` says for what. */
export function answersFingerprint(asked: string, bodies: readonly Buffer[]): string {
  const all = createHash('sha1').update(asked)
  for (const body of bodies) all.update(`|${body.length}|`).update(body)
  return all.digest('base64url').slice(0, ANSWERS_LENGTH)
}

export function namesFingerprint({ customProperties, associations }: Readings): string {
  let text = ''
  for (const { objectTypeId, singularLabel, pluralLabel } of customProperties?.report.byObjectType ?? []) {
    text += `${objectTypeId}\0${singularLabel}\0${pluralLabel}\0`
  }
  for (const pair of Object.keys(associations)) text += `${pair}\0`
  return fingerprint(text)
}

/** Of the records that reports show, as far as they may be kept. */
export function recordsFingerprint(reports: Fetched['associations'], records: RecordChoice): string {
  let text: string = records
  for (const [pair, report] of reports) {
    if (records === 'none' || isFailure(report)) continue
    text += `\0${pair}`
    for (const { objectId, label } of report.atLimit) text += `\0${objectId}\0${records === 'full' ? label : ''}`
    text += '\0near'
    for (const { objectId, label, usage } of report.nearLimit) {
      text += `\0${objectId}\0${usage}\0${records === 'full' ? label : ''}`
    }
  }
  return fingerprint(text)
}

export function fingerprint(text: string): string {
  return hash('sha1', text, 'base64url').slice(0, LENGTH)
}
