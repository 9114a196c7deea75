import { servedAssociationLabels } from './association-labels.ts'
import { servedAssociations } from './association-records.ts'
import { servedCalculatedProperties } from './calculated-properties.ts'
import { servedCustomObjectTypes } from './custom-object-types.ts'
import { servedCustomProperties } from './custom-properties.ts'
import { servedPipelines } from './pipelines.ts'
import { servedRecords } from './records.ts'
import type { ServedReport } from './served-report.ts'

/** Another report of the provider is a file beside these, and a line here. */
const REPORTS = [
  servedAssociations,
  servedCustomProperties,
  servedAssociationLabels,
  servedCalculatedProperties,
  servedCustomObjectTypes,
  servedPipelines,
  servedRecords,
] as const

export type ServedReportName = (typeof REPORTS)[number]['name']

export const SERVED_REPORTS: readonly ServedReport<ServedReportName>[] = REPORTS
