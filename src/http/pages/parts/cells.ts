import type { AlertLevel } from '../../../alerts/alert.ts'
import type { AccountState } from '../../../redis/keys.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { formatCount, formatDistance, formatPercent } from '../../../text/format-number.ts'
import { formatSecond, iso } from '../../../text/format-time.ts'
import { Html, html } from '../../../text/html.ts'
import { accountText } from '../../../views/alert-texts.ts'
import { STATE_NAMES } from '../../../views/judge-account.ts'
import { OF_CONFIG } from '../../access/admin-tokens.ts'

/** The admin token of the config has no name of its own. */
export function personText(name: string): string {
  return name === OF_CONFIG ? 'admin token' : cleanText(name)
}

/** In a cell that has nothing to show. */
export const NONE = html`<span class="soft none">–</span>`

/** `3 min ago`, with the exact time on pointing at it. */
export function when(moment: number | string | null, now: number): Html {
  const at = typeof moment === 'string' ? Date.parse(moment) : moment
  const exact = iso(at)
  if (at === null || exact === null) return new Html('<span class="soft">never</span>')
  return html`<time datetime="${exact}" title="${formatSecond(at)}">${formatDistance(at - now)}</time>`
}

/** How long ago limits were read, marked where that is too long. */
export function readAge(at: number | string, freshnessMs: number, now: number): Html {
  return now - new Date(at).getTime() > freshnessMs
    ? html`<span class="is-warning">${when(at, now)}</span>`
    : when(at, now)
}

/** A word in a color: `good`, `warning`, `critical`, or `off` for all others. */
export function badge(look: string, text: string): Html {
  return html`<span class="badge ${look}">${text}</span>`
}

export function levelBadge(level: AlertLevel): Html {
  return badge(level, level)
}

const STATE_LOOK: Record<AccountState, string> = {
  active: 'good',
  failing: 'warning',
  parked: 'warning',
  reauthorize: 'critical',
  uninstalling: 'off',
  uninstalled: 'off',
}

/** No state is a good one where the account has other trouble. */
export function stateBadge(state: AccountState, isWell: boolean): Html {
  const look = STATE_LOOK[state]
  return badge(look === 'good' && !isWell ? 'off' : look, STATE_NAMES[state])
}

/** For the head of a page. */
export function accountTitle({ hubId, hubDomain }: { hubId: number; hubDomain: string }): string {
  return cleanText(hubDomain, 120) || `Account ${hubId}`
}

/** The same in a list that has a line for each: never broken, and whole on pointing at it. */
export function nameLink({ hubId, hubDomain = '' }: Parameters<typeof accountText>[0]): Html {
  if (hubId === null) return html`<b class="name">All accounts</b>`
  const name = accountText({ hubId, hubDomain })
  return html`<a class="name" href="/accounts/${hubId}" title="${name} (${hubId})">${name}</a>`
}

/** An account on the way to its page: its domain, and its number beside it. */
export function accountLink({ hubId, hubDomain = '' }: Parameters<typeof accountText>[0]): Html {
  if (hubId === null) return html`all accounts`
  const link = html`<a href="/accounts/${hubId}">${accountText({ hubId, hubDomain })}</a>`
  return cleanText(hubDomain, 80) === '' ? link : html`${link} <span class="soft">${hubId}</span>`
}

/** A bar as long as the used share, and the numbers beside it. */
export function fullness(
  { usage, limit, percent }: { usage: number; limit: number | null; percent: number | null },
  level?: AlertLevel,
): Html {
  if (limit === null || percent === null) return html`${formatCount(usage)}`
  const long = Math.min(100, Math.max(0, percent)).toFixed(1)
  return html`<span class="fullness"><svg class="bar ${level ?? ''}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="6"/><rect class="fill" width="${long}" height="6"/></svg>
<span class="whole">${formatPercent(percent)}</span> <span class="soft whole">${formatCount(usage)} of ${formatCount(limit)}</span></span>`
}
