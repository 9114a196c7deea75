import type { Readings } from '../limits/readings.ts'
import { recordsOf, type SampleRecord, type Samples } from '../limits/samples.ts'
import type { Series } from '../limits/series.ts'

/** Records that explain a series: the provider shows samples, often fewer than there are. */
export interface ShownRecords {
  shown: number
  total: number
  items: SampleRecord[]
}

const MOST_RECORDS = 10

/** Only associations have any. */
export function shownRecords(series: Series, readings: Readings, samples: Samples): { records?: ShownRecords } {
  if (series.from === undefined) return {}
  const { total, items } = recordsOf(series, readings, samples)
  const shown = items.slice(0, MOST_RECORDS)
  return { records: { shown: shown.length, total, items: shown } }
}
