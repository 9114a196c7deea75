import type { Account } from '../../../accounts/account.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { formatCount } from '../../../text/format-number.ts'
import { formatSpan } from '../../../text/format-span.ts'
import { type Html, html } from '../../../text/html.ts'
import { planRefresh, type RefreshSettings } from '../../../tokens/plan-refresh.ts'
import { driftText, type PlannedAccount } from '../../../views/account-view.ts'
import { when } from '../parts/when.ts'

/** The life of the access token there is: never the token. */
export function tokensPart(account: PlannedAccount, settings: RefreshSettings, now: number): Html {
  const { token, refreshFailure, state } = account
  const hasToken = token.obtainedAt !== null && token.expiresAt !== null
  const rows: [string, Html | undefined][] = [
    ['Token obtained', hasToken ? when(token.obtainedAt, now) : html`with its first refresh`],
    ['Token expires', state === 'uninstalled' || !hasToken ? undefined : when(token.expiresAt, now)],
    ['Life', lifeText(token)],
    ['Next refresh', account.nextRefreshAt === null ? undefined : nextRefresh(account, settings, now)],
    ["Provider's clock", token.driftMs === null ? undefined : html`${driftText(token.driftMs)}`],
    ['Failed refreshes', refreshFailure === null ? undefined : failures(refreshFailure, now)],
    ['Token last served', served(account, now)],
  ]
  const shown = rows.filter(([, value]) => value !== undefined)
  return html`<section id="tokens"><h2>Tokens</h2>
<div class="card">
${lifeBar(account, settings, now)}
<dl class="facts">${shown.map(([name, value]) => html`<div${name === 'Next refresh' ? html` class="across"` : undefined}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
</div></section>`
}

function lifeText({ obtainedAt, expiresAt }: Account['token']): Html | undefined {
  return obtainedAt === null || expiresAt === null ? undefined : html`${formatSpan(expiresAt - obtainedAt)}`
}

/** When, and why then. */
function nextRefresh(account: PlannedAccount, settings: RefreshSettings, now: number): Html {
  const { nextRefreshAt, token, refreshFailure, parkedUntil, hubId } = account
  const at = when(nextRefreshAt, now)
  if (refreshFailure !== null) return html`${at}: it is tried again after a failure`
  if (parkedUntil !== null && parkedUntil > now) return html`${at}: when the provider lets us`
  if (token.obtainedAt === null || token.expiresAt === null) return html`${at}: it has no token yet`
  const window = `between ${share(settings.refreshFrom)} and ${share(settings.refreshBy)} of its life`
  const { dueAt } = planRefresh(hubId, { obtainedAt: token.obtainedAt, expiresAt: token.expiresAt }, settings)
  const turn = share((dueAt - token.obtainedAt) / (token.expiresAt - token.obtainedAt))
  return html`${at}: a token is refreshed ${window}, this account's at ${turn}, so that not all come at once`
}

function share(part: number): string {
  return `${Math.round(part * 100)} %`
}

function failures({ count, reason, at, since }: NonNullable<Account['refreshFailure']>, now: number): Html {
  return html`${formatCount(count)} in a row, the first ${when(since, now)}, the last ${when(at, now)}: ${cleanText(reason, 300)}`
}

function served({ tokenServedAt, tokenServedTo }: Account, now: number): Html | undefined {
  if (tokenServedAt === null) return undefined
  return html`${when(tokenServedAt, now)}, to ${cleanText(tokenServedTo ?? '', 60)}`
}

/** From obtained to expired, with the time in which it is refreshed, the next turn and now. */
function lifeBar({ hubId, token, state, nextRefreshAt }: PlannedAccount, settings: RefreshSettings, now: number) {
  const { obtainedAt, expiresAt } = token
  if (obtainedAt === null || expiresAt === null || expiresAt <= obtainedAt || state === 'uninstalled') return undefined
  const place = (at: number) =>
    `${(Math.min(1, Math.max(0, (at - obtainedAt) / (expiresAt - obtainedAt))) * 100).toFixed(1)}%`
  const { lateAt } = planRefresh(hubId, { obtainedAt, expiresAt }, settings)
  const isOver = now >= expiresAt
  const says = isOver
    ? 'The access token has expired.'
    : `The access token has lived ${place(now).replace('%', ' %')} of its life.`
  const late = now > lateAt ? 'late' : ''
  return html`<svg class="life ${late}" height="26" role="img" aria-label="${says}">
<rect class="all" y="8" width="100%" height="10" rx="5"/>
<rect class="window" x="${share(settings.refreshFrom).replace(' ', '')}" y="8" width="${share(settings.refreshBy - settings.refreshFrom).replace(' ', '')}" height="10"/>
<rect class="lived" y="8" width="${place(now)}" height="10" rx="5"/>
${nextRefreshAt === null ? undefined : html`<circle class="turn" cx="${place(nextRefreshAt)}" cy="13" r="5"/>`}
<line class="now" x1="${place(now)}" x2="${place(now)}" y1="2" y2="24"/>
</svg>
<ul class="legend"><li><svg aria-hidden="true"><path class="lived-line" d="M0 6h22"/></svg>lived so far</li><li><svg aria-hidden="true"><path class="window-line" d="M0 6h22"/></svg>when it may be refreshed</li>${nextRefreshAt === null ? undefined : html`<li><svg aria-hidden="true"><circle class="turn" cx="11" cy="6" r="5"/></svg>next refresh</li>`}</ul>`
}
