import { type Place, placeText } from '../accounts/search/account-query.ts'
import { ENOUGH_POINTS } from '../limits/forecast/forecast.ts'
import { outlookOf, tenths } from '../limits/forecast/outlook.ts'
import { RECORD_DAYS, readTrackRecord, type TrackRecord, UPCOMING_DAYS } from '../limits/forecast/predictions.ts'
import { freshForecasts } from '../limits/forecast/stored-forecasts.ts'
import { loadForecasts, loadReadings } from '../limits/load-readings.ts'
import { daysOf, FULL_RANGE, placesOf } from '../limits/nearest-limit.ts'
import { readAt } from '../limits/readings.ts'
import { type Series, seriesOf } from '../limits/series.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import { rankedIn } from './nearest-limits.ts'
import type { FullAccountShape, UpcomingLimitShape, UpcomingShape } from './shapes/upcoming.ts'
import type { ViewDeps } from './view-deps.ts'

/** Accounts that reach a limit in the next 30 days by forecast: the pages and `GET /api/v1/upcoming` show the same. */
export type Upcoming = UpcomingShape

type Sources = Pick<ViewDeps, 'store' | 'keys'>
type UpcomingQuery = { limit: number; after?: Place | undefined }

const DAY_MS = 86_400_000
/** Just behind what is full, and the last day. */
const [NOW, END] = [placesOf(0), placesOf(UPCOMING_DAYS)]

/** From the ranking that polls keep; only the accounts that are shown are read. */
export async function readUpcoming(deps: Sources, asked: UpcomingQuery, now: number): Promise<Upcoming> {
  const { store, keys } = deps
  const [places, counts, full, record] = await Promise.all([
    placesAfter(deps, asked),
    readCounts(deps),
    store.zrangebyscore(keys.nearest, `(${FULL_RANGE.from}`, FULL_RANGE.to, 'WITHSCORES', 'LIMIT', 0, asked.limit),
    readTrackRecord(store, keys, now),
  ])
  const shown = places.slice(0, asked.limit)
  const last = places.length > asked.limit ? shown.at(-1) : undefined
  const [items, fullItems] = await Promise.all([
    readEach(shown, ({ hubId }) => readNext(deps, hubId, now)),
    readEach(rankedIn(full), ({ hubId }) => readFull(deps, hubId)),
  ])
  const accounts = counts.upcoming
  return {
    accounts,
    items: items.sort((a, b) => a.daysLeft - b.daysLeft),
    ...(last === undefined ? {} : { next: placeText(last) }),
    full: { accounts: counts.full, items: fullItems },
    forecasts: accounts > 0 || (await areForecast(deps, now)),
    record,
  }
}

/** Accounts that are read to find out whether forecasts are made. */
const EXAMPLES = 50

/** True where one of some accounts shows that forecasts are made. The first one of an account takes days. */
async function areForecast({ store, keys }: Sources, now: number): Promise<boolean> {
  const examples = await store.zrange(keys.state.active, 0, String(EXAMPLES - 1))
  const made = await readEach(examples, async (hubId) => {
    const kept = await loadForecasts(store, keys, Number(hubId))
    const { rising = {}, tooFew = {} } = freshForecasts(kept, now) ?? { tooFew: { none: 0 } }
    return Object.keys(rising).length > 0 || Object.keys(tooFew).length === 0
  })
  return made.some(Boolean)
}

/** One more than asked for, soonest first. Accounts with a full series are ranked apart, by what comes next all the same. */
async function placesAfter({ store, keys }: Sources, { limit, after }: UpcomingQuery): Promise<Required<Place>[]> {
  const from = after === undefined ? NOW : placesOf(Number(after.key))
  const some = ['WITHSCORES', 'LIMIT', 0, limit + 1] as const
  const parts = await Promise.all(
    from.flatMap((place, n) => [
      store.zrangebyscore(keys.nearest, `(${place}`, END[n] ?? 0, ...some),
      // At the same place, those behind the account.
      ...(after === undefined ? [] : [store.zrangebyscore(keys.nearest, place, place, 'WITHSCORES')]),
    ]),
  )
  return parts
    .flatMap(rankedIn)
    .map(({ hubId, place }) => ({ hubId, key: daysOf(place) }))
    .filter(({ hubId, key }) => after === undefined || key > Number(after.key) || hubId > after.hubId)
    .sort((a, b) => a.key - b.key || a.hubId - b.hubId)
    .slice(0, limit + 1)
}

async function readCounts({ store, keys: { nearest } }: Sources) {
  const [alone, besideFull, full] = await Promise.all([
    ...NOW.map((place, n) => store.zcount(nearest, `(${place}`, END[n] ?? 0)),
    store.zcount(nearest, `(${FULL_RANGE.from}`, FULL_RANGE.to),
  ])
  return { upcoming: (alone ?? 0) + (besideFull ?? 0), full: full ?? 0 }
}

async function readEach<P, R>(places: readonly P[], read: (place: P) => Promise<R | undefined>): Promise<R[]> {
  return (await Promise.all(places.map(read))).filter((row) => row !== undefined)
}

/** Undefined where nothing is foretold of it any more, or it can't be read. */
async function readNext(deps: Sources, hubId: number, now: number): Promise<UpcomingLimitShape | undefined> {
  const [account, forecasts] = await Promise.all([readOne(deps, hubId), loadForecasts(deps.store, deps.keys, hubId)])
  const coming = seriesOf(account.readings).flatMap((series) => {
    const { forecast } = outlookOf(series, forecasts, now)
    return forecast !== null && forecast.days > 0 && forecast.days <= UPCOMING_DAYS ? [{ series, ...forecast }] : []
  })
  const [first] = coming.sort((a, b) => a.days - b.days)
  if (first === undefined) return undefined
  const { series, days, earliest, latest } = first
  const expectedAt = Math.max(now, (readAt(series, account.readings) ?? now) + days * DAY_MS)
  return {
    ...rowOf(hubId, account.hubDomain, series),
    daysLeft: tenths(days),
    earliest: tenths(earliest),
    latest: latest === null ? null : tenths(latest),
    expectedAt: new Date(expectedAt).toISOString(),
    more: coming.length - 1,
  }
}

async function readFull(deps: Sources, hubId: number): Promise<FullAccountShape | undefined> {
  const { readings, hubDomain } = await readOne(deps, hubId)
  const full = seriesOf(readings).filter(({ usage, limit }) => limit !== null && usage >= limit)
  const [first] = full.sort((a, b) => (b.percent ?? 0) - (a.percent ?? 0))
  return first && { ...rowOf(hubId, hubDomain, first), more: full.length - 1 }
}

/** No readings where they can't be read: the account is not among others then. */
async function readOne({ store, keys }: Sources, hubId: number) {
  const [kept, hubDomain] = await Promise.all([
    loadReadings(store, keys, hubId),
    store.hget(keys.account(hubId).account, 'hubDomain'),
  ])
  return { readings: typeof kept === 'object' ? kept : {}, hubDomain: hubDomain ?? '' }
}

function rowOf(hubId: number, hubDomain: string, { id: _, ...series }: Series) {
  return { hubId, hubDomain, ...series }
}

/** Text for an empty list: no limit is near, or that is not known yet. */
export function noneUpcomingText({ forecasts }: Pick<Upcoming, 'forecasts'>): string {
  return forecasts
    ? `No account reaches a limit in the next ${UPCOMING_DAYS} days, by forecast.`
    : `No forecasts yet: they start after ${ENOUGH_POINTS} days of data.`
}

export function upcomingText(accounts: number): string {
  return `${countOf(accounts, 'account reaches a limit', 'accounts reach a limit')} in the next ${UPCOMING_DAYS} days at this pace.`
}

/** `12 accounts have reached a limit already`. */
export function fullText(accounts: number): string {
  return countOf(accounts, 'account has reached a limit already', 'accounts have reached a limit already')
}

/** `Of 42 forecasts of the last 30 days, 33 came true (79 %): 5 limits were reached later than forecast, 4 sooner.` */
export function recordText({ held, later, sooner, open }: TrackRecord): string {
  const all = held + later + sooner
  const undecided =
    open === 0
      ? ''
      : ` ${formatCount(open)} more named no last day, and the limit was not reached in ${UPCOMING_DAYS} days.`
  const share = held === all ? 100 : Math.min(99, Math.round((held * 100) / all))
  const missed = [
    ...(later > 0 ? [`${countOf(later, 'limit was', 'limits were')} reached later than forecast, or not yet`] : []),
    ...(sooner > 0 ? [`${countOf(sooner, 'limit was', 'limits were')} reached sooner than forecast`] : []),
  ]
  const text = `Of ${countOf(all, 'forecast')} of the last ${RECORD_DAYS} days, ${formatCount(held)} came true (${share} %)`
  return `${text}${missed.length === 0 ? '.' : `: ${missed.join('; ')}.`}${undecided}`
}
