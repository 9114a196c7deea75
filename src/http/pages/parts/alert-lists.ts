import { alertTitle } from '../../../alerts/alert-title.ts'
import type { OpenAlert } from '../../../alerts/open-alerts.ts'
import { wantsReconnect } from '../../../delivery/describe/mail-links.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { accountText, alertCountsText, worstText } from '../../../views/alert-texts.ts'
import type { AccountAlertsShape } from '../../../views/shapes/alert.ts'
import { worstAlert } from '../../../views/silenced.ts'
import { alertPath, matchersFor, newSilencePath } from './alert-links.ts'
import { fullness, levelBadge, NONE, nameLink, personText, when } from './cells.ts'
import { htmlTable } from './tables.ts'

/** For readers who may change something. */
interface AlertListMore {
  mayWrite: boolean
  /** The signed link of an account, where that must be reconnected. */
  reconnect: (hubId: number) => string
}

/** Open alerts, a line for each account, the one with the worst alert first; a line opens to its alerts. */
export function accountAlerts(accounts: readonly AccountAlertsShape[], now: number, more: AlertListMore): Html {
  return html`<ul class="lines by-account">
${accounts.filter(({ alerts }) => alerts.length > 0).map((account) => lineOf(account, now, more))}</ul>`
}

function lineOf(account: AccountAlertsShape, now: number, { mayWrite, reconnect }: AlertListMore): Html {
  const { hubId, alerts } = account
  const worst = worstAlert(alerts) as OpenAlert
  const name = accountText(account)
  const more = account.critical + account.warning + account.handled - alerts.length
  const link =
    mayWrite && hubId !== null && alerts.some(wantsReconnect) ? copiedLink(hubId, reconnect(hubId), name) : undefined
  return html`<li id="account-${hubId ?? 0}" class="${account.critical + account.warning === 0 ? 'handled' : worst.level}">
${mayWrite ? html`<label><input type="checkbox" name="account" value="${hubId ?? 0}"><span class="visually-hidden">All alerts of ${name}</span></label>${alerts.map((alert) => html`<input type="hidden" name="shown" value="${asSeen(alert)}">`)}` : undefined}
${nameLink(account)}
<details><summary><span>${alertCountsText({ ...account, handled: 0 }) || countOf(account.handled, 'alert')}</span> <span class="soft" title="${worstText(worst)}">${worstText(worst)}${quietText(alerts, more)}</span> ${when(worst.since, now)}</summary>
${alertTable(alerts, now, { mayWrite, choose: mayWrite })}
<p class="row">${more > 0 ? html`<a href="${hubId === null ? '/alerts' : `/accounts/${hubId}#alerts`}">${countOf(more, 'more alert')}</a>` : undefined}${mayWrite && hubId !== null ? html`<a href="${newSilencePath([{ name: 'account', value: String(hubId) }])}">Silence all of ${name}</a>` : undefined}${link}</p>
</details></li>
`
}

function copiedLink(hubId: number, url: string, name: string): Html {
  const id = `reconnect-${hubId}`
  return html`<span class="row"><a id="${id}" href="${url}">Reconnect link<span class="visually-hidden"> of ${name}</span></a><button type="button" class="small" data-copy="${id}">Copy<span class="visually-hidden"> reconnect link of ${name}</span></button></span>`
}

/** An alert as the reader of a page sees it: its account, its id, its level. */
function asSeen({ hubId, id, level }: OpenAlert): string {
  return `${hubId ?? 0}/${id}/${level}`
}

/** Operators who acknowledged the alerts, and the number of silenced ones. */
function quietText(alerts: readonly OpenAlert[], more: number): string {
  const all = alerts.length + more
  const known = alerts.flatMap(({ acknowledged }) => (acknowledged === undefined ? [] : [personText(acknowledged.by)]))
  const silenced = alerts.filter(({ silencedBy }) => silencedBy !== undefined).length
  const part = (count: number, what: string) =>
    count === 0 ? '' : `; ${count === all ? '' : `${formatCount(count)} `}${what}`
  const by = [...new Set(known)].join(', ')
  return `${part(known.length, `acknowledged by ${by}`)}${part(silenced, 'silenced')}`
}

/**
 * The alerts of one account; each leads to its own page. The reason why an alert is not sent is shown where there is one; its
 * actions are offered to readers who may take them.
 */
export function alertTable(
  alerts: readonly OpenAlert[],
  now: number,
  { mayWrite, choose = false }: { mayWrite: boolean; choose?: boolean },
): Html {
  const anySilenced = alerts.some(({ silencedBy }) => silencedBy !== undefined)
  const anyAcknowledged = alerts.some(({ acknowledged }) => acknowledged !== undefined)
  return htmlTable(
    'Open alerts',
    [
      choose && 'Choose',
      'Level',
      'What',
      'Usage',
      'Since',
      anySilenced && 'Silenced',
      anyAcknowledged && 'Acknowledged',
      mayWrite && 'To do',
    ],
    alerts.map((alert) => [
      choose && choiceOf(alert),
      levelBadge(alert.level),
      html`<a href="${alertPath(alert)}">${alertTitle(alert)}</a> <span class="soft">${cleanText(alert.rule)}</span>`,
      alertFullness(alert),
      when(alert.since, now),
      anySilenced && (alert.silencedBy === undefined ? NONE : silenceLink(alert.silencedBy)),
      anyAcknowledged && acknowledgedText(alert, now),
      mayWrite && alertActions(alert),
    ]),
  )
}

function choiceOf(alert: OpenAlert): Html {
  return html`<label><input type="checkbox" name="alert" value="${asSeen(alert)}"><span class="visually-hidden">${alertTitle(alert)}</span></label>`
}

function alertFullness({ usage, limit, percent, level }: OpenAlert): Html {
  if (usage === undefined) return NONE
  return fullness({ usage, limit: limit ?? null, percent: percent ?? null }, level)
}

const silenceLink = (id: string) => html`<a href="/silences" class="whole">${id}</a>`

export function acknowledgedText({ acknowledged }: OpenAlert, now: number): Html {
  if (acknowledged === undefined) return NONE
  const { by, comment, until } = acknowledged
  const why = comment === undefined ? undefined : html` <span class="soft">${cleanText(comment, 200)}</span>`
  return html`${personText(by)}, ends ${when(until, now)}${why}`
}

/** For a reader who may; the hidden text tells one alert's links from another's where the row can't be seen. */
export function alertActions(alert: OpenAlert): Html {
  const which = html`<span class="visually-hidden"> ${alertTitle(alert)} of ${alert.hubId === null ? 'all accounts' : String(alert.hubId)}</span>`
  const acknowledge = html`<a href="${alertPath(alert)}#acknowledge">Acknowledge${which}</a>`
  const silence = html`<a href="${newSilencePath(matchersFor(alert))}">Silence${which}</a>`
  return html`<span class="row">${alert.acknowledged === undefined ? acknowledge : undefined}${alert.silencedBy === undefined ? silence : undefined}</span>`
}
