import { subjectOf } from '../../alerts/open-alerts.ts'
import { cleanText } from '../../text/clean-text.ts'
import { type Html, html } from '../../text/html.ts'
import type { TimedAlert } from '../../views/fleet-status.ts'
import { when } from '../when.ts'
import { accountLink, levelBadge } from './badges.ts'
import { fullness } from './bar.ts'
import { table } from './table.ts'

/** Where an alert is acknowledged. */
export type AcknowledgePath = (alert: TimedAlert) => string

interface AlertTableMore {
  acknowledge?: AcknowledgePath
  /** By the alerts' fields. */
  why?: ReadonlyMap<string, string>
}

/** What keeps alerts from being told is shown where something does, or where they can be acknowledged. */
export function alertTable(
  alerts: readonly TimedAlert[],
  now: number,
  account: 'with account' | 'of one account',
  { acknowledge, why }: AlertTableMore = {},
): Html {
  const withAccount = account === 'with account'
  const withMarks = acknowledge !== undefined || alerts.some(isMarked)
  return table(
    'Open alerts',
    [
      { title: 'Level' },
      ...(withAccount ? [{ title: 'Account' }] : []),
      { title: 'What' },
      { title: 'How full' },
      { title: 'Rule' },
      { title: 'Since' },
      ...(withMarks ? [{ title: 'Silenced' }, { title: 'Acknowledged' }] : []),
    ],
    alerts.map((alert) => [
      levelBadge(alert.level),
      ...(withAccount ? [whoseOf(alert)] : []),
      whatOf(alert, why?.get(alert.field)),
      fullnessOf(alert),
      html`<span class="name">${alert.rule}</span>`,
      when(Date.parse(alert.since), now),
      ...(withMarks ? [silenceOf(alert), whoKnows(alert, acknowledge, now)] : []),
    ]),
  )
}

function whatOf(alert: TimedAlert, why: string | undefined): Html {
  return html`${subjectOf(alert)}${why === undefined ? undefined : html`<br><span class="soft">${why}</span>`}`
}

function isMarked({ silencedBy, acknowledged }: TimedAlert): boolean {
  return silencedBy !== undefined || acknowledged !== undefined
}

function silenceOf({ silencedBy }: TimedAlert): Html {
  if (silencedBy === undefined) return NONE
  return html`<a href="/alerts#${silencedBy}">${silencedBy}</a>`
}

function whoKnows(alert: TimedAlert, acknowledge: AcknowledgePath | undefined, now: number): Html {
  const { acknowledged } = alert
  if (acknowledged === undefined)
    return acknowledge === undefined ? NONE : html`<a href="${acknowledge(alert)}">Acknowledge</a>`
  const { by, comment, until } = acknowledged
  const why = comment === undefined ? undefined : html` <span class="soft">${cleanText(comment, 200)}</span>`
  return html`${cleanText(by)}, until ${when(Date.parse(until), now)}${why}`
}

const NONE = html`<span class="soft">–</span>`

function whoseOf({ hubId, hubDomain = '' }: TimedAlert): Html {
  return hubId === null ? html`the whole fleet` : accountLink({ hubId, hubDomain })
}

function fullnessOf({ usage, limit, percent, level }: TimedAlert): Html {
  if (usage === undefined) return NONE
  return fullness({ usage, limit: limit ?? null, percent: percent ?? null }, level)
}
