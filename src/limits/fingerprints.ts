import { hash } from 'node:crypto'
import { type Fetched, isFailure } from './readings.ts'
import type { RecordChoice } from './samples.ts'

/** No fingerprint has this form. */
export const NOT_JUDGED = '-'

/** Of answers in the order in which they are asked for. */
export function answersFingerprint(bodies: readonly Buffer[]): string {
  // Bytes that move from one answer to another are other bytes.
  const lengths = Buffer.from(`${bodies.map(({ length }) => length).join(' ')}|`)
  return fingerprint(Buffer.concat([lengths, ...bodies]))
}

/** Of all that is read in reports, of which none failed. Far quicker than as JSON: metrics have long names. */
export function saidFingerprint({ reports }: Fetched): string {
  let text = ''
  for (const [key, report] of reports) {
    text += `\0\0${key}`
    if (isFailure(report)) continue
    let before = ''
    for (const { metric, objectTypeId, from, to, label, usage, limit, reported } of report.values) {
      if (metric !== before) text += `\0${metric}`
      before = metric
      text += `\0${objectTypeId ?? from}\0${to}\0${label}\0${usage}\0${limit}\0${reported}`
    }
    const { values: _, ...others } = report
    text += `\0${JSON.stringify(others)}`
  }
  return fingerprint(text)
}

export function recordsFingerprint({ reports }: Pick<Fetched, 'reports'>, records: RecordChoice): string {
  let text: string = records
  for (const [key, report] of records === 'none' ? [] : reports) {
    if (isFailure(report) || report.records === undefined) continue
    text += `\0${key}`
    for (const { objectId, label } of report.records.atLimit)
      text += `\0${objectId}\0${records === 'full' ? label : ''}`
    text += '\0near'
    for (const { objectId, label, usage } of report.records.nearLimit) {
      text += `\0${objectId}\0${usage}\0${records === 'full' ? label : ''}`
    }
  }
  return fingerprint(text)
}

const LENGTH = 8

export function fingerprint(text: string | Buffer): string {
  return hash('sha1', text, 'base64url').slice(0, LENGTH)
}
