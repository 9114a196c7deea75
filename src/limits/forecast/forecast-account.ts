import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { unlessOfOtherType } from '../../redis/other-type.ts'
import { isMoment } from '../../runtime/moment.ts'
import type { History, Snapshot, SnapshotSeries } from '../history/history.ts'
import { UnreadableKey } from '../history/packed-bytes.ts'
import { unpackReadings } from '../history/packed-readings.ts'
import { readAt } from '../readings.ts'
import type { SeriesName } from '../reports/report.ts'
import { isHidden, type Series, seriesId, seriesOf } from '../series.ts'
import { readWatch } from '../watch/read-watch.ts'
import { type Forecast, forecast, WINDOW_DAYS } from './forecast.ts'
import type { DailyPoint } from './pace.ts'
import { decodePredictions, encodePredictions, followPredictions, type Predictions } from './predictions.ts'
import { countOutcomes } from './track-record.ts'

/**
 * Computes anew how fast the series of an account move, and judges what was foretold of them. Its days end at this time of day, not at midnight: what happened today
 * would else count tomorrow, a day later than need be. 'none': it was never read, and its earlier forecast is taken
 * away.
 */
export async function forecastAccount(
  { store, keys, history }: { store: Store; keys: Keys; history: History },
  hubId: number,
  now: number,
): Promise<'stored' | 'none' | 'gone'> {
  const names = keys.account(hubId)
  const kept = await readWatch(store, keys, hubId)
  if (kept === 'unreadable')
    throw new UnreadableKey(`account ${hubId}: its watch can't be read: the next poll puts it aside`)
  const readings = unpackReadings(hubId, names, kept?.readings)
  if (readings === undefined) {
    const is = await storeForecasts(store, keys, hubId, undefined)
    return is === 'stored' ? 'none' : is
  }
  const today = dayOf(now)
  const span = { from: today - WINDOW_DAYS, to: today, offset: now - today * UTC_DAY_MS }
  const snapshots = await history.read(hubId, now - WINDOW_DAYS * UTC_DAY_MS, now)
  const readUntil = (name: SeriesName) => readAt(name, readings)
  const forecasts = forecastSeries(seriesOf(readings), dailyPoints(snapshots, { ...span, readUntil }), now)
  const before = decodeForecasts(await unlessOfOtherType(store.get(names.forecast), null))
  const { open, ended } = followPredictions(before?.predictions ?? {}, {
    readings,
    snapshots,
    rising: forecasts.rising,
    now,
  })
  const is = await storeForecasts(store, keys, hubId, { ...forecasts, predictions: open })
  if (is === 'stored') await countOutcomes(store, keys, ended, now)
  return is
}

/**
 * Only series that rise, or have too little history: the others do not move. So an account in which nothing rises has a
 * forecast too, and differs from one that was not computed.
 */
export function forecastSeries(
  series: readonly Series[],
  values: ReadonlyMap<string, readonly DailyValue[]>,
  now: number,
): AccountForecasts {
  const forecasts: AccountForecasts = { at: now, rising: {}, tooFew: {} }
  for (const { id, metric } of series.filter(isForeseeable)) {
    const points = paceEvidence(metric, values.get(id) ?? [])
    const outcome = forecast(points)
    if (outcome === 'not-enough-history') forecasts.tooFew[id] = points.length
    else if (outcome !== 'no-growth') forecasts.rising[id] = outcome
  }
  return forecasts
}

/** A count without a limit has nothing to reach, and a record that is not shown yet - 0 - is not known to move. */
function isForeseeable({ metric, limit, usage }: Series): boolean {
  return limit !== null && !isHidden({ metric, usage })
}

/**
 * Without the days that are no evidence of the pace: stuck at the limit, where usage would have gone on if it could; and for
 * the fullest record those on which the provider showed none, and 0 means any usage below 80 %.
 */
function paceEvidence(metric: string, values: readonly DailyValue[]): DailyPoint[] {
  return values.filter(({ usage, limit }) => usage !== limit && !isHidden({ metric, usage }))
}

/** The last forecast of an account's series, by their ids. One that is in neither shows no steady growth. */
export interface AccountForecasts {
  /** Moment of the forecast, ms. */
  at: number
  rising: Record<string, Forecast>
  /** How many daily points there are, where they are too few. */
  tooFew: Record<string, number>
  /** On record, of series that come near their limits; absent: none. */
  predictions?: Predictions
}

/** Three days: the pace of six weeks is not another one after a day or two without a new forecast. */
const KEPT_MS = 3 * 86_400_000

/** Undefined for what is too old to be used. */
export function freshForecasts(forecasts: AccountForecasts | undefined, now: number): AccountForecasts | undefined {
  return forecasts === undefined || now - forecasts.at > KEPT_MS ? undefined : forecasts
}

/** True where stored forecasts are fresh; '' = there are none. The text is not parsed, since every poll asks. */
export function areFresh(stored: string, now: number): boolean {
  return now - Number.parseInt(stored.slice(1), 10) <= KEPT_MS
}

/** Replaces the earlier forecast; undefined takes it away. An account that leaves, or is forgotten, gets none any more. */
export function storeForecasts(
  store: Store,
  keys: Keys,
  hubId: number,
  forecasts: AccountForecasts | undefined,
): Promise<'stored' | 'gone'> {
  return store.storeForecasts(keys.own(hubId), forecasts === undefined ? '' : encode(forecasts))
}

function encode({ at, rising, tooFew, predictions = {} }: AccountForecasts): string {
  const paces = Object.entries(rising).map(([id, forecast]) => {
    const { perDay, perDayLow, perDayHigh, scatter, leap = 0, bends } = forecast
    const { quickening, slowing } = bends ?? {}
    const bent = quickening && slowing ? [quickening.perDay, quickening.share, slowing.perDay, slowing.share] : []
    return [id, ...[perDay, perDayLow, perDayHigh, scatter, leap, ...bent].map(short)]
  })
  const onRecord = encodePredictions(predictions)
  return JSON.stringify([at, paces, Object.entries(tooFew), ...(onRecord.length > 0 ? [onRecord] : [])])
}

/** Undefined for what is no forecast: it is made anew within a day. */
export function decodeForecasts(stored: string | null): AccountForecasts | undefined {
  if (stored === null || stored === '') return undefined
  try {
    type Stored = [number, [string, ...number[]][], [string, number][], unknown]
    const [at, paces, tooFew, onRecord] = JSON.parse(stored) as Stored
    const numbers = [...paces, ...tooFew].flatMap(([, ...some]) => some)
    if (!isMoment(at) || !numbers.every(Number.isFinite)) return undefined
    const rising = paces.map(([id, ...pace]) => [id, decodePace(pace)] as const)
    const forecasts = { at, rising: Object.fromEntries(rising), tooFew: Object.fromEntries(tooFew) }
    return onRecord === undefined ? forecasts : { ...forecasts, predictions: decodePredictions(onRecord) }
  } catch {
    return undefined
  }
}

/** The numbers of `encode`: without the last four where the pace does not bend. */
function decodePace(numbers: readonly number[]): Forecast {
  if (!numbers.every(Number.isFinite)) throw new Error('not a pace')
  const [perDay = 0, perDayLow = 0, perDayHigh = 0, scatter = 0, leap = 0, ...bent] = numbers
  const [faster, quickens = 0, slower, slows = 0] = bent
  return {
    perDay,
    perDayLow,
    perDayHigh,
    scatter,
    ...(leap > 0 ? { leap } : {}),
    ...(faster && slower
      ? { bends: { quickening: { perDay: faster, share: quickens }, slowing: { perDay: slower, share: slows } } }
      : {}),
  }
}

/** Four digits: far more than any forecast is good for. */
function short(perDay: number): number {
  return Number(perDay.toPrecision(4))
}

export const UTC_DAY_MS = 86_400_000

/** The value of a series at the end of one day. */
export interface DailyValue {
  /** UTC days since 1970-01-01 */
  day: number
  usage: number
  limit: number | null
}

export interface Span {
  /** The first day asked for, and the first one that is not. */
  from: number
  to: number
  /** How long after midnight (UTC) days begin and end, ms; midnight where it is left out. */
  offset?: number
  /** Moment at which a series was read last, ms: nothing is known of a day that began after that. */
  readUntil: (series: SeriesName) => number | undefined
}

/** The UTC day of a moment in ms. */
export function dayOf(at: number): number {
  return Math.floor(at / UTC_DAY_MS)
}

/**
 * The values of every series at the end of each day, by series, oldest first. A series that did not exist at the end of a
 * day has none for it, and so has a day that lies wholly in a gap: the value before the gap is no reading of that day.
 *
 * @param snapshots at changes, oldest first
 */
export function dailyPoints(
  snapshots: readonly Snapshot[],
  { from, to, offset = 0, readUntil }: Span,
): Map<string, DailyValue[]> {
  const points = new Map<string, DailyValue[]>()
  let next = 0
  for (let day = from; day < to; day++) {
    const start = day * UTC_DAY_MS + offset
    while ((snapshots[next]?.at ?? Number.POSITIVE_INFINITY) < start + UTC_DAY_MS) next++
    const current = snapshots[next - 1]
    // Only the first snapshot after a day can have ended a gap that holds all of it.
    if (current === undefined || (snapshots[next]?.missingSince ?? start) < start) continue
    for (const series of current.series) {
      if ((readUntil(series) ?? Number.NEGATIVE_INFINITY) >= start) add(points, series, day)
    }
  }
  return points
}

function add(points: Map<string, DailyValue[]>, series: SnapshotSeries, day: number): void {
  const id = seriesId(series)
  const values = points.get(id) ?? []
  points.set(id, values)
  values.push({ day, usage: series.usage, limit: series.limit })
}
