import type { AlertLevel } from '../../../alerts/alert.ts'
import { subjectOf } from '../../../alerts/open-alerts.ts'
import { opensLimits } from '../../../provider/dialects.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount, formatPercent, formatSpan } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { AccountView, PlannedAccount } from '../../../views/account-view.ts'
import { endpointTrouble, type TokenEndpointStatus } from '../../../views/fleet-health.ts'
import { gapsText, leftOutText, watchText } from '../../../views/poll-texts.ts'
import { alertPath } from '../parts/alert-links.ts'
import { stateBadge, when } from '../parts/cells.ts'

/** A part of the verdict: how grave it is, and a sentence. `soft`: neither good nor bad, nothing is known yet. */
interface Finding {
  look: AlertLevel | 'soft' | 'good'
  says: Html
}

/** Makes findings of a look: a tag of templates, as `html` is. */
const finding =
  (look: Finding['look']) =>
  (...template: Parameters<typeof html>): Finding => ({ look, says: html(...template) })
const [critical, warning, soft, good] = [finding('critical'), finding('warning'), finding('soft'), finding('good')]
const GRAVEST_FIRST = ['critical', 'warning', 'soft', 'good'] as const

/** What of all accounts bears on each of them. */
export interface FleetFacts {
  /** Age from which a reading is stale, ms. */
  freshnessMs: number
  endpoint: TokenEndpointStatus | null
}

/** How an account is, from its tokens, its last poll and its alerts: it is called well only where all three are. */
export function verdict(
  view: Pick<AccountView, 'account' | 'alerts' | 'scopes'>,
  fleet: FleetFacts,
  mayWrite: boolean,
  now: number,
): Html {
  const { account, alerts } = view
  const findings = isLeaving(account)
    ? [departure(account, now)]
    : [tokens(account, fleet, mayWrite, now), ...polls(view, fleet, now), ...openAlerts(alerts, account)]
  const look = GRAVEST_FIRST.find((one) => findings.some((finding) => finding.look === one)) ?? 'soft'
  return html`<p class="verdict ${look}">${stateBadge(account.state)} ${findings.map(({ says }, n) => html`${n === 0 ? '' : ' '}${says}`)}</p>`
}

export function isLeaving({ state }: Pick<PlannedAccount, 'state'>): boolean {
  return state === 'uninstalling' || state === 'uninstalled'
}

function departure({ state, uninstall, nextUninstallAt }: PlannedAccount, now: number): Finding {
  const reason = html` Reason: ${cleanText(uninstall?.reason ?? 'unknown', 200)}.`
  if (state === 'uninstalled') {
    return soft`Uninstalled ${when(uninstall?.at ?? null, now)}: its refresh token is deleted. Its record and readings are deleted ${when(uninstall?.purgeAt ?? null, now)}.${reason}`
  }
  const failure = uninstall?.failure ?? null
  if (failure === null)
    return soft`Nothing is refreshed or polled any more; its refresh token is being deleted at the provider.${reason}`
  return warning`Nothing is refreshed or polled any more. Its refresh token could not be deleted yet: ${quoted(failure)}. The next attempt is ${when(nextUninstallAt, now)}.${reason}`
}

function tokens(account: PlannedAccount, { endpoint }: FleetFacts, mayWrite: boolean, now: number): Finding {
  const { state, token, refreshFailure, refusedSince, parkedUntil, nextRefreshAt } = account
  const isOver = token.expiresAt !== null && token.expiresAt <= now
  const expiry =
    token.expiresAt === null
      ? html`There is no access token${state === 'active' ? ' yet' : ''}.`
      : html`Its access token ${isOver ? 'expired' : 'expires'} ${when(token.expiresAt, now)}.`
  const reason = refreshFailure === null ? '' : quoted(refreshFailure.reason)
  const grave = isOver || token.expiresAt === null ? critical : warning
  switch (state) {
    case 'reauthorize':
      if (refreshFailure?.class === 'foreign')
        return critical`Import it with its own token or reconnect it: the token that was imported belongs to another account (${reason}). Nothing is refreshed or polled until then. ${mayWrite ? SEND_LINK : RECONNECT}`
      return critical`Reconnect it: the provider refuses its refresh token${refusedSince === null ? undefined : html` since ${when(refusedSince, now)}`}${reason === '' ? '' : ` (${reason})`}. Nothing is refreshed or polled until then. ${expiry} ${mayWrite ? SEND_LINK : RECONNECT}`
    case 'parked':
      return grave`The provider asked to wait: the next attempt is ${when(parkedUntil, now)}. ${expiry}${reason === '' ? '' : ` ${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`}`
    case 'failing':
      return grave`Refreshing its tokens fails${refreshFailure === null ? undefined : html` since ${when(refreshFailure.since, now)}, ${countOf(refreshFailure.count, 'time')} in a row`}: ${reason}. ${expiry} The next attempt is ${when(nextRefreshAt, now)}.`
    default:
      return activeTokens(account, endpoint, { expiry, isOver }, now)
  }
}

/** For the end of a sentence: the provider's own words often bring a full stop. */
function quoted(reason: string): string {
  return cleanText(reason, 300).replace(/[.\s]+$/, '')
}

/** With its full stop; it may hold strangers' words. */
function sentence(text: string): string {
  const words = quoted(text)
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`
}

const SEND_LINK = html`Send the <a href="#reconnect">reconnect link</a> to an administrator of the account.`
const RECONNECT = html`<a href="/install">The install page</a> connects it again.`
/** A sweep comes every few seconds: what is due for longer is not being done. */
const OVERDUE_MS = 60_000

function activeTokens(
  { token: { obtainedAt, expiresAt }, nextRefreshAt }: PlannedAccount,
  endpoint: FleetFacts['endpoint'],
  { expiry, isOver }: { expiry: Html; isOver: boolean },
  now: number,
): Finding {
  if (obtainedAt === null || expiresAt === null) return soft`${expiry}`
  if (isOver) return critical`${expiry} No daemon has refreshed it.`
  if (endpoint?.breaker === 'open') {
    const since = endpoint.since === null ? undefined : html` since ${when(Date.parse(endpoint.since), now)}`
    return warning`${expiry} The tokens of no account are refreshed${since}: ${endpointTrouble(endpoint)}.`
  }
  if (nextRefreshAt === null) return warning`${expiry} No refresh is planned.`
  if (now - nextRefreshAt > Math.min(OVERDUE_MS, (expiresAt - obtainedAt) / 5))
    return warning`${expiry} Its refresh is overdue since ${when(nextRefreshAt, now)}.`
  return good`${expiry} It is refreshed ${when(nextRefreshAt, now)}.`
}

/** Also what of the limits is not watched. */
function polls(
  { account, scopes }: Pick<AccountView, 'account' | 'scopes'>,
  fleet: FleetFacts,
  now: number,
): Finding[] {
  const { unreadable } = account
  const gaps = [
    ...[gapsText(account), leftOutText(account)].flatMap((text) =>
      text === undefined ? [] : [warning`${sentence(text)}`],
    ),
    ...(unreadable.length === 0
      ? []
      : [
          warning`Stored, and unreadable: ${unreadable.join(', ')}. Its next poll puts it aside and reads all numbers anew.`,
        ]),
  ]
  return account.state === 'reauthorize' ? gaps : [lastPoll(account, scopes, fleet, now), ...gaps]
}

function lastPoll(
  { state, polledAt, pollFailure, pollBlocked, nextPollAt }: PlannedAccount,
  scopes: string[],
  { freshnessMs }: FleetFacts,
  now: number,
): Finding {
  const blocked = watchText({ pollBlocked })
  if (blocked !== undefined || (scopes.length > 0 && !opensLimits(scopes))) {
    const text = blocked ?? "limits can't be read: none of its permissions opens them"
    const since = pollBlocked === null ? undefined : html` It began ${when(pollBlocked.since, now)}.`
    return warning`${sentence(text)}${since} Reconnect it with any <code>crm.objects.*.read</code> permission: <a href="/install">the install page</a>.`
  }
  const read = polledAt === null ? html`Its limits were never read` : html`Its limits were read ${when(polledAt, now)}`
  if (pollFailure !== null) {
    const { count, since, reason } = pollFailure
    return warning`${read}; ${countOf(count, 'poll')} failed since ${when(since, now)}: ${quoted(reason)}.`
  }
  const isStale = polledAt !== null && now - polledAt > freshnessMs
  const stale = isStale ? `, which is older than limits.freshness (${formatSpan(freshnessMs)})` : ''
  if (nextPollAt !== null && now - nextPollAt > OVERDUE_MS)
    return warning`${read}${stale}; the next poll is overdue since ${when(nextPollAt, now)}.`
  if (nextPollAt === null && state === 'active') return warning`${read}${stale}; no poll is planned.`
  if (isStale) return warning`${read}${stale}.`
  return (polledAt === null ? soft : good)`${read}.`
}

function openAlerts(alerts: AccountView['alerts'], { state }: PlannedAccount): Finding[] {
  const [worst] = alerts
  // Where the account has failed, no alert is no comfort.
  if (worst === undefined) return state === 'active' ? [good`No alert is open.`] : []
  const count = (level: string) => alerts.filter((alert) => alert.level === level).length
  const [criticals, warnings] = [count('critical'), count('warning')]
  const parts = [
    ...(criticals === 0 ? [] : [`${formatCount(criticals)} critical`]),
    ...(warnings === 0 ? [] : [countOf(warnings, 'warning')]),
  ]
  const silenced = alerts.every(({ silencedBy }) => silencedBy !== undefined) ? ', all silenced' : ''
  const at = worst.percent === undefined ? '' : ` at ${formatPercent(worst.percent)}`
  return [
    (criticals > 0
      ? critical
      : warning)`Open: ${parts.join(' and ')}${silenced}; the worst: <a href="${alertPath(worst)}">${subjectOf(worst)}</a>${at}.`,
  ]
}
