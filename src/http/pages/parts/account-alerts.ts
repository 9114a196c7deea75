import { subjectOf } from '../../../alerts/open-alerts.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount, formatDaysLeft, formatPercent } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { AccountAlertsShape, OpenAlertShape } from '../../../views/shapes/alert.ts'
import { newSilencePath } from './alert-links.ts'
import { alertTable } from './alert-table.ts'
import { when } from './when.ts'

export interface AccountAlertsMore {
  mayWrite: boolean
  /** Accounts and alerts can be chosen, for the form around them. */
  choose?: boolean
}

/** Open alerts, a line for each account, the one with the worst alert first; a line opens to its alerts. */
export function accountAlerts(accounts: readonly AccountAlertsShape[], now: number, more: AccountAlertsMore): Html {
  return html`<ul class="by-account">
${accounts.filter(({ alerts }) => alerts.length > 0).map((account) => lineOf(account, now, more))}</ul>`
}

function lineOf(account: AccountAlertsShape, now: number, { mayWrite, choose = false }: AccountAlertsMore): Html {
  const { hubId, alerts } = account
  const worst = alerts[0] as OpenAlertShape
  const name = accountName(account)
  const of = html`<span class="unseen"> ${name}</span>`
  const more = account.critical + account.warning - alerts.length
  return html`<li id="account-${hubId ?? 0}" class="${worst.level}">
${choose ? html`<label class="pick"><input type="checkbox" name="account" value="${hubId ?? 0}"><span class="unseen">All alerts of ${name}</span></label>${alerts.map(({ id, level }) => html`<input type="hidden" name="shown" value="${hubId ?? 0}/${id}/${level}">`)}` : undefined}
<details><summary><b>${name}</b>: ${countsText(account)}; <span class="soft">worst: ${worstText(worst)}, ${when(Date.parse(worst.since), now)}</span>${quietText(alerts, more)}</summary>
${alertTable(alerts, now, 'of one account', { mayWrite, choose })}
${more > 0 ? html`<p><a href="${hubId === null ? '/alerts' : `/accounts/${hubId}#alerts`}">${countOf(more, 'more alert')}</a></p>` : undefined}
</details>
<span class="actions">${hubId === null ? undefined : html`<a href="/accounts/${hubId}">Open${of}</a>`}${mayWrite && hubId !== null ? html`<a href="${newSilencePath({ account: String(hubId) })}">Silence${of}</a>` : undefined}</span>
</li>
`
}

/** Who knows of them already, and what is silenced. */
function quietText(alerts: readonly OpenAlertShape[], more: number): string {
  const all = alerts.length + more
  const known = alerts.flatMap(({ acknowledged }) => (acknowledged === undefined ? [] : [cleanText(acknowledged.by)]))
  const silenced = alerts.filter(({ silencedBy }) => silencedBy !== undefined).length
  const part = (count: number, what: string) =>
    count === 0 ? '' : `; ${count === all ? '' : `${formatCount(count)} `}${what}`
  const by = [...new Set(known)].join(', ')
  return `${part(known.length, `acknowledged by ${by}`)}${part(silenced, 'silenced')}`
}

/** An account as people call it; alerts that are about no account are about all of them. */
export function accountName({ hubId, hubDomain = '' }: { hubId: number | null; hubDomain?: string }): string {
  if (hubId === null) return 'All accounts'
  return cleanText(hubDomain, 80) || `account ${hubId}`
}

/** `3 critical, 2 warning`. */
function countsText({ critical, warning }: Pick<AccountAlertsShape, 'critical' | 'warning'>): string {
  return [critical > 0 ? `${critical} critical` : '', warning > 0 ? `${warning} warning` : '']
    .filter((text) => text !== '')
    .join(', ')
}

/** `Companies → Contacts: fullest record 100 %, full`. */
export function worstText(alert: OpenAlertShape): string {
  const { percent, daysLeft } = alert
  const full = percent === undefined ? '' : ` ${formatPercent(percent)}`
  const days = daysLeft === undefined ? '' : `, ${formatDaysLeft(daysLeft)}`
  return `${subjectOf(alert)}${full}${days}`
}
