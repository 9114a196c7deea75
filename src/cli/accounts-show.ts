import type { Command } from 'commander'
import type { AccountSort } from '../accounts/search/account-query.ts'
import { Directory } from '../accounts/search/directory.ts'
import type { AlertKind, AlertLevel } from '../alerts/alert.ts'
import { kindOf } from '../alerts/alert-state.ts'
import { seriesName } from '../alerts/series-name.ts'
import type { Stores } from '../app/stores.ts'
import type { AccountState } from '../redis/keys.ts'
import { ageCell, leftCell, limitCells, momentCell } from '../text/cells.ts'
import { below, named, number, prose, spare, state, whole } from '../text/columns.ts'
import { formatCount, formatDaysLeft, formatPercent } from '../text/format-number.ts'
import { needsReconnect, STATE_NAMES } from '../views/account-verdict.ts'
import {
  accountDetailsJson,
  driftText,
  nextPollBecause,
  type PlannedAccount,
  readAccountView,
} from '../views/account-view.ts'
import { alertCountsText } from '../views/alert-texts.ts'
import {
  type AccountWithLimit,
  listedAccountJson,
  readAccountList,
  WITHOUT_LIMIT,
  withClosestLimit,
} from '../views/list-accounts.ts'
import { bucketText } from '../views/poll-texts.ts'
import type { AccountArgument, CommonOptions } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { printFacts, say } from './say.ts'
import { printTable } from './table.ts'
import { carriersOf, hubIdNamed, noSuchAccount, withStore } from './with-parts.ts'

interface ListOptions extends CommonOptions {
  state?: AccountState
  level?: AlertLevel
  kind?: AlertKind
  tag?: string
  search?: string
  sort: AccountSort
  stale?: boolean
}

/** `plimsoll accounts list`. */
export async function listAccounts(io: Io, options: ListOptions, command: Command): Promise<void> {
  const read = (parts: Stores) => find(parts, options, command)
  if (options.json === true) {
    return printJson(io, 'accounts list', (await withStore(io, options, read)).map(listedAccountJson))
  }
  const found = await withStore(io, options, async (parts) => withClosestLimit(parts, await read(parts)))
  if (found.length === 0) return say(io, noneText(options))
  const now = io.clock.now()
  printTable(
    io,
    [
      ...[whole('HUB ID'), 'DOMAIN', state('STATE'), whole('ALERTS'), whole('NEAREST LIMIT')],
      ...[spare(whole('READ')), spare(whole('TOKEN ENDS')), below('TROUBLE')],
    ],
    found.map(({ account, alerts, trouble, ...limit }) => [
      ...[String(account.hubId), account.hubDomain, stateText(account), alertCountsText(alerts), closestCell(limit)],
      account.polledAt === null ? 'not yet' : ageCell(account.polledAt, now),
      leftCell(account.state === 'uninstalled' ? null : account.token.expiresAt, now),
      trouble,
    ]),
  )
}

/** How full its nearest limit is, and the level of the alert about it: `96 % critical`. */
function closestCell({ closest, level }: Pick<AccountWithLimit, 'closest' | 'level'>): string {
  if (closest === null) return ''
  if (typeof closest === 'string') return WITHOUT_LIMIT[closest]
  const { usage, percent } = closest.series
  return `${percent === null ? formatCount(usage) : formatPercent(percent)} ${level ?? ''}`.trim()
}

async function find(parts: Stores, options: ListOptions, command: Command) {
  const { level, kind, tag, sort } = options
  const { store, keys } = parts
  const { rows } = await readAccountList(
    { ...parts, directory: new Directory(store, keys) },
    {
      ...{ text: options.search ?? '', state: options.state, stale: options.stale === true, sort, alert: level },
      ...{ descending: false, limit: Number.MAX_SAFE_INTEGER - 1 },
      tag: tag === undefined ? undefined : { name: tag, accounts: carriersOf(parts.config, tag, command) },
    },
  )
  if (kind === undefined) return rows
  return rows.filter(({ open }) =>
    open.some(
      ({ hubId, field, state }) => kindOf(hubId, field) === kind && (level === undefined || state.level === level),
    ),
  )
}

function stateText({ state, unreadable }: PlannedAccount): string {
  return unreadable.length === 0 ? STATE_NAMES[state] : `${STATE_NAMES[state]}, unreadable`
}

function noneText({ state, level, kind, tag, search, stale }: ListOptions): string {
  if ([level, kind, tag, search].some((given) => given !== undefined)) return 'no account matches'
  if (stale === true) return 'no account is without a fresh reading'
  if (state !== undefined) return `no account is in the state "${STATE_NAMES[state]}"`
  return 'no account is connected yet: send customers to /install under publicUrl, or plimsoll accounts connect or import'
}

/** `plimsoll accounts show`: one account's facts, its story, its series. */
export async function show(io: Io, name: AccountArgument, options: CommonOptions): Promise<void> {
  const shown = await withStore(io, options, async (parts) => {
    const hubId = await hubIdNamed(parts, name)
    const view = await readAccountView(parts, hubId)
    if (view === undefined) throw noSuchAccount(hubId)
    return view
  })
  const { account, verdict, scopes, alerts, series, story } = shown
  if (options.json === true) return printJson(io, 'accounts show', accountDetailsJson(shown))
  printFacts(io, [
    ['account', `${account.hubId} ${account.hubDomain}`],
    ['state', stateText(account)],
    ['verdict', verdict.level],
    ...verdict.findings.map(({ about, says }) => [about, says] as const),
    ['reconnect', needsReconnect(account) ? `plimsoll accounts reconnect-link ${account.hubId} prints the link` : ''],
    ['installed by', account.user ?? ''],
    ['contact', account.contact ?? ''],
    ['connected', momentCell(account.connectedAt)],
    ['token obtained', momentCell(account.token.obtainedAt)],
    ['token expires', momentCell(account.token.expiresAt)],
    ["provider's clock", account.token.driftMs === null ? '' : driftText(account.token.driftMs)],
    ['next refresh', momentCell(account.nextRefreshAt)],
    ['token served', `${momentCell(account.tokenServedAt)} ${account.tokenServedTo ?? ''}`],
    ['last poll', momentCell(account.polledAt)],
    ['next poll', momentCell(account.nextPollAt)],
    ['because', nextPollBecause(shown) ?? ''],
    ['API calls', bucketText(account) ?? ''],
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
      one.daysLeft == null ? (one.daysRead ?? '') : formatDaysLeft(one.daysLeft, one.forecast),
      alerts.find((alert) => alert.field === one.id)?.level ?? '',
    ]),
  )
}
