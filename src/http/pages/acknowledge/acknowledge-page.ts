import { type OpenAlert, subjectOf } from '../../../alerts/open-alerts.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { formatCount, formatPercent } from '../../../text/format-number.ts'
import { formatTime } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import type { TimedAlert } from '../../../views/find-alerts.ts'
import { plainPage } from '../page.ts'
import { levelBadge } from '../parts/badges.ts'
import { when } from '../parts/when.ts'

/** What a link to acknowledge leads to, with its status. */
export interface LinkPage {
  status: number
  page: Html
}

type Acknowledged = NonNullable<TimedAlert['acknowledged']>

/** Before: what it is about, and one button. */
export function acknowledgePage(alert: OpenAlert, address: string, now: number): LinkPage {
  return made(
    200,
    'Acknowledge this alert?',
    html`${facts(alert, now)}
<form method="post" action="${address}" class="sign-in">
<input type="hidden" name="level" value="${alert.level}">
<label>Your name <input name="by" maxlength="100" autocomplete="name"></label>
<label>Comment <input name="comment" maxlength="500" autocomplete="off"></label>
<button>Acknowledge</button>
</form>
<p class="soft">It is then not sent again until it gets worse. Opening this page has changed nothing.</p>`,
  )
}

export function acknowledgedPage(alert: OpenAlert, acknowledged: Acknowledged, now: number): LinkPage {
  return made(
    200,
    'Acknowledged',
    html`${facts(alert, now)}
<p class="verdict good">It is not sent again until ${formatTime(acknowledged.until)}, unless it gets worse. You can close this page.</p>`,
  )
}

export function alreadyPage(alert: OpenAlert, { by, at, until, comment }: Acknowledged, now: number): LinkPage {
  return made(
    200,
    'Already acknowledged',
    html`${facts(alert, now)}
<p>Acknowledged by ${cleanText(by)} ${when(Date.parse(at), now)}${comment === undefined ? undefined : html`: ${cleanText(comment, 500)}`}. It is not sent again until ${formatTime(until)}, unless it gets worse.</p>`,
  )
}

export function notOpenPage(): LinkPage {
  return made(
    404,
    'This alert is not open any more',
    html`<p>It was resolved, so there is nothing to acknowledge. If it opens again, you get a new message.</p>`,
  )
}

export function worsePage(address: string): LinkPage {
  return made(
    409,
    'This alert got worse meanwhile',
    html`<p>It is not acknowledged: it is at a higher level than the one you were shown.</p>
<p><a href="${address}">Check it again</a></p>`,
  )
}

export function refusedLinkPage(why: 'expired' | 'forged'): LinkPage {
  return why === 'expired'
    ? made(
        410,
        'This link has expired',
        html`<p>Nothing was changed. The newest message about the alert has a link that works, and so has the <a href="/alerts">page of open alerts</a>.</p>`,
      )
    : made(
        403,
        'This link is not valid',
        html`<p>Nothing was changed. Part of it may be missing: open it from the message, or acknowledge the alert on the <a href="/alerts">page of open alerts</a>.</p>`,
      )
}

function facts(alert: OpenAlert, now: number): Html {
  return html`<p>${levelBadge(alert.level)} <b>${accountOf(alert)}</b></p>
<p>${subjectOf(alert)}${numbers(alert)}, since ${when(alert.since, now)}. Rule: ${cleanText(alert.rule)}.</p>`
}

function accountOf({ hubId, hubDomain = '' }: OpenAlert): string {
  if (hubId === null) return 'All accounts'
  const domain = cleanText(hubDomain, 80)
  return domain === '' ? `account ${hubId}` : `${domain} (${hubId})`
}

function numbers({ usage, limit, percent }: OpenAlert): string {
  if (usage === undefined) return ''
  if (limit === undefined) return `: ${formatCount(usage)}`
  const share = percent === undefined ? '' : `, ${formatPercent(percent)}`
  return `: ${formatCount(usage)} of ${formatCount(limit)}${share}`
}

function made(status: number, title: string, body: Html): LinkPage {
  return { status, page: plainPage({ title, body, noIndex: true }) }
}
