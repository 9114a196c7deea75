import { subjectOf } from '../../../alerts/open-alerts.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { type Html, html } from '../../../text/html.ts'
import type { TimedAlert } from '../../../views/fleet-status.ts'
import { accountLink, levelBadge } from './badges.ts'
import { fullness } from './bar.ts'
import { table } from './table.ts'
import { when } from './when.ts'

/** Where an alert is acknowledged; undefined for who may not. */
export type AcknowledgePath = (alert: TimedAlert) => string | undefined

interface AlertTableMore {
  acknowledge?: AcknowledgePath
  /** By the alerts' fields. */
  why?: ReadonlyMap<string, string>
}

/**
 * What keeps alerts from being told is shown where something does, or where they can be acknowledged. With `acknowledge`
 * the rule stands beside what it is about, for room.
 */
export function alertTable(
  alerts: readonly TimedAlert[],
  now: number,
  account: 'with account' | 'of one account',
  { acknowledge, why }: AlertTableMore = {},
): Html {
  const withAccount = account === 'with account'
  const anySilenced = alerts.some(({ silencedBy }) => silencedBy !== undefined)
  const withAcknowledged = acknowledge !== undefined || alerts.some(({ acknowledged }) => acknowledged !== undefined)
  return table(
    'Open alerts',
    [
      { title: 'Level' },
      ...(withAccount ? [{ title: 'Account' }] : []),
      { title: 'What' },
      { title: 'How full' },
      ...(acknowledge === undefined ? [{ title: 'Rule' }] : []),
      { title: 'Since' },
      ...(anySilenced ? [{ title: 'Silenced' }] : []),
      ...(withAcknowledged ? [{ title: 'Acknowledged' }] : []),
    ],
    alerts.map((alert) => [
      levelBadge(alert.level),
      ...(withAccount ? [whoseOf(alert)] : []),
      whatOf(alert, { rule: acknowledge && alert.rule, why: why?.get(alert.field) }),
      fullnessOf(alert),
      ...(acknowledge === undefined ? [html`<span class="name">${alert.rule}</span>`] : []),
      when(Date.parse(alert.since), now),
      ...(anySilenced ? [silenceOf(alert)] : []),
      ...(withAcknowledged ? [whoKnows(alert, acknowledge, now)] : []),
    ]),
  )
}

function whatOf(alert: TimedAlert, { rule, why }: { rule: string | undefined; why: string | undefined }): Html {
  const beside = rule === undefined ? undefined : html` <span class="soft">${rule}</span>`
  return html`${subjectOf(alert)}${beside}${why === undefined ? undefined : html`<br><span class="soft">${why}</span>`}`
}

function silenceOf({ silencedBy }: TimedAlert): Html {
  if (silencedBy === undefined) return NONE
  return html`<a href="/alerts#${silencedBy}">${silencedBy}</a>`
}

function whoKnows(alert: TimedAlert, acknowledge: AcknowledgePath | undefined, now: number): Html {
  const { acknowledged } = alert
  if (acknowledged === undefined) {
    const path = acknowledge?.(alert)
    return path === undefined ? NONE : html`<a href="${path}">Acknowledge</a>`
  }
  const { by, comment, until } = acknowledged
  const why = comment === undefined ? undefined : html` <span class="soft">${cleanText(comment, 200)}</span>`
  return html`${cleanText(by)}, ends ${when(Date.parse(until), now)}${why}`
}

const NONE = html`<span class="soft">–</span>`

function whoseOf({ hubId, hubDomain = '' }: TimedAlert): Html {
  return hubId === null ? html`the whole fleet` : accountLink({ hubId, hubDomain })
}

function fullnessOf({ usage, limit, percent, level }: TimedAlert): Html {
  if (usage === undefined) return NONE
  return fullness({ usage, limit: limit ?? null, percent: percent ?? null }, level)
}
