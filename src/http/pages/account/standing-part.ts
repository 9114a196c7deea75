import type { Account } from '../../../accounts/account.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { formatDaysLeft } from '../../../text/days-left.ts'
import { countOf, formatCount, formatPercent } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { AccountView } from '../../../views/account-view.ts'
import { stateBadge } from '../parts/badges.ts'
import { when } from '../parts/when.ts'
import { type AccountSeries, nearestFirst } from './account-series.ts'
import { seriesLink } from './series-link.ts'

/** How an account is in a minute: what its state means, what is open, what is nearest to its limit. */
export function standingPart({ account, alerts }: AccountView, all: AccountSeries): Html {
  return html`${stateOf(account, all.now)}
${verdict(alerts, account)}
${nearest(all)}`
}

/** What the state means, in a sentence or two. */
function stateOf({ state, refreshFailure, parkedUntil, uninstall, pollBlocked }: Account, now: number): Html {
  const reason = html`${cleanText(refreshFailure?.reason ?? '', 300)}`
  switch (state) {
    case 'active':
      if (pollBlocked?.what === 'all')
        return html`<p>${stateBadge(state)} Its tokens are kept fresh, but its limits cannot be watched.</p>`
      return html`<p>${stateBadge(state)} Its tokens are kept fresh and its limits are polled.</p>`
    case 'failing':
      return html`<p>${stateBadge(state)} Refreshing its tokens fails for now and is tried again and again. ${reason}</p>`
    case 'parked':
      return html`<p>${stateBadge(state)} The provider told us to stay away from this account; we try again ${when(parkedUntil, now)}. ${reason}</p>`
    case 'reauthorize':
      if (refreshFailure?.class === 'foreign')
        return html`<p>${stateBadge(state)} The token that was imported for it belongs to another account: nothing is read or refreshed under this name. Import it with its own token, or connect it again: <a href="/install">the install page</a>. ${reason}</p>`
      return html`<p>${stateBadge(state)} The provider no longer accepts its refresh token. Somebody with access to the account must connect it again: <a href="/install">the install page</a>. ${reason}</p>`
    case 'uninstalling':
      return html`<p>${stateBadge(state)} Nothing is refreshed or polled any more; its refresh token is being deleted at the provider. Reason: ${cleanText(uninstall?.reason ?? '', 200)}. ${uninstall?.failure == null ? undefined : html`It could not be deleted yet, and is tried again: ${cleanText(uninstall.failure, 300)}`}</p>`
    case 'uninstalled':
      return html`<p>${stateBadge(state)} Uninstalled ${when(uninstall?.at ?? null, now)}, its refresh token deleted. Record and readings are forgotten ${when(uninstall?.purgeAt ?? null, now)}. Reason: ${cleanText(uninstall?.reason ?? '', 200)}.</p>`
  }
}

function verdict(alerts: AccountView['alerts'], { state, pollBlocked }: Account): Html {
  const count = (level: string) => alerts.filter((alert) => alert.level === level).length
  const [critical, warning] = [count('critical'), count('warning')]
  // Nothing is well with an account that is not looked after, alert or not.
  const isLookedAfter = state === 'active' && pollBlocked?.what !== 'all'
  if (critical + warning === 0) return html`<p class="${isLookedAfter ? 'verdict good' : 'soft'}">No alert is open.</p>`
  const parts = [
    ...(critical === 0 ? [] : [`${formatCount(critical)} critical`]),
    ...(warning === 0 ? [] : [countOf(warning, 'warning')]),
  ]
  const silenced = alerts.every(({ silencedBy }) => silencedBy !== undefined) ? ', all silenced' : ''
  return html`<p class="verdict ${critical > 0 ? 'critical' : 'warning'}">Open: ${parts.join(' and ')}${silenced}. <a href="#alerts">Which, and why</a></p>`
}

function nearest(all: AccountSeries): Html | undefined {
  const [first] = nearestFirst(all.current)
  if (first?.current?.percent == null || first.current.limit === null) return undefined
  const { percent, usage, limit, forecast } = first.current
  const days = forecast === null || forecast.days === 0 ? '' : `, ${formatDaysLeft(forecast.days)}`
  return html`<p>Nearest to its limit: ${seriesLink(all, first)}, ${formatPercent(percent)} (${formatCount(usage)} of ${formatCount(limit)})${days}.</p>`
}
