import { subjectOf } from '../../alerts/open-alerts.ts'
import { type Html, html } from '../../text/html.ts'
import type { TimedAlert } from '../../views/fleet-status.ts'
import { when } from '../when.ts'
import { accountLink, levelBadge } from './badges.ts'
import { fullness } from './bar.ts'
import { table } from './table.ts'

export function alertTable(
  alerts: readonly TimedAlert[],
  now: number,
  account: 'with account' | 'of one account',
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
    ],
    alerts.map((alert) => [
      levelBadge(alert.level),
      ...(withAccount ? [whoseOf(alert)] : []),
      subjectOf(alert),
      fullnessOf(alert),
      html`<span class="name">${alert.rule}</span>`,
      when(Date.parse(alert.since), now),
    ]),
  )
}

function whoseOf({ hubId, hubDomain = '' }: TimedAlert): Html {
  return hubId === null ? html`the whole fleet` : accountLink({ hubId, hubDomain })
}

function fullnessOf({ usage, limit, percent, level }: TimedAlert): Html {
  if (usage === undefined) return html`<span class="soft">–</span>`
  return fullness({ usage, limit: limit ?? null, percent: percent ?? null }, level)
}
