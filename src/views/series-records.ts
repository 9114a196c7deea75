import type { Readings } from '../limits/readings.ts'
import { recordsOf, type Series } from '../limits/series.ts'

/** Records that explain a series: the provider shows samples, often fewer than there are. */
export interface ShownRecords {
  shown: number
  total: number
  /** Labels are a stranger's text. Without `usage`: at its limit. */
  items: { objectId: number; label: string; usage?: number }[]
}

const MOST_RECORDS = 10

/** Only associations have any. */
export function shownRecords(series: Series, readings: Readings): { records?: ShownRecords } {
  if (series.from === undefined) return {}
  const { total, items } = recordsOf(series, readings)
  const shown = items.slice(0, MOST_RECORDS).map(({ objectId, label, usage }) => ({
    ...{ objectId, label },
    ...(usage === undefined ? {} : { usage }),
  }))
  return { records: { shown: shown.length, total, items: shown } }
}
