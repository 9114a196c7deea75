import type { Account, Uninstall } from '../accounts/account.ts'
import type { DueSets } from '../accounts/due-sets.ts'
import { alertText } from '../alerts/alert-title.ts'
import type { ForecastSeries } from '../alerts/evaluation/conditions.ts'
import { isBucketWatched } from '../alerts/evaluation/judge-bucket.ts'
import type { Rule } from '../alerts/evaluation/rules.ts'
import { type OpenAlert, readOpenAlerts } from '../alerts/open-alerts.ts'
import { type Outlook, outlookOf, tenths } from '../limits/forecast/outlook.ts'
import type { AccountForecasts } from '../limits/forecast/stored-forecasts.ts'
import { loadForecasts, loadReadings } from '../limits/load-readings.ts'
import { type Readings, readAt } from '../limits/readings.ts'
import { reportOf } from '../limits/reports/all-reports.ts'
import { bucketReadings } from '../limits/reports/api.ts'
import { shownRecords } from '../limits/samples.ts'
import { seriesOf } from '../limits/series.ts'
import type { AccountState } from '../redis/keys.ts'
import { capitalized, formatDistance } from '../text/format-number.ts'
import { iso } from '../text/format-time.ts'
import { accountStory } from './account-story.ts'
import { type AccountVerdict, type JudgeFacts, judgeAccount, type PlannedAccount } from './judge-account.ts'
import { bucketJson, type Labels, pollBecause, watchJson } from './poll-texts.ts'
import type { AccountDetailsShape, AccountShape } from './shapes/account.ts'
import type { ForecastShape, SeriesShape } from './shapes/series.ts'
import { isHandled, withMarks } from './silenced.ts'
import type { ViewDeps } from './view-deps.ts'
import { whoIsNotified } from './who-is-notified.ts'

/** Accounts read at once. */
const PAGE = 500

/** Sources of an account and its series. */
export type AccountSources = Pick<
  ViewDeps,
  'store' | 'keys' | 'registry' | 'due' | 'clock' | 'samples' | 'silences' | 'coverage' | 'explain'
>

/** A series as last read: as it is shown, and as rules judge it, whose days left are exact. */
export interface CurrentSeries {
  shown: SeriesShape
  judged: ForecastSeries
}

/** All there is to show about one account, and what it is judged by; its tokens are in neither. */
export interface AccountView {
  account: PlannedAccount
  series: CurrentSeries[]
  details: AccountDetailsShape
}

export async function readAccountView(deps: AccountSources, hubId: number): Promise<AccountView | undefined> {
  const account = await deps.registry.get(hubId)
  if (account === undefined) return undefined
  const { store, keys } = deps
  const now = deps.clock.now()
  const [planned, scopes, kept, forecasts, samples, open, silences, freshAt] = await Promise.all([
    withPlan(deps.due, account),
    deps.registry.grantedScopes(hubId),
    loadReadings(store, keys, hubId),
    loadForecasts(store, keys, hubId),
    deps.samples.read(hubId),
    readOpenAlerts(store, keys, [hubId]),
    deps.silences.active(now),
    readFreshAt(deps, hubId),
  ])
  const alerts = withMarks(open, silences, now)
  const series = kept === undefined ? [] : currentSeries(kept, forecasts, now)
  if (kept !== undefined) {
    // Only associations have records.
    for (const { shown, judged } of series)
      if (shown.from !== undefined) shown.records = shownRecords(judged, kept, samples)
  }
  const shown = series.map((one) => one.shown)
  const { freshnessMs } = deps.coverage.settings
  const { level, findings } = verdictOf({ account: planned, series: shown, alerts }, { freshnessMs, freshAt }, now)
  const details = {
    ...accountJson(planned),
    nextPollBecause: nextPollBecause(planned, new Map(shown.map((one) => [one.id, one]))),
    verdict: { level, findings: findings.map(({ brief: _, since: __, ...finding }) => finding) },
    scopes,
    series: shown,
    alerts,
    story: accountStory(planned, alerts),
    notified: whoIsNotified(deps.explain, planned),
  }
  return { account: planned, series, details }
}

function verdictOf(
  { account, series, alerts }: Pick<AccountView, 'account'> & Pick<AccountDetailsShape, 'series' | 'alerts'>,
  fresh: Pick<JudgeFacts, 'freshnessMs' | 'freshAt'>,
  now: number,
): AccountVerdict {
  const judged = alerts.map((alert) => {
    return { field: alert.field, level: alert.level, isHandled: isHandled(alert), title: openedText(alert, now) }
  })
  const ofReports = Map.groupBy(series, (one) => reportOf(one)?.words ?? '')
  const readAt = [...ofReports].map(([words, some]) => {
    return {
      words,
      at: some.reduce((oldest, { measuredAt }) => Math.min(oldest, Date.parse(measuredAt ?? '') || 0), now),
    }
  })
  return judgeAccount({ account, ...fresh, alerts: judged, ...(series.length === 0 ? {} : { readAt }) }, now)
}

/** `custom properties, 960 of 1,000, opened 3 h ago`. */
function openedText(alert: OpenAlert, now: number): string {
  return `${alertText(alert)}, opened ${formatDistance(Date.parse(alert.since) - now)}`
}

/** Moment that the age of an account's reading counts from, ms; null: no fresh reading is expected of it. */
export async function readFreshAt(
  { store, keys }: Pick<ViewDeps, 'store' | 'keys'>,
  hubId: number,
): Promise<number | null> {
  const score = await store.zscore(keys.fresh, hubId)
  return score === null ? null : Number(score)
}

export async function withPlan(due: DueSets, account: Account): Promise<PlannedAccount> {
  const [nextRefreshAt, nextPollAt, nextUninstallAt] = await Promise.all([
    due.when('refresh', account.hubId),
    due.when('poll', account.hubId),
    due.when('uninstall', account.hubId),
  ])
  return { ...account, nextRefreshAt, nextPollAt, nextUninstallAt }
}

/** Every account of the given states by hubId, each with its plan; a page of them in memory at a time. */
export async function* allAccounts(
  { registry, due }: Pick<ViewDeps, 'registry' | 'due'>,
  states: readonly AccountState[],
): AsyncGenerator<PlannedAccount> {
  let after = 0
  for (;;) {
    const page = await registry.page(PAGE, after, states)
    yield* await Promise.all(page.map((account) => withPlan(due, account)))
    const last = page.at(-1)
    if (last === undefined) return
    after = last.hubId
  }
}

/** The series of an account as last read. */
export function currentSeries(
  readings: Readings,
  forecasts: AccountForecasts | undefined,
  now: number,
): CurrentSeries[] {
  return seriesOf(readings).map((judged) => {
    const { daysLeft, forecast, forecastReason } = outlookOf(judged, forecasts, now)
    const shown = {
      ...judged,
      measuredAt: iso(readAt(judged, readings) ?? null),
      daysLeft: daysLeft == null ? null : tenths(daysLeft),
      forecast: forecast && inTenths(forecast),
      forecastReason,
    }
    return { shown, judged: { ...judged, daysLeft } }
  })
}

function inTenths({ perDay, perDayLow, perDayHigh, ...left }: NonNullable<Outlook['forecast']>): ForecastShape {
  const [days, earliest] = [tenths(left.days), tenths(left.earliest)]
  return { perDay, perDayLow, perDayHigh, days, earliest, latest: left.latest === null ? null : tenths(left.latest) }
}

/** Why none of these has a forecast, as a sentence, by the first with a limit; undefined where one has, or none has a limit. */
export function noForecastText(series: readonly SeriesShape[]): string | undefined {
  if (series.some(({ forecast }) => forecast !== null)) return undefined
  const reason = series.find(({ limit }) => limit !== null)?.forecastReason
  return reason == null ? undefined : `${capitalized(reason)}.`
}

/** The series with that of the account's bucket, where a rule asks for it. */
export function withBucketSeries(
  series: readonly CurrentSeries[],
  account: Account,
  { rules, states }: { rules: readonly Rule[]; states: Readonly<Record<string, string>> },
  now: number,
): readonly CurrentSeries[] {
  const readings = bucketReadings(account.bucket)
  if (readings === undefined || !isBucketWatched(rules, account, states)) return series
  return [...series, ...currentSeries(readings, undefined, now)]
}

/** Why the account is polled next when it is; null where nothing is known. */
export function nextPollBecause({ nextPollAt, turn, pollBlocked, pollFailure }: PlannedAccount, labels?: Labels) {
  if (nextPollAt === null) return null
  // A poll that may read nothing did not fail.
  if (pollBlocked?.what === 'all' && pollFailure === null) return 'regular schedule; a permission is missing'
  return pollBecause(turn, labels) ?? null
}

/** An account for the API: times in ISO 8601, null = never. */
export function accountJson(account: PlannedAccount): AccountShape {
  const { token, refreshFailure, pollFailure, uninstall } = account
  return {
    hubId: account.hubId,
    hubDomain: account.hubDomain,
    state: account.state,
    user: account.user,
    contact: account.contact,
    connectedAt: iso(account.connectedAt),
    firstConnectedAt: iso(account.firstConnectedAt),
    token: {
      obtainedAt: iso(token.obtainedAt),
      expiresAt: iso(token.expiresAt),
      refreshedAt: iso(token.refreshedAt),
      nextRefreshAt: iso(account.nextRefreshAt),
      driftMs: token.driftMs,
    },
    refreshFailure:
      refreshFailure === null
        ? null
        : { ...refreshFailure, at: iso(refreshFailure.at), since: iso(refreshFailure.since) },
    refusedSince: iso(account.refusedSince),
    parkedUntil: iso(account.parkedUntil),
    tokenServedAt: iso(account.tokenServedAt),
    tokenServedTo: account.tokenServedTo,
    polledAt: iso(account.polledAt),
    nextPollAt: iso(account.nextPollAt),
    nextPollBecause: nextPollBecause(account),
    pollFailure:
      pollFailure === null ? null : { ...pollFailure, at: iso(pollFailure.at), since: iso(pollFailure.since) },
    watch: watchJson(account),
    objectTypesLeftOut: account.objectTypesLeftOut,
    notAvailable: account.notAvailable,
    apiCalls: bucketJson(account),
    gaps: account.gaps,
    uninstall: uninstall === null ? null : uninstallJson(account, uninstall),
  }
}

function uninstallJson({ state, nextUninstallAt }: PlannedAccount, uninstall: Uninstall): AccountShape['uninstall'] {
  const { askedAt, failureAt, at, purgeAt } = uninstall
  return {
    ...uninstall,
    askedAt: iso(askedAt),
    failureAt: iso(failureAt),
    nextAttemptAt: state === 'uninstalling' ? iso(nextUninstallAt) : null,
    at: iso(at),
    purgeAt: iso(purgeAt),
  }
}
