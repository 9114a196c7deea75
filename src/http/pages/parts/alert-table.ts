import { subjectOf } from '../../../alerts/open-alerts.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { type Html, html } from '../../../text/html.ts'
import type { TimedAlert } from '../../../views/find-alerts.ts'
import { alertPath, matchersFor, newSilencePath } from './alert-links.ts'
import { accountLink, levelBadge } from './badges.ts'
import { fullness } from './bar.ts'
import { table } from './table.ts'
import { when } from './when.ts'

interface AlertTableMore {
  /** Whoever looks may acknowledge and silence. */
  mayWrite?: boolean
  /** Each can be chosen, for the form around the table. */
  choose?: boolean
}

/**
 * Each alert leads to its own page. What keeps alerts from being told is shown where something does; what can be done about
 * one is offered to whoever may.
 */
export function alertTable(
  alerts: readonly TimedAlert[],
  now: number,
  account: 'with account' | 'of one account',
  { mayWrite = false, choose = false }: AlertTableMore = {},
): Html {
  const withAccount = account === 'with account'
  const anySilenced = alerts.some(({ silencedBy }) => silencedBy !== undefined)
  const anyAcknowledged = alerts.some(({ acknowledged }) => acknowledged !== undefined)
  return table(
    'Open alerts',
    [
      ...(choose ? [{ title: 'Choose' }] : []),
      { title: 'Level' },
      ...(withAccount ? [{ title: 'Account' }] : []),
      { title: 'What' },
      { title: 'Usage' },
      { title: 'Since' },
      ...(anySilenced ? [{ title: 'Silenced' }] : []),
      ...(anyAcknowledged ? [{ title: 'Acknowledged' }] : []),
      ...(mayWrite ? [{ title: 'To do' }] : []),
    ],
    alerts.map((alert) => [
      ...(choose ? [choiceOf(alert)] : []),
      levelBadge(alert.level),
      ...(withAccount ? [whoseOf(alert)] : []),
      whatOf(alert),
      fullnessOf(alert),
      when(Date.parse(alert.since), now),
      ...(anySilenced ? [silenceOf(alert)] : []),
      ...(anyAcknowledged ? [whoKnows(alert, now)] : []),
      ...(mayWrite ? [toDo(alert)] : []),
    ]),
  )
}

function choiceOf(alert: TimedAlert): Html {
  const { id, hubId, level } = alert
  return html`<label class="pick"><input type="checkbox" name="alert" value="${hubId ?? 0}/${id}/${level}"><span class="unseen">${subjectOf(alert)}</span></label>`
}

function whatOf(alert: TimedAlert): Html {
  return html`<a href="${alertPath(alert)}">${subjectOf(alert)}</a> <span class="soft">${cleanText(alert.rule)}</span>`
}

function silenceOf({ silencedBy }: TimedAlert): Html {
  if (silencedBy === undefined) return NONE
  return html`<a href="/alerts#${silencedBy}" class="whole">${silencedBy}</a>`
}

export function whoKnows({ acknowledged }: TimedAlert, now: number): Html {
  if (acknowledged === undefined) return NONE
  const { by, comment, until } = acknowledged
  const why = comment === undefined ? undefined : html` <span class="soft">${cleanText(comment, 200)}</span>`
  return html`${cleanText(by)}, ends ${when(Date.parse(until), now)}${why}`
}

function toDo(alert: TimedAlert): Html {
  // Told apart by who can't see which row they are in.
  const which = html`<span class="unseen"> ${subjectOf(alert)} of ${alert.hubId === null ? 'all accounts' : String(alert.hubId)}</span>`
  const acknowledge = html`<a href="${alertPath(alert)}#acknowledge">Acknowledge${which}</a>`
  const silence = html`<a href="${newSilencePath(matchersFor(alert))}">Silence${which}</a>`
  return html`<span class="actions">${alert.acknowledged === undefined ? acknowledge : undefined}${alert.silencedBy === undefined ? silence : undefined}</span>`
}

const NONE = html`<span class="soft none">–</span>`

export function whoseOf({ hubId, hubDomain = '' }: TimedAlert): Html {
  return hubId === null ? html`all accounts` : accountLink({ hubId, hubDomain })
}

export function fullnessOf({ usage, limit, percent, level }: TimedAlert): Html {
  if (usage === undefined) return NONE
  return fullness({ usage, limit: limit ?? null, percent: percent ?? null }, level)
}
