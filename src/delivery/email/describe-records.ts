import type { Alert, AlertRecord } from '../../alerts/alert.ts'
import { cleanText } from '../../text/clean-text.ts'
import { formatCount } from '../../text/format-number.ts'
import { type RecordPage, safeUrl } from './mail-links.ts'

export interface DescribedRecords {
  /** `10 of 212 shown, 3 new`. */
  note: string
  rows: DescribedRecord[]
  /** `No longer among them: Acme Holdings (#1201)`. */
  left?: string
}

export interface DescribedRecord {
  /** Absent where labels are not kept. */
  label?: string
  id: string
  usage: string
  isNew: boolean
  url?: string
}

const MOST_LEFT = 5

export function describeRecords(alert: Alert, pageOf: RecordPage | undefined): DescribedRecords | undefined {
  const { records } = alert
  if (records === undefined) return undefined
  const { items, left = [], total } = records
  if (items.length === 0 && left.length === 0) return undefined
  const gone = leftNote(left)
  return {
    note: noteOf(items, total),
    rows: items.map((record) => describeRecord(record, alert, pageOf)),
    ...(gone !== undefined && { left: gone }),
  }
}

function noteOf(items: readonly AlertRecord[], total: number): string {
  const shown =
    items.length < total ? `${formatCount(items.length)} of ${formatCount(total)} shown` : formatCount(items.length)
  const added = items.filter(({ isNew }) => isNew === true).length
  return added === 0 ? shown : `${shown}, ${formatCount(added)} new`
}

function leftNote(left: readonly { objectId: number | string; label?: string }[]): string | undefined {
  if (left.length === 0) return undefined
  const named = left.slice(0, MOST_LEFT).map((record) => {
    const label = labelOf(record.label)
    return label === undefined ? `#${record.objectId}` : `${label} (#${record.objectId})`
  })
  const more = left.length > named.length ? [`${formatCount(left.length - named.length)} more`] : []
  return `No longer among them: ${[...named, ...more].join(', ')}`
}

function describeRecord(
  { label, objectId, usage, isNew }: AlertRecord,
  { account, series }: Alert,
  pageOf: RecordPage | undefined,
): DescribedRecord {
  const name = labelOf(label)
  // A record that runs into an association limit is of the type that the associations start from.
  const url =
    account === undefined || series?.from === undefined
      ? undefined
      : safeUrl(pageOf?.(account.hubId, series.from, objectId))
  return {
    ...(name !== undefined && { label: name }),
    id: String(objectId),
    usage: usage === undefined ? 'at its limit' : formatCount(usage),
    isNew: isNew === true,
    ...(url !== undefined && { url }),
  }
}

function labelOf(label: string | undefined): string | undefined {
  if (label === undefined) return undefined
  const text = cleanText(label)
  return text === '' ? '(no name)' : text
}
