import type { AccountKeys } from '../../redis/keys.ts'
import { type Pair, pairOf } from '../pair.ts'
import { type Reading, type Readings, reportOfKey } from '../readings.ts'
import { metricKind, metricsOf } from '../reports/all-reports.ts'
import type { Report, ReportedValue, SeriesName } from '../reports/report.ts'
import { lastReadAt } from './change.ts'
import {
  asCount,
  asItems,
  asPercentage,
  asText,
  earlier,
  pack,
  READINGS_VERSION,
  readKey,
  UnreadableBytes,
  unpack,
} from './packed-bytes.ts'

/**
 * The last numbers of an account from what Redis holds; undefined if it was never polled.
 *
 * @throws UnreadableKey
 */
export function unpackReadings(hubId: number, keys: AccountKeys, stored: Buffer | undefined): Readings | undefined {
  if (stored === undefined) return undefined
  // Records of the history are read from the readings: without these they are useless.
  const hint = `Delete it and ${keys.history}: the next poll reads all numbers, and its history starts again.`
  return readKey(hubId, keys.watch, hint, () => decodeReadings(stored))
}

/**
 * Readings are a list of reports: `[key, age, ...values]`, a value `[place among the metrics of its report, usage, limit]`, and where
 * it has them what it is about, its label and the reported percentage. Moments are kept as how much earlier than the last
 * one they were, so that all of them move with it.
 */
export function encodeReadings(readings: Readings): Buffer {
  const last = lastReadAt(readings) ?? 0
  const reports = Object.entries(readings).map(([key, { at, values }]) => {
    const { report } = reportOfKey(key) ?? {}
    const metrics = report === undefined ? [] : metricsOf(report)
    const isOfPair = report?.perPair !== undefined
    return [key, last - at, ...values.map((value) => plainValue(value, metrics.indexOf(value.metric), isOfPair))]
  })
  return pack(last, reports, READINGS_VERSION)
}

function plainValue(value: ReportedValue, place: number, isOfPair: boolean): unknown[] {
  const { usage, limit, objectTypeId, from, to, label = null, reported } = value
  // The key of a report has its pair.
  const about = objectTypeId ?? (from === undefined || isOfPair ? '' : `${from}/${to}`)
  if (reported !== undefined) return [place, usage, limit, about, label, reported]
  if (label !== null) return [place, usage, limit, about, label]
  return about === '' ? [place, usage, limit] : [place, usage, limit, about]
}

/** @throws UnreadableBytes */
export function decodeReadings(stored: Buffer): Readings {
  const { at: last, value } = unpack(stored, READINGS_VERSION)
  return Object.fromEntries(
    asItems(value).map((item): [string, Reading] => {
      const [key, age, ...values] = asItems(item)
      const found = reportOfKey(asText(key))
      // Changes name series by their places: without its own, they would be read as those of others.
      if (found === undefined)
        throw new UnreadableBytes(`it has ${asText(key)}, a report that this version does not know`)
      return [asText(key), { at: earlier(last, age), values: values.map((one) => readValue(asItems(one), found)) }]
    }),
  )
}

function readValue(
  [place, usage, limit, about = '', label, reported]: readonly unknown[],
  { report, pair }: { report: Report; pair: Pair },
): ReportedValue {
  const metric = metricsOf(report)[asCount(place)]
  if (metric === undefined) throw new UnreadableBytes('it has a metric that is unknown')
  const name = report.perPair === undefined ? nameOf(metric, asText(about)) : pair
  return {
    ...name,
    metric,
    usage: asCount(usage),
    limit: asCount(limit),
    ...(label == null ? {} : { label: asText(label) }),
    ...(reported === undefined ? {} : { reported: asPercentage(reported) }),
  }
}

function nameOf(metric: string, about: string): Partial<SeriesName> {
  const kind = metricKind(metric)?.about
  if (kind === 'account') return {}
  return kind === 'pair' ? pairOf(about) : { objectTypeId: about }
}
