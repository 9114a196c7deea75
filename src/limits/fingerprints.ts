import { hash } from 'node:crypto'
import type { ReadReport } from './reports/report.ts'
import type { RecordChoice } from './samples.ts'

/** No fingerprint has this form. */
export const NOT_JUDGED = '-'

/** Fingerprint of each answer in the order of the calls, one behind the other, `PRINT` characters each. */
export function answersFingerprint(bodies: readonly Buffer[]): string {
  let prints = ''
  for (const body of bodies) prints += fingerprint(body).slice(0, PRINT)
  return prints
}

/** Length of a fingerprint: a poll keeps one for each report. */
export const PRINT = 6
const NO_RECORDS = '-'.repeat(PRINT)

/**
 * Fingerprint of a report's records, as far as they may be kept, and of where they are kept; as long as that of an
 * answer.
 */
export function recordsFingerprint(
  key: string,
  { records: shown }: Pick<ReadReport, 'records'>,
  records: RecordChoice,
): string {
  if (records === 'none' || shown === undefined) return NO_RECORDS
  let text = `${records}\0${key}`
  for (const { objectId, label } of shown.atLimit) text += `\0${objectId}\0${records === 'full' ? label : ''}`
  text += '\0near'
  for (const { objectId, label, usage } of shown.nearLimit) {
    text += `\0${objectId}\0${usage}\0${records === 'full' ? label : ''}`
  }
  return fingerprint(text).slice(0, PRINT)
}

const LENGTH = 8

export function fingerprint(text: string | Buffer): string {
  return hash('sha1', text, 'base64url').slice(0, LENGTH)
}
