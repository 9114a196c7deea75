import { isAccount } from '../accounts/match-account.ts'
import type { AlertKind, AlertLevel } from '../alerts/alert.ts'
import { compareRanks, rankOf } from '../alerts/alert.ts'
import { currentAcknowledgement, kindOf } from '../alerts/alert-state.ts'
import {
  type OpenAlert,
  type OpenState,
  rankedState,
  readOpenAlerts,
  readOpenStates,
  silenceable,
} from '../alerts/open-alerts.ts'
import { type Silence, silenceOf } from '../alerts/silence.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import type { AccountAlertsShape } from './shapes/alert.ts'
import { isHandled, isHandledState, withMarks } from './silenced.ts'
import type { ViewDeps } from './view-deps.ts'

export const OPEN_KINDS = ['limit', 'token', 'poll', 'fleet', 'delivery'] as const
/** `active`: nothing keeps it from being sent; `silenced`, `acknowledged`: that does; `handled`: either. */
export const MARKS = ['active', 'acknowledged', 'silenced', 'handled'] as const

/** Which open alerts are wanted; what is left out does not matter. */
export interface OpenAlertFilter {
  level?: AlertLevel | undefined
  kind?: AlertKind | undefined
  hubId?: number | undefined
  /** Part of an account's domain, or of its number. */
  account?: string | undefined
  /** hubIds and patterns of domains, one of which must fit. */
  carriers?: readonly string[] | undefined
  mark?: (typeof MARKS)[number] | undefined
}

/** Alerts by level. Those that an operator has acknowledged or silenced are in neither level, but `handled`. */
export type AlertCounts = Record<AlertLevel | 'handled', number>

/**
 * Place of an account in the list: whether all of its alerts are handled, rank and start of its worst one, then its number.
 */
export type AlertPlace = readonly number[]

/** A place as text: a cursor of the API and of the page. */
export const ALERT_PLACE = /^-?\d{1,16}(\.\d)?(_-?\d{1,16}(\.\d)?){7}$/

export function alertPlaceText(place: AlertPlace): string {
  return place.join('_')
}

/** Reads a text that `ALERT_PLACE` matches. */
export function readPlace(text: string): AlertPlace {
  return text.split('_').map(Number)
}

export interface FoundAlerts {
  /** Counts of all that fit but for the level. */
  counts: AlertCounts
  /** First the account with the worst alert that no operator has handled. */
  accounts: AccountAlertsShape[]
  /** All matching alerts, the worst first, handled ones last. */
  alerts: OpenAlert[]
  /** After which the next page begins; undefined on the last one. */
  next: AlertPlace | undefined
  /** All accounts with such alerts. */
  surveyed: readonly Surveyed[]
}

type Sources = Pick<ViewDeps, 'store' | 'keys' | 'registry'>

/** Filter and page of the open alerts. */
interface AlertSearch extends OpenAlertFilter {
  silences: readonly Silence[]
  /** Called with each alert that fits but for level and mark: what else is to be known of all needs no read of its own. */
  visit?: (open: OpenState, isHandled: boolean) => void
}

/** Orders of a list by the worst alert of each account. Of equals the worst comes first. */
const ORDERS = {
  worst: () => 0,
  account: (a: Ordered, b: Ordered) => (a.hubDomain < b.hubDomain ? -1 : Number(a.hubDomain > b.hubDomain)),
  limit: (a: Ordered, b: Ordered) => (a.place[4] ?? 0) - (b.place[4] ?? 0),
  age: (a: Ordered, b: Ordered) => (a.place[6] ?? 0) - (b.place[6] ?? 0),
}
export type AlertSort = keyof typeof ORDERS
export const ALERT_SORTS = Object.keys(ORDERS) as AlertSort[]
type Ordered = Pick<Surveyed, 'hubDomain' | 'place'>

interface Page {
  sort?: AlertSort | undefined
  descending?: boolean
  after?: AlertPlace | undefined
  /** A page ends with the account that reaches either. */
  accounts: number
  alerts: number
  /** Most alerts that are given of one account; absent: all. */
  ofAccount?: number
}

/** A page of the open alerts that fit, by account. Numbers are read only of those that are shown. */
export async function findAlerts(deps: Sources, search: AlertSearch, page: Page, now: number): Promise<FoundAlerts> {
  const { silences, level } = search
  const survey = await surveyAlerts(deps, search, now)
  const { sort = 'worst', descending = false, after } = page
  const way = descending ? -1 : 1
  const compare = (a: Ordered, b: Ordered) => way * (ORDERS[sort](a, b) || compareRanks(a.place, b.place))
  const { hubDomain = '' } = survey.accounts.find(({ hubId }) => hubId === after?.at(-1)) ?? {}
  const rest = survey.accounts
    .filter((one) => after === undefined || compare(one, { hubDomain, place: after }) > 0)
    .sort(compare)
  const shown = firstOf(rest, page)
  const hubIds = shown.map(({ hubId }) => hubId)
  const isShown = (open: OpenState) =>
    (level === undefined || open.state.level === level) &&
    fits(open, search) &&
    hasMark(search.mark, open, silences, now)
  const found = withMarks(await readOpenAlerts(deps.store, deps.keys, hubIds, isShown), silences, now)
  const alerts = found.toSorted((a, b) => Number(isHandled(a)) - Number(isHandled(b)))
  const byAccount = Map.groupBy(alerts, ({ hubId }) => hubId ?? NO_ACCOUNT)
  return {
    counts: survey.counts,
    alerts,
    accounts: shown.flatMap(({ hubId, hubDomain, counts }) => {
      const own = byAccount.get(hubId)
      if (own === undefined) return []
      const shownAlerts = own.slice(0, page.ofAccount)
      return [{ hubId: hubId === NO_ACCOUNT ? null : hubId, hubDomain, ...counts, alerts: shownAlerts }]
    }),
    next: rest.length > shown.length ? shown.at(-1)?.place : undefined,
    surveyed: survey.accounts,
  }
}

export interface Surveyed {
  hubId: number
  hubDomain: string
  counts: AlertCounts
  place: AlertPlace
}

/**
 * Open alerts of all accounts, from the states alone: of a large fleet only a count and a place for each account are
 * kept.
 */
export async function surveyAlerts(
  { store, keys, registry }: Sources,
  search: AlertSearch,
  now: number,
): Promise<{ counts: AlertCounts; accounts: Surveyed[] }> {
  const { silences, level, mark, visit } = search
  // A reader who asks for handled alerts gets them by level.
  const isByLevel = mark !== undefined && mark !== 'active'
  const total = noAlerts()
  const accounts: Surveyed[] = []
  for await (const some of readOpenStates(store, keys, await registry.alerting())) {
    const fitting = some.filter((open) => fits(open, search))
    for (const [hubId, all] of Map.groupBy(fitting, (open) => open.hubId)) {
      const counts = noAlerts()
      const places: number[][] = []
      for (const open of all) {
        const isKnown = isHandledState(open, silences, now)
        const isCounted = isByLevel || !isKnown
        visit?.(open, isKnown)
        const isWanted = hasMark(mark, open, silences, now)
        const counted = isCounted ? open.state.level : 'handled'
        if (isWanted || !isCounted) total[counted]++
        if (!isWanted || (level !== undefined && open.state.level !== level)) continue
        counts[counted]++
        places.push([Number(isKnown), ...rankOf(rankedState(open)), open.state.since])
      }
      const [worst] = places.sort(compareRanks)
      if (worst === undefined) continue
      accounts.push({ hubId, hubDomain: all[0]?.hubDomain ?? '', counts, place: [...worst, hubId] })
    }
  }
  return { counts: total, accounts }
}

export function countsOf(alerts: readonly { level: AlertLevel; isHandled: boolean }[]): AlertCounts {
  const counts = noAlerts()
  for (const { level, isHandled } of alerts) counts[isHandled ? 'handled' : level]++
  return counts
}

export function noAlerts(): AlertCounts {
  return { critical: 0, warning: 0, handled: 0 }
}

function hasMark(mark: OpenAlertFilter['mark'], open: OpenState, silences: readonly Silence[], now: number): boolean {
  switch (mark) {
    case undefined:
      return true
    case 'acknowledged':
      return currentAcknowledgement(open.state, now) !== undefined
    case 'silenced':
      return silenceOf(silences, silenceable(open), now) !== undefined
    default:
      return isHandledState(open, silences, now) === (mark === 'handled')
  }
}

function firstOf(rest: readonly Surveyed[], { accounts, alerts }: Page): Surveyed[] {
  const shown: Surveyed[] = []
  let count = 0
  for (const one of rest) {
    if (shown.length >= accounts || count >= alerts) break
    shown.push(one)
    count += one.counts.critical + one.counts.warning + one.counts.handled
  }
  return shown
}

/** But for its level and its mark. */
function fits(open: OpenState, { kind, hubId, account, carriers }: OpenAlertFilter): boolean {
  if (kind !== undefined && kindOf(open.hubId, open.field) !== kind) return false
  if (hubId !== undefined && open.hubId !== hubId) return false
  if (account !== undefined && !isAbout(open, account.toLowerCase())) return false
  return carriers === undefined || carriers.some((wanted) => open.hubId !== NO_ACCOUNT && isAccount(wanted, open))
}

function isAbout({ hubId, hubDomain }: OpenState, text: string): boolean {
  return hubId !== NO_ACCOUNT && (hubDomain.toLowerCase().includes(text) || String(hubId).includes(text))
}
