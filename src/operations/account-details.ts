import { seriesName } from '../alerts/series-name.ts'
import { limitCells, momentCell } from '../text/cells.ts'
import { named, number, prose, state, whole } from '../text/columns.ts'
import { formatCount, formatDaysLeft } from '../text/format-number.ts'
import type { Fact, Shown } from '../text/shown.ts'
import { noForecastText } from '../views/account-view.ts'
import { needsReconnect, STATE_NAMES } from '../views/judge-account.ts'
import { bucketText } from '../views/poll-texts.ts'
import type { AccountDetailsShape } from '../views/shapes/account.ts'

/** All that people are shown of one account. */
export function accountParts(account: AccountDetailsShape): Shown[] {
  return [{ facts: factsOf(account) }, '', storyTable(account), ...seriesTable(account)]
}

function factsOf(account: AccountDetailsShape): Fact[] {
  const { verdict, scopes } = account
  return [
    ['account', `${account.hubId} ${account.hubDomain}`],
    ['state', STATE_NAMES[account.state]],
    ['verdict', verdict.level],
    ...verdict.findings.map(({ about, says }) => [about, says] as const),
    ['reconnect', needsReconnect(account) ? `plimsoll accounts reconnect-link ${account.hubId} prints the link` : ''],
    ['installed by', account.user ?? ''],
    ['contact', account.contact ?? ''],
    ['connected', momentCell(account.connectedAt)],
    ['token obtained', momentCell(account.token.obtainedAt)],
    ['token expires', momentCell(account.token.expiresAt)],
    ['next refresh', momentCell(account.token.nextRefreshAt)],
    ['token served', `${momentCell(account.tokenServedAt)} ${account.tokenServedTo ?? ''}`],
    ['limits read', momentCell(account.polledAt)],
    ['next poll', momentCell(account.nextPollAt)],
    ['because', account.nextPollBecause ?? ''],
    ['API calls', bucketText(account) ?? ''],
    ['scopes', scopes.join(' ')],
    ...account.notified.map(({ level, about, receivers }): Fact => {
      return [`${level} to`, `${receivers.join(', ') || 'no receiver'} (${about.join(', ')})`]
    }),
  ]
}

function storyTable({ story }: AccountDetailsShape): Shown {
  return {
    columns: [whole('WHEN'), named('WHAT'), prose('DETAILS')],
    rows: story.map(({ at, event, detail }) => [momentCell(at), event, detail ?? '']),
  }
}

function seriesTable({ series, alerts }: AccountDetailsShape): Shown[] {
  if (series.length === 0) return []
  const columns = [named('SERIES'), number('USAGE'), number('LIMIT'), number('%'), number('DAYS LEFT'), state('ALERT')]
  const rows = series.map((one) => [
    seriesName(one),
    formatCount(one.usage),
    ...limitCells(one),
    one.daysLeft === null ? '' : formatDaysLeft(one.daysLeft, one.forecast),
    alerts.find((alert) => alert.field === one.id)?.level ?? '',
  ])
  return ['', { columns, rows }, noForecastText(series) ?? '']
}
