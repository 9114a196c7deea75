import { subjectOf } from '../../alerts/open-alerts.ts'
import { cleanText } from '../../text/clean-text.ts'
import { type Html, html } from '../../text/html.ts'
import type { TimedAlert } from '../../views/fleet-status.ts'
import { when } from '../when.ts'
import { accountLink, levelBadge } from './badges.ts'
import { fullness } from './bar.ts'
import { table } from './table.ts'

/** Where an alert is acknowledged; undefined for who may not. */
export type AcknowledgePath = (alert: TimedAlert) => string | undefined

/** With `acknowledge` also what keeps alerts from being told. */
export function alertTable(
  alerts: readonly TimedAlert[],
  now: number,
  account: 'with account' | 'of one account',
  acknowledge?: AcknowledgePath,
): Html {
  const withAccount = account === 'with account'
  return table(
    'Open alerts',
    [
      { title: 'Level' },
      ...(withAccount ? [{ title: 'Account' }] : []),
      { title: 'What' },
      { title: 'How full' },
      { title: 'Rule' },
      { title: 'Since' },
      ...(acknowledge === undefined ? [] : [{ title: 'Silenced' }, { title: 'Acknowledged' }]),
    ],
    alerts.map((alert) => [
      levelBadge(alert.level),
      ...(withAccount ? [whoseOf(alert)] : []),
      subjectOf(alert),
      fullnessOf(alert),
      html`<span class="name">${alert.rule}</span>`,
      when(Date.parse(alert.since), now),
      ...(acknowledge === undefined ? [] : [silenceOf(alert), whoKnows(alert, acknowledge, now)]),
    ]),
  )
}

function silenceOf({ silencedBy }: TimedAlert): Html {
  if (silencedBy === undefined) return html`<span class="soft">–</span>`
  return html`<a href="#${silencedBy}">${silencedBy}</a>`
}

function whoKnows(alert: TimedAlert, acknowledge: AcknowledgePath, now: number): Html {
  const { acknowledged } = alert
  if (acknowledged === undefined) {
    const path = acknowledge(alert)
    return path === undefined ? html`<span class="soft">–</span>` : html`<a href="${path}">Acknowledge</a>`
  }
  const { by, comment, until } = acknowledged
  const why = comment === undefined ? undefined : html` <span class="soft">${cleanText(comment, 200)}</span>`
  return html`${cleanText(by)}, until ${when(Date.parse(until), now)}${why}`
}

function whoseOf({ hubId, hubDomain = '' }: TimedAlert): Html {
  return hubId === null ? html`the whole fleet` : accountLink({ hubId, hubDomain })
}

function fullnessOf({ usage, limit, percent, level }: TimedAlert): Html {
  if (usage === undefined) return html`<span class="soft">–</span>`
  return fullness({ usage, limit: limit ?? null, percent: percent ?? null }, level)
}
