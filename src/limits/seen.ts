import { hash } from 'node:crypto'
import type { AssociationReport } from '../provider/answers.ts'
import type { ProviderFailure } from '../provider/failure.ts'
import { isFailure, type Readings } from './readings.ts'
import type { RecordChoice } from './samples.ts'

/**
 * What the last poll of an account saw, as fingerprints: of a fleet's answers nine in ten are what they were, and one that
 * is needs no parsing, no comparing and no judging, which are most of a poll. It is only kept of a poll that read everything
 * it asked for, so that all readings have one age.
 *
 * Above 64 bytes Redis would keep the account's whole record in a dearer form, so fingerprints are cut short. That two
 * differ and look alike happens less than once in 10^10 changes, and only until the next one.
 */
export interface Seen {
  /** Of the bytes of all answers. */
  answers: string
  /** Of the names of object types and pairs. */
  names: string
  /** Of the records, as far as they may be kept. */
  records: string
  /** Of all that the judgement rests on beside the numbers; NOT_JUDGED where it has to be made at every poll. */
  judged: string
}

/** No fingerprint looks like this. */
export const NOT_JUDGED = '-'

/** Never empty. */
export function encodeSeen(seen: Seen | undefined): string {
  if (seen === undefined) return NOTHING_SEEN
  const { answers, names, records, judged } = seen
  return [answers, names, records, judged].join(' ')
}

const NOTHING_SEEN = '-'
const PARTS = 4

/** Undefined for what is none. */
export function decodeSeen(stored: string): Seen | undefined {
  const parts = stored.split(' ')
  if (parts.length !== PARTS) return undefined
  const [answers = '', names = '', records = '', judged = ''] = parts
  return { answers, names, records, judged }
}

/** Of answers in the order in which they are asked for. */
export function answersFingerprint(bodies: readonly Buffer[]): string {
  // Bytes that move from one answer to another are other bytes.
  const lengths = Buffer.from(`${bodies.map(({ length }) => length).join(' ')}|`)
  return fingerprint(Buffer.concat([lengths, ...bodies]))
}

export function namesFingerprint({ customProperties, associations }: Readings): string {
  const { typesLeftOut } = customProperties?.report ?? {}
  let text = typesLeftOut === undefined ? '' : `${typesLeftOut} more\0`
  for (const { objectTypeId, singularLabel, pluralLabel } of customProperties?.report.byObjectType ?? []) {
    text += `${objectTypeId}\0${singularLabel}\0${pluralLabel}\0`
  }
  for (const pair of Object.keys(associations)) text += `${pair}\0`
  return fingerprint(text)
}

export function recordsFingerprint(
  reports: ReadonlyMap<string, AssociationReport | ProviderFailure>,
  records: RecordChoice,
): string {
  let text: string = records
  for (const [pair, report] of records === 'none' ? [] : reports) {
    if (isFailure(report)) continue
    text += `\0${pair}`
    for (const { objectId, label } of report.atLimit) text += `\0${objectId}\0${records === 'full' ? label : ''}`
    text += '\0near'
    for (const { objectId, label, usage } of report.nearLimit) {
      text += `\0${objectId}\0${usage}\0${records === 'full' ? label : ''}`
    }
  }
  return fingerprint(text)
}

const LENGTH = 8

export function fingerprint(text: string | Buffer): string {
  return hash('sha1', text, 'base64url').slice(0, LENGTH)
}
