import type { ReportSamples, ShownRecords } from '../../limits/samples.ts'
import type { Alert } from '../alert.ts'
import type { NamedRecord, SentBefore } from '../alert-state.ts'

/**
 * The records of a message, with what changed since the last one of the same alert. Samples are all that is shown of many:
 * a record is new only if the last message named all there were, and gone only if this one does.
 */
export function recordsSince(
  last: SentBefore | null | undefined,
  shown: ShownRecords,
  samples: ReportSamples | undefined,
): NonNullable<Alert['records']> {
  const named = last?.records
  if (named === undefined || samples === undefined) return shown
  const before = new Set(named.map(idOf))
  const items =
    last?.unnamed === undefined
      ? shown.items.map((item) => (before.has(item.objectId) ? item : { ...item, isNew: true as const }))
      : shown.items
  const left = isComplete(shown) ? goneFrom(named, shown, samples) : []
  return { ...shown, items, ...(left.length === 0 ? {} : { left }) }
}

/** Records that this message names, for the next one to compare with. Nothing where their names are not kept. */
export function namedRecords(
  shown: ShownRecords,
  samples: ReportSamples | undefined,
): Pick<SentBefore, 'records' | 'unnamed'> {
  if (samples === undefined || (shown.shown === 0 && shown.total > 0)) return {}
  const records = shown.items.map(asNamed)
  return isComplete(shown) ? { records } : { records, unnamed: shown.total - shown.shown }
}

function isComplete({ shown, total }: ShownRecords): boolean {
  return shown >= total
}

/** One that left this list may still be in the other, at its limit instead of near it: its label may be another by now. */
function goneFrom(
  named: readonly NamedRecord[],
  shown: ShownRecords,
  { atLimit, nearLimit }: ReportSamples,
): ShownRecords['items'] {
  const still = new Set(shown.items.map(({ objectId }) => objectId))
  const labels = new Map([...atLimit, ...nearLimit].map(({ objectId, label }) => [objectId, label]))
  return named
    .filter((one) => !still.has(idOf(one)))
    .map((one) => {
      const objectId = idOf(one)
      const label = labels.get(objectId) ?? labelOf(one)
      return label === undefined ? { objectId } : { objectId, label }
    })
}

function asNamed({ objectId, label }: ShownRecords['items'][number]): NamedRecord {
  return label === undefined ? objectId : [objectId, label]
}

function idOf(named: NamedRecord): Exclude<NamedRecord, readonly unknown[]> {
  return typeof named === 'object' ? named[0] : named
}

function labelOf(named: NamedRecord): string | undefined {
  return typeof named === 'object' ? named[1] : undefined
}
