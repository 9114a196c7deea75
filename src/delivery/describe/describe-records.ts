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

interface DescribedRecord {
  /** Absent where labels are not kept. */
  label?: string
  id: string
  usage: string
  isNew: boolean
  url?: string
}

const MOST_LEFT = 5

export function describeRecords(alert: Alert, pageOf: RecordPage | undefined): DescribedRecords | undefined {
  const { items = [], left = [], total = 0 } = alert.records ?? {}
  if (items.length + left.length === 0) return undefined
  const added = items.filter(({ isNew }) => isNew === true).length
  const shown =
    items.length < total ? `${formatCount(items.length)} of ${formatCount(total)} shown` : formatCount(total)
  return {
    note: added === 0 ? shown : `${shown}, ${formatCount(added)} new`,
    rows: items.map((record) => describeRecord(record, alert, pageOf)),
    ...(left.length > 0 && { left: leftNote(left) }),
  }
}

function leftNote(left: readonly { objectId: number | string; label?: string }[]): string {
  const named = left.slice(0, MOST_LEFT).map(({ objectId, label }) => {
    const name = labelOf(label)
    return name === undefined ? `#${objectId}` : `${name} (#${objectId})`
  })
  const more = left.length > named.length ? [`${formatCount(left.length - named.length)} more`] : []
  return `No longer among them: ${[...named, ...more].join(', ')}`
}

/** A record at an association limit is of the type that the associations start from. */
function describeRecord(
  { label, objectId, usage, isNew }: AlertRecord,
  { account, series }: Alert,
  pageOf: RecordPage | undefined,
): DescribedRecord {
  const name = labelOf(label)
  const hasPage = account !== undefined && series?.from !== undefined
  const url = hasPage ? safeUrl(pageOf?.(account, series.from ?? '', objectId)) : undefined
  return {
    ...(name !== undefined && { label: name }),
    id: String(objectId),
    usage: usage === undefined ? 'at its limit' : formatCount(usage),
    isNew: isNew === true,
    ...(url !== undefined && { url }),
  }
}

function labelOf(label: string | undefined): string | undefined {
  return label === undefined ? undefined : cleanText(label) || '(no name)'
}
