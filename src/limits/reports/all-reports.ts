import { api } from './api.ts'
import { associationLabels } from './association-labels.ts'
import { associations } from './associations.ts'
import { calculatedProperties } from './calculated-properties.ts'
import { COMPANIONS } from './companions.ts'
import { customObjectTypes } from './custom-object-types.ts'
import { customProperties } from './custom-properties.ts'
import { pipelines } from './pipelines.ts'
import { records } from './records.ts'
import type { MetricKind, Report, ReportWords, SeriesName } from './report.ts'

/** In the order in which an account's series are listed. */
export const REPORTS: readonly Report[] = [
  customProperties,
  associations,
  associationLabels,
  calculatedProperties,
  customObjectTypes,
  pipelines,
  records,
]

export const REPORT_NAMES: readonly string[] = REPORTS.map(({ name }) => name)

/** All that have metrics. */
const ALL: readonly ReportWords[] = [...REPORTS, api]

export const METRICS: readonly string[] = ALL.flatMap(({ metrics }) => Object.keys(metrics))

/** Names of all limits endpoints, for metrics. */
export const LIMITS_ENDPOINTS: readonly string[] = [...REPORT_NAMES, ...COMPANIONS]

const REPORT_OF: ReadonlyMap<string, ReportWords> = new Map(
  ALL.flatMap((report) => Object.keys(report.metrics).map((metric) => [metric, report] as const)),
)
const KIND_OF: ReadonlyMap<string, MetricKind> = new Map(ALL.flatMap(({ metrics }) => Object.entries(metrics)))
const METRICS_OF: ReadonlyMap<string, readonly string[]> = new Map(
  REPORTS.map(({ name, metrics }) => [name, Object.keys(metrics)]),
)
const BY_NAME: ReadonlyMap<string, Report> = new Map(REPORTS.map((report) => [report.name, report]))
const BY_WORD: ReadonlyMap<string, string> = new Map(
  ALL.flatMap(({ metrics }) => Object.entries(metrics).map(([metric, { word }]) => [word, metric] as const)),
)

/** Undefined for what is no metric of this version. */
export function reportOf({ metric }: Pick<SeriesName, 'metric'>): ReportWords | undefined {
  return REPORT_OF.get(metric)
}

export function namedReports(names: readonly string[]): Report[] {
  return names.map(reportNamed).filter((report) => report !== undefined)
}

export function reportNamed(name: string): Report | undefined {
  return BY_NAME.get(name)
}

/** The kind of a metric; undefined for one that this version does not have. */
export function metricKind(metric: string): MetricKind | undefined {
  return KIND_OF.get(metric)
}

/** Metrics of a report, in the order in which its values are stored. */
export function metricsOf({ name }: Report): readonly string[] {
  return METRICS_OF.get(name) ?? []
}

/** By the first part of the ids of its series. */
export function metricOfWord(word: string): string | undefined {
  return BY_WORD.get(word)
}
