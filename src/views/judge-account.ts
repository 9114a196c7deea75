import { type Account, confirmationOf } from '../accounts/account.ts'
import { OVERDUE_AFTER_MS } from '../accounts/due-sets.ts'
import { POLL_FIELD, TOKEN_FIELD } from '../alerts/alert-state.ts'
import { asHubSpot, unreadPart, unreadText } from '../alerts/unread-text.ts'
import type { AccountState } from '../redis/keys.ts'
import { cleanText } from '../text/clean-text.ts'
import { capitalized, countOf, formatCount, formatDistance, formatSpan, spanInWords } from '../text/format-number.ts'
import { formatMoment } from '../text/format-time.ts'
import { UNREADABLE_ANSWER } from '../tokens/after-failure.ts'
import { alertCountsText } from './alert-texts.ts'
import { countsOf } from './find-alerts.ts'
import { gapsText, leftOutText, notAvailableText, watchText } from './poll-texts.ts'
import { type AccountShape, VERDICT_LEVELS, type VerdictLevel } from './shapes/account.ts'
import type { JudgedAlert } from './silenced.ts'

/** States for people; the API keeps its own words. */
export const STATE_NAMES: Readonly<Record<AccountState, string>> = {
  active: 'active',
  failing: 'failing',
  parked: 'paused by HubSpot',
  reauthorize: 'must reconnect',
  uninstalling: 'uninstalling',
  uninstalled: 'uninstalled',
}

/** One fact about an account; texts are harmless. */
export interface AccountFinding {
  about: 'tokens' | 'limits' | 'alerts' | 'uninstall'
  level: VerdictLevel
  /** A few words for a cell of a list; '' where nothing is wrong. */
  brief: string
  /** Whole sentences, with their own age. */
  says: string
  /** Start, ms, where lists are ordered by it. */
  since?: number
}

/** How an account is: the worst of its findings. */
export interface AccountVerdict {
  level: VerdictLevel
  findings: AccountFinding[]
}

/** An account with when it is due next. */
export interface PlannedAccount extends Account {
  nextRefreshAt: number | null
  nextPollAt: number | null
  /** Next try to delete the refresh token, or the moment at which the account is forgotten. */
  nextUninstallAt: number | null
}

/** A report, in words, and when it was read last, ms; of one that is read pair by pair the oldest. */
export interface ReportAge {
  words: string
  at: number
}

export interface JudgeFacts {
  account: PlannedAccount
  /** Worst first. */
  alerts: readonly JudgedAlert[]
  /** Moment of the last reading of each report; absent where its series were not read. */
  readAt?: readonly ReportAge[]
  /** Age from which a reading is stale, ms. */
  freshnessMs: number
  /** Moment that its age counts from, as coverage has it: later than the reading where the account is polled seldom. */
  freshAt: number | null
}

/**
 * The one judge of an account: of lists, its page, checks and the API. It depends on the stored record and the open alerts
 * alone, so that each of these comes to the same level.
 */
export function judgeAccount(facts: JudgeFacts, now: number): AccountVerdict {
  const findings = isLeaving(facts.account) ? [departure(facts.account, now)] : findingsOf(facts, now)
  return { level: gravest(findings), findings }
}

function findingsOf(facts: JudgeFacts, now: number): AccountFinding[] {
  const own = [knownTokens(facts, now), ...limits(facts, now)]
  return [
    ...own,
    ...openAlerts(
      facts.alerts,
      own.every(({ level }) => level === 'ok'),
    ),
  ]
}

/** A trouble with its tokens whose alert is handled makes nothing worse. */
function knownTokens({ account, alerts }: JudgeFacts, now: number): AccountFinding {
  const found = tokens(account, now)
  const isHandled = alerts.some((alert) => alert.field === TOKEN_FIELD && alert.isHandled)
  return isHandled && (found.level === 'critical' || found.level === 'warning') ? { ...found, level: 'handled' } : found
}

function gravest(findings: readonly AccountFinding[]): VerdictLevel {
  return VERDICT_LEVELS.find((level) => findings.some((finding) => finding.level === level)) ?? 'none'
}

/** The trouble of an account apart from its alerts, in a few words; '' = none. */
export function troubleOf({ findings }: AccountVerdict): string {
  const troubles = findings.filter(({ about, brief }) => about !== 'alerts' && brief !== '')
  return troubles.toSorted((a, b) => rankOf(a.level) - rankOf(b.level))[0]?.brief ?? ''
}

function rankOf(level: VerdictLevel): number {
  return VERDICT_LEVELS.indexOf(level)
}

/** Reconnecting it helps: its refresh token is refused, or a permission is missing. */
export function needsReconnect({ state, refusedSince, watch }: AccountShape): boolean {
  return state === 'reauthorize' || (isWorkedOn({ state }) && (refusedSince !== null || watch !== null))
}

export function confirmationText(by: number, now: number): string {
  return `to be confirmed by ${by > now ? `${formatMoment(by)} at the latest` : 'the next attempt'}`
}

/** Polls and refreshes are made: neither its customer nor the provider has to act first. */
export function isWorkedOn({ state }: Pick<Account, 'state'>): boolean {
  return state === 'active' || state === 'failing'
}

/** Nothing is refreshed or polled any more. */
export function isLeaving({ state }: Pick<Account, 'state'>): boolean {
  return state === 'uninstalling' || state === 'uninstalled'
}

function departure({ state, uninstall, nextUninstallAt }: PlannedAccount, now: number): AccountFinding {
  const reason = `Reason: ${quoted(uninstall?.reason ?? 'unknown', 200)}.`
  const about = 'uninstall'
  if (state === 'uninstalled') {
    const says = `Uninstalled ${distance(uninstall?.at, now)}; its refresh token is deleted. Its record and readings are deleted ${distance(uninstall?.purgeAt, now)}. ${reason}`
    return { about, level: 'none', brief: '', says }
  }
  const failure = uninstall?.failure ?? null
  if (failure === null) {
    const says = `Nothing is refreshed or polled any more; its refresh token is being deleted at HubSpot. ${reason}`
    return { about, level: 'none', brief: '', says }
  }
  const says = `Nothing is refreshed or polled any more. Its refresh token could not be deleted yet: ${quoted(failure)}. The next attempt is ${planned(nextUninstallAt, now)}. ${reason}`
  return { about, level: 'warning', brief: `refresh token not deleted yet: ${quoted(failure, 120)}`, says }
}

function tokens(account: PlannedAccount, now: number): AccountFinding {
  const { state, token, refreshFailure, parkedUntil, nextRefreshAt } = account
  const isOver = token.expiresAt === null || token.expiresAt <= now
  const found = (level: VerdictLevel, brief: string, ...says: string[]): AccountFinding => {
    const since = refreshFailure?.since ?? token.expiresAt ?? 0
    return { about: 'tokens', level, brief, says: says.filter((one) => one !== '').join(' '), since }
  }
  if (refreshFailure?.class === UNREADABLE_ANSWER) {
    const says = `${sentence(refreshFailure.reason)} Its refresh token is not used again until an operator decides: plimsoll accounts refresh tries again.`
    return found('critical', "HubSpot's answer could not be read", says, expiry(token, now))
  }
  if (state === 'reauthorize') return found('critical', ...refused(account, now))
  if (state === 'parked') {
    const why = refreshFailure === null ? '' : sentence(refreshFailure.reason)
    const until = planned(parkedUntil, now)
    const says = `HubSpot asked for a pause: the next attempt is ${until}.`
    return found(isOver ? 'critical' : 'warning', `next attempt ${until}`, says, expiry(token, now), why)
  }
  const by = confirmationOf(account)
  if (by !== undefined) {
    const confirmed = confirmationText(by, now)
    const why = refreshFailure?.class === 'rejected' ? ` (${quoted(refreshFailure.reason)})` : ''
    const says = `HubSpot refuses its refresh token${why}, ${confirmed}. Reconnecting it helps at once.`
    const brief = `refresh token refused, ${confirmed}`
    return found(isOver ? 'critical' : 'warning', brief, says, expiry(token, now), nextAttempt(account, now))
  }
  if (state === 'failing' || refreshFailure !== null) {
    const [brief, says] = failing(account, now)
    // One that failed early has another attempt while the token lives.
    const isLate = nextRefreshAt !== null && now - nextRefreshAt > OVERDUE_AFTER_MS
    const early = nextRefreshAt === null ? 'unknown' : 'ok'
    const level = state === 'failing' || isLate ? 'warning' : early
    return found(isOver ? 'critical' : level, brief, says, expiry(token, now), nextAttempt(account, now))
  }
  return found(...activeTokens(account, now))
}

function refused(
  { token, refreshFailure, refusedSince }: PlannedAccount,
  now: number,
): [brief: string, ...says: string[]] {
  const why = refreshFailure === null ? '' : ` (${quoted(refreshFailure.reason)})`
  const until = 'Until it is reconnected, nothing is refreshed or polled.'
  if (refreshFailure?.class === 'foreign') {
    const says = `The imported token belongs to another account${why}: import its own, or reconnect it.`
    return ['the imported token belongs to another account', says, until]
  }
  if (refusedSince === null) {
    return ['refresh token refused', `HubSpot refuses its refresh token${why}.`, until, expiry(token, now)]
  }
  const says = `HubSpot has refused its refresh token for ${spanInWords(now - refusedSince)}${why}.`
  return [`refresh token refused for ${formatSpan(now - refusedSince)}`, says, until, expiry(token, now)]
}

function failing({ refreshFailure }: PlannedAccount, now: number): [brief: string, says: string] {
  if (refreshFailure === null) return ['refresh fails', "Its tokens can't be refreshed."]
  const { count, since, at } = refreshFailure
  const reason = quoted(refreshFailure.reason)
  if (count <= 1) {
    const ago = distance(at, now)
    return [`refresh failed ${ago}: ${reason}`, `The last refresh failed ${ago}: ${reason}.`]
  }
  const says = `Refreshing its tokens has failed for ${spanInWords(now - since)} (${formatCount(count)} times in a row): ${reason}.`
  return [`refresh failing for ${formatSpan(now - since)}: ${reason}`, says]
}

function nextAttempt({ nextRefreshAt }: PlannedAccount, now: number): string {
  if (nextRefreshAt === null) return 'No refresh is planned.'
  const late = now - nextRefreshAt
  return late > OVERDUE_AFTER_MS
    ? `The next attempt is overdue by ${formatSpan(late)}.`
    : `The next attempt is ${planned(nextRefreshAt, now)}.`
}

function expiry({ expiresAt }: Account['token'], now: number): string {
  if (expiresAt === null) return 'There is no access token.'
  return `Its access token ${expiresAt <= now ? 'expired' : 'expires'} ${distance(expiresAt, now)}.`
}

/** Tokens of an account whose refreshes do not fail, as far as is known. */
function activeTokens(
  { token, nextRefreshAt }: PlannedAccount,
  now: number,
): [level: VerdictLevel, brief: string, ...says: string[]] {
  const { obtainedAt, expiresAt } = token
  const lateMs = nextRefreshAt === null ? 0 : now - nextRefreshAt
  const late = `overdue by ${formatSpan(lateMs)}`
  if (expiresAt !== null && expiresAt <= now) {
    const ended = `access token expired ${distance(expiresAt, now)}`
    return ['critical', ended, `Its ${ended}, and no daemon has refreshed it.`]
  }
  if (nextRefreshAt === null) return ['unknown', 'no refresh is planned', 'No refresh is planned.', expiry(token, now)]
  if (lateMs > OVERDUE_AFTER_MS) return ['warning', `refresh ${late}`, `Its refresh is ${late}.`, expiry(token, now)]
  const next = planned(nextRefreshAt, now)
  if (obtainedAt === null || expiresAt === null)
    return ['unknown', '', `There is no access token yet: the first refresh is ${next}.`]
  return ['ok', '', `Tokens were refreshed ${distance(obtainedAt, now)}; next refresh ${next}.`, expiry(token, now)]
}

function limits(facts: JudgeFacts, now: number): AccountFinding[] {
  const { pollBlocked } = facts.account
  const found = (level: VerdictLevel, brief: string | undefined, more = '', isTrouble = true): AccountFinding[] => {
    if (brief === undefined) return []
    return [{ about: 'limits', level, brief: isTrouble ? brief : '', says: `${sentence(brief)} ${more}`.trim() }]
  }
  return [
    ...(pollBlocked?.what === 'all' ? [] : [lastPoll(facts, now)]),
    ...(pollBlocked === null ? [] : [blocked(facts, pollBlocked, now)]),
    // An account that is read otherwise is well: an alert opens where parts stay missing.
    ...found('ok', gapsText(facts.account)),
    ...found('ok', leftOutText(facts.account)),
    ...found('ok', notAvailableText(facts.account), '', false),
  ]
}

function blocked(
  { account, alerts }: JudgeFacts,
  { since }: NonNullable<Account['pollBlocked']>,
  now: number,
): AccountFinding {
  const brief = watchText(account) ?? ''
  const says = `${sentence(brief)} It began ${distance(since, now)}.`
  return {
    about: 'limits',
    level: pollAlert(alerts)?.isHandled === false ? 'warning' : 'unknown',
    brief,
    says,
  }
}

function lastPoll(facts: JudgeFacts, now: number): AccountFinding {
  const { account, alerts, readAt, freshnessMs } = facts
  const { state, polledAt, pollFailure, nextPollAt } = account
  const read = readText(polledAt, readAt, now)
  const isStale = isOld(facts, now)
  const late = nextPollAt === null ? 0 : now - nextPollAt
  const isUnplanned = nextPollAt === null && state === 'active'
  const found = (level: VerdictLevel, brief: string, says: string): AccountFinding => {
    const isUnknown = level === 'ok' && (polledAt === null || isStale || isUnplanned)
    return { about: 'limits', level: isUnknown ? 'unknown' : level, brief, says }
  }
  if (state === 'reauthorize') return { about: 'limits', level: 'unknown', brief: '', says: `${read}.` }
  if (pollFailure !== null) {
    const { partly } = pollFailure
    const level = failingLevel(late > OVERDUE_AFTER_MS, pollAlert(alerts))
    const says = `${unreadText(pollFailure, now)}${partly === undefined ? ` ${read}.` : ''}`
    return found(level, unreadPart(pollFailure, now), says)
  }
  const old = isStale ? `, older than limits.freshness (${formatSpan(freshnessMs)})` : ''
  if (late > OVERDUE_AFTER_MS) {
    const overdue = `overdue by ${formatSpan(late)}`
    return found('warning', `poll ${overdue}`, `${read}${old}; the next poll is ${overdue}.`)
  }
  if (isUnplanned) return found('ok', 'no poll is planned', `${read}${old}; no poll is planned.`)
  if (isStale) return found('unknown', `last read ${distance(polledAt, now)}`, `${read}${old}.`)
  const next = nextPollAt === null ? '' : `; next poll ${planned(nextPollAt, now)}`
  return found('ok', '', `${read}${next}.`)
}

function pollAlert(alerts: readonly JudgedAlert[]): JudgedAlert | undefined {
  return alerts.find(({ field }) => field === POLL_FIELD)
}

/** Polls may fail while the reading before them is fresh: what lasts has an alert. */
function failingLevel(isLate: boolean, alert: JudgedAlert | undefined): VerdictLevel {
  if (alert?.isHandled) return 'handled'
  return alert?.level ?? (isLate ? 'warning' : 'ok')
}

function isOld({ account: { polledAt }, freshAt, freshnessMs }: JudgeFacts, now: number): boolean {
  return polledAt !== null && now - Math.max(polledAt, freshAt ?? 0) > freshnessMs
}

/** Reports that are so much younger than others were not read together with them. */
const TOGETHER_MS = 60_000

/** Moment at which the limits were read; where its reports were read at different times, each with its own. */
function readText(polledAt: number | null, readAt: JudgeFacts['readAt'], now: number): string {
  if (polledAt === null) return 'Limits have not been read yet'
  const ages = (readAt ?? []).map(({ at }) => at)
  if (ages.length === 0 || Math.max(...ages) - Math.min(...ages) <= TOGETHER_MS)
    return `Limits were read ${distance(polledAt, now)}`
  const each = (readAt ?? []).map(({ words, at }, n) => `${words} ${n === 0 ? 'were read ' : ''}${distance(at, now)}`)
  return capitalized(each.join(', '))
}

/** Open alerts. With another trouble, a line "no alerts" is no comfort: it is left out. */
function openAlerts(alerts: readonly JudgedAlert[], isWell: boolean): AccountFinding[] {
  const counts = countsOf(alerts)
  const { critical, warning, handled } = counts
  const found = (level: VerdictLevel, says: string): AccountFinding[] => [{ about: 'alerts', level, brief: '', says }]
  if (alerts.length === 0) return isWell ? found('ok', 'No alert is open.') : []
  if (critical + warning === 0) return found('handled', `${countOf(handled, 'open alert')}, acknowledged or silenced.`)
  const level = critical > 0 ? 'critical' : 'warning'
  const worst = alerts.find((alert) => !alert.isHandled && alert.level === level)?.title
  const which = worst === undefined ? '' : `; worst: ${worst}`
  return found(level, `Open alerts: ${alertCountsText(counts)}${which}.`)
}

/** `3 min ago`, `in 4 h`; what has just happened is `just now`. */
function distance(at: number | null | undefined, now: number): string {
  if (at == null) return 'at an unknown time'
  return at <= now && now - at < 500 ? 'just now' : formatDistance(at - now)
}

/** The moment of planned work. */
function planned(at: number | null, now: number): string {
  if (at === null) return 'not planned'
  return at <= now ? 'due now' : formatDistance(at - now)
}

/** Text from outside for the end of a sentence: it often brings a full stop. */
function quoted(text: string, most = 300): string {
  return asHubSpot(cleanText(text, most).replace(/[.\s]+$/, ''))
}

function sentence(text: string): string {
  return `${capitalized(quoted(text))}.`
}
