import { seriesName } from '../alerts/series-name.ts'
import { type Outlook, tenths } from '../limits/forecast/outlook.ts'
import { cleanText } from '../text/clean-text.ts'
import { formatCount, formatDaysRange } from '../text/format-number.ts'
import { accountDetailsJson, driftText, nextPollBecause, readAccountView } from '../views/account-view.ts'
import { gapsText, leftOutText, watchText } from '../views/poll-texts.ts'
import type { AccountArgument, CommonOptions } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { hubIdNamed, noSuchAccount } from './named-account.ts'
import { printFacts } from './say.ts'
import { limitCells, momentCell, named, number, printTable, prose, state, whole } from './table.ts'
import { withStore } from './with-parts.ts'

/** `plimsoll accounts show`: one account's facts, its story, its series. */
export async function show(io: Io, name: AccountArgument, options: CommonOptions): Promise<void> {
  const shown = await withStore(io, options, async (parts) => {
    const hubId = await hubIdNamed(parts, name)
    const view = await readAccountView(parts, hubId)
    if (view === undefined) throw noSuchAccount(hubId)
    return view
  })
  const { account, scopes, alerts, series, story } = shown
  if (options.json === true) return printJson(io, 'accounts show', accountDetailsJson(shown))
  const { refreshFailure, pollFailure } = account
  printFacts(io, [
    ['account', `${account.hubId} ${account.hubDomain}`],
    ['state', account.state],
    ['installed by', account.user ?? ''],
    ['connected', momentCell(account.connectedAt)],
    ['token obtained', momentCell(account.token.obtainedAt)],
    ['token expires', momentCell(account.token.expiresAt)],
    ["provider's clock", account.token.driftMs === null ? '' : driftText(account.token.driftMs)],
    ['next refresh', momentCell(account.nextRefreshAt)],
    ['refresh failing', refreshFailure === null ? '' : `${refreshFailure.reason} (${refreshFailure.count} in a row)`],
    ['token served', `${momentCell(account.tokenServedAt)} ${account.tokenServedTo ?? ''}`],
    ['last poll', momentCell(account.polledAt)],
    ['next poll', momentCell(account.nextPollAt)],
    ['because', nextPollBecause(shown) ?? ''],
    ['limits', cleanText(watchText(account) ?? '', 300)],
    ['reports', gapsText(account) ?? ''],
    ['object types', leftOutText(account) ?? ''],
    ['poll failing', pollFailure === null ? '' : `${pollFailure.reason} (${pollFailure.count} in a row)`],
    ['scopes', scopes.join(' ')],
  ])
  io.out('\n')
  printTable(
    io,
    [whole('WHEN'), named('WHAT'), prose('DETAILS')],
    story.map(({ at, event, detail }) => [momentCell(at), event, detail ?? '']),
  )
  if (series.length === 0) return
  io.out('\n')
  printTable(
    io,
    [named('SERIES'), number('USAGE'), number('LIMIT'), number('%'), number('DAYS LEFT'), state('ALERT')],
    series.map((one) => [
      ...[seriesName(one), formatCount(one.usage), ...limitCells(one)],
      daysLeftCell(one.daysLeft, one.forecast, one.daysRead),
      alerts.find((alert) => alert.field === one.id)?.level ?? '',
    ]),
  )
}

/** `12.4 (9 to 20)`. */
function daysLeftCell(daysLeft: Outlook['daysLeft'], forecast: Outlook['forecast'], daysRead = ''): string {
  if (daysLeft == null) return daysRead
  return tenths(daysLeft).toFixed(1) + (forecast === null ? '' : formatDaysRange(daysLeft, forecast))
}
