import type { Command } from 'commander'
import type { Account } from '../accounts/account.ts'
import type { AccountSort } from '../accounts/search/account-query.ts'
import { Directory } from '../accounts/search/directory.ts'
import { searchAccounts } from '../accounts/search/search-accounts.ts'
import type { AlertKind, AlertLevel } from '../alerts/alert.ts'
import { compareRanks } from '../alerts/alert.ts'
import { kindOf } from '../alerts/alert-state.ts'
import type { Stores } from '../app/stores.ts'
import type { AccountState } from '../redis/keys.ts'
import { cleanText } from '../text/clean-text.ts'
import { accountJson, withPlan } from '../views/account-view.ts'
import { type AlertCounts, surveyAlerts } from '../views/find-alerts.ts'
import { watchText } from '../views/poll-texts.ts'
import type { CommonOptions } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { say } from './say.ts'
import { ageCell, leftCell, named, printTable, prose, spare, state, whole } from './table.ts'
import { carriersOf, withStore } from './with-parts.ts'

interface ListOptions extends CommonOptions {
  state?: AccountState
  level?: AlertLevel
  kind?: AlertKind
  tag?: string
  search?: string
  sort: AccountSort | 'worst'
  stale?: boolean
}

/** `plimsoll accounts list`. */
export async function listAccounts(io: Io, options: ListOptions, command: Command): Promise<void> {
  const { found, open } = await withStore(io, options, (parts) => find(parts, options, command))
  if (options.json === true) return printJson(io, 'accounts list', found.map(accountJson))
  if (found.length === 0) return say(io, noneText(options))
  const now = io.clock.now()
  printTable(
    io,
    [
      ...[whole('HUB ID'), named('DOMAIN'), state('STATE'), spare(whole('ALERTS')), spare(whole('READ'))],
      ...[spare(whole('TOKEN ENDS')), prose('TROUBLE')],
    ],
    found.map((account) => [
      ...[String(account.hubId), account.hubDomain, account.state, countsText(open.get(account.hubId)?.counts)],
      ...[
        ageCell(account.polledAt, now),
        leftCell(account.state === 'uninstalled' ? null : account.token.expiresAt, now),
      ],
      account.refreshFailure?.reason ?? account.pollFailure?.reason ?? cleanText(watchText(account) ?? '', 200),
    ]),
  )
}

async function find(parts: Stores, options: ListOptions, command: Command) {
  const { level, kind, tag, sort } = options
  const now = parts.clock.now()
  const query = {
    ...{ text: options.search ?? '', state: options.state, descending: false, limit: Number.MAX_SAFE_INTEGER - 1 },
    sort: sort === 'worst' ? ('hubId' as const) : sort,
    staleBefore: options.stale === true ? now - parts.coverage.settings.freshnessMs : undefined,
    tag: tag === undefined ? undefined : { name: tag, accounts: carriersOf(parts.config, tag, command) },
  }
  const { store, keys } = parts
  const [{ accounts }, survey] = await Promise.all([
    searchAccounts({ ...parts, directory: new Directory(store, keys) }, query),
    surveyAlerts(parts, ({ hubId, field }) => kind === undefined || kindOf(hubId, field) === kind, level),
  ])
  const open = new Map(survey.accounts.map((one) => [one.hubId, one]))
  const matching =
    level === undefined && kind === undefined ? accounts : accounts.filter(({ hubId }) => open.has(hubId))
  if (sort === 'worst') {
    const rank = ({ hubId, state }: Account) => open.get(hubId)?.place ?? [NO_ALERT, BY_STATE.indexOf(state), hubId]
    matching.sort((a, b) => compareRanks(rank(a), rank(b)))
  }
  return { found: await Promise.all(matching.map((account) => withPlan(parts.due, account))), open }
}

/** After all that has an alert. */
const NO_ALERT = Number.POSITIVE_INFINITY
const BY_STATE: readonly AccountState[] = ['reauthorize', 'failing', 'parked', 'active', 'uninstalling', 'uninstalled']

function countsText({ critical, warning }: AlertCounts = { critical: 0, warning: 0 }): string {
  return [critical > 0 ? `${critical} critical` : '', warning > 0 ? `${warning} warning` : '']
    .filter(Boolean)
    .join(', ')
}

function noneText({ state, level, kind, tag, search, stale }: ListOptions): string {
  if ([level, kind, tag, search].some((given) => given !== undefined)) return 'no account matches'
  if (stale === true) return 'no account is without a fresh reading'
  if (state !== undefined) return `no account in state ${state}`
  return 'no account is connected yet: send customers to /install under publicUrl, or plimsoll accounts connect or import'
}
