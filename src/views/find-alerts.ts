import * as z from 'zod'
import { isAccount } from '../accounts/match-account.ts'
import type { AlertKind, AlertLevel } from '../alerts/alert.ts'
import { compareRanks, rankOf } from '../alerts/alert.ts'
import { currentAcknowledgement } from '../alerts/alert-state.ts'
import {
  type OpenAlert,
  type OpenState,
  rankedState,
  readOpenAlerts,
  readOpenStates,
  silenceable,
} from '../alerts/open-alerts.ts'
import { type Silence, silenceOf } from '../alerts/silence.ts'
import { NOBODY } from '../redis/steps.ts'
import type { AccountAlertsShape, AcknowledgementShape, OpenAlertShape } from './shapes/alert.ts'
import { withMarks } from './silenced.ts'
import type { ViewDeps } from './view-deps.ts'

export const OPEN_KINDS = ['limit', 'token', 'poll', 'fleet', 'delivery'] as const
/** `active`: nothing keeps it from being sent; `silenced`, `acknowledged`: that does. */
export const MARKS = ['active', 'acknowledged', 'silenced'] as const

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

export type AlertCounts = Record<AlertLevel, number>

/** Where an account stands in the list: the rank of its worst alert, then its number. */
export type AlertPlace = readonly number[]

/** A place as text: a cursor of the API and of the page. */
export const PLACE = z
  .string('must be given once')
  .regex(/^-?\d{1,16}(\.\d)?(_-?\d{1,16}(\.\d)?){5}$/, 'is not a place in this list')

export function alertPlaceText(place: AlertPlace): string {
  return place.join('_')
}

/** Of what `PLACE` let through. */
export function readPlace(text: string): AlertPlace {
  return text.split('_').map(Number)
}

/** The open alerts of one account, worst first; `hubId` null: those that are about no account. */
export interface AccountAlerts {
  hubId: number | null
  hubDomain: string
  counts: AlertCounts
  alerts: OpenAlert[]
}

export interface FoundAlerts {
  /** Of all that fit but for the level. */
  counts: AlertCounts
  /** The account with the worst alert first. */
  accounts: AccountAlerts[]
  /** Those of all of them, the worst first. */
  alerts: OpenAlert[]
  /** After which the next page begins; undefined on the last one. */
  next: AlertPlace | undefined
}

type Sources = Pick<ViewDeps, 'store' | 'keys' | 'registry'>

interface Page {
  after?: AlertPlace | undefined
  /** A page ends with the account that reaches either. */
  accounts: number
  alerts: number
}

/** A page of the open alerts that fit, by account. Numbers are read only of those that are shown. */
export async function findAlerts(
  deps: Sources,
  { silences, ...filter }: OpenAlertFilter & { silences: readonly Silence[] },
  page: Page,
  now: number,
): Promise<FoundAlerts> {
  const isWanted = (open: OpenState) => fits(open, filter, silences, now)
  const { level } = filter
  const isShown = (open: OpenState) => (level === undefined || open.state.level === level) && isWanted(open)
  const survey = await surveyAlerts(deps, isWanted, level)
  const rest = survey.accounts
    .filter(({ place }) => page.after === undefined || compareRanks(place, page.after) > 0)
    .sort((a, b) => compareRanks(a.place, b.place))
  const shown = firstOf(rest, page)
  const hubIds = shown.map(({ hubId }) => hubId)
  const alerts = withMarks(await readOpenAlerts(deps.store, deps.keys, hubIds, isShown), silences, now)
  const byAccount = Map.groupBy(alerts, ({ hubId }) => hubId ?? NOBODY)
  return {
    ...{ counts: survey.counts, alerts },
    accounts: shown.flatMap(({ hubId, hubDomain, counts }) => {
      const own = byAccount.get(hubId)
      return own === undefined ? [] : [{ hubId: hubId === NOBODY ? null : hubId, hubDomain, counts, alerts: own }]
    }),
    next: rest.length > shown.length ? shown.at(-1)?.place : undefined,
  }
}

interface Surveyed {
  hubId: number
  hubDomain: string
  counts: AlertCounts
  place: AlertPlace
}

/** What is open at all accounts, from the states alone: of a large fleet no more is kept than a count and a place for each account. */
export async function surveyAlerts(
  { store, keys, registry }: Sources,
  isWanted: (open: OpenState) => boolean = () => true,
  level?: AlertLevel,
): Promise<{ counts: AlertCounts; accounts: Surveyed[] }> {
  const total = { warning: 0, critical: 0 }
  const accounts: Surveyed[] = []
  for await (const some of readOpenStates(store, keys, await registry.alerting())) {
    for (const [hubId, all] of Map.groupBy(some.filter(isWanted), (open) => open.hubId)) {
      for (const { state } of all) total[state.level]++
      const own = level === undefined ? all : all.filter(({ state }) => state.level === level)
      const [worst] = own.map((open) => rankOf(rankedState(open))).sort(compareRanks)
      if (worst === undefined) continue
      const critical = own.filter(({ state }) => state.level === 'critical').length
      const counts = { critical, warning: own.length - critical }
      accounts.push({ hubId, hubDomain: own[0]?.hubDomain ?? '', counts, place: [...worst, hubId] })
    }
  }
  return { counts: total, accounts }
}

function firstOf(rest: readonly Surveyed[], { accounts, alerts }: Page): Surveyed[] {
  const shown: Surveyed[] = []
  let count = 0
  for (const one of rest) {
    if (shown.length >= accounts || count >= alerts) break
    shown.push(one)
    count += one.counts.critical + one.counts.warning
  }
  return shown
}

function fits(open: OpenState, filter: OpenAlertFilter, silences: readonly Silence[], now: number): boolean {
  const { kind, hubId, account, carriers, mark } = filter
  const alert = silenceable(open)
  if (kind !== undefined && alert.kind !== kind) return false
  if (hubId !== undefined && open.hubId !== hubId) return false
  if (account !== undefined && !isAbout(open, account.toLowerCase())) return false
  if (carriers !== undefined && !carriers.some((wanted) => open.hubId !== NOBODY && isAccount(wanted, open)))
    return false
  if (mark === undefined) return true
  const acknowledged = currentAcknowledgement(open.state, now) !== undefined
  if (mark === 'acknowledged') return acknowledged
  const silenced = silenceOf(silences, alert, now) !== undefined
  return mark === 'silenced' ? silenced : !silenced && !acknowledged
}

function isAbout({ hubId, hubDomain }: OpenState, text: string): boolean {
  return hubId !== NOBODY && (hubDomain.toLowerCase().includes(text) || String(hubId).includes(text))
}

/** An open alert as pages and programs are told of it: times in ISO 8601. */
export type TimedAlert = OpenAlertShape

export function timedAlert({ acknowledged, ...alert }: OpenAlert): TimedAlert {
  return {
    ...alert,
    since: new Date(alert.since).toISOString(),
    ...(acknowledged === undefined ? {} : { acknowledged: timedAcknowledgement(acknowledged) }),
  }
}

export function timedAcknowledgement(given: NonNullable<OpenAlert['acknowledged']>): AcknowledgementShape {
  const { at, by, comment, until } = given
  return {
    ...{ at: new Date(at).toISOString(), by },
    ...(comment === undefined ? {} : { comment }),
    until: new Date(until).toISOString(),
  }
}

export function accountAlertsJson(
  { hubId, hubDomain, counts, alerts }: AccountAlerts,
  most: number,
): AccountAlertsShape {
  return { hubId, hubDomain, ...counts, alerts: alerts.slice(0, most).map(timedAlert) }
}
