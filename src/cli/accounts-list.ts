import type { Parts } from '../app/parts.ts'
import { ACCOUNT_STATES, type AccountState } from '../redis/keys.ts'
import { cleanText } from '../text/clean-text.ts'
import { accountJson, allAccounts, type PlannedAccount, withPlan } from '../views/account-view.ts'
import { staleAccounts } from '../views/stale-accounts.ts'
import { watchText } from '../views/watch.ts'
import type { CommonOptions } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { say } from './say.ts'
import { momentCell, named, printTable, prose, spare, state, whole } from './table.ts'
import { withParts } from './with-parts.ts'

type ListOptions = CommonOptions & { state?: AccountState; stale?: boolean }

/** `plimsoll accounts list`. */
export async function list(io: Io, options: ListOptions): Promise<void> {
  const states = options.state === undefined ? ACCOUNT_STATES : [options.state]
  const found = await withParts(io, options.config, (parts) =>
    options.stale === true ? allStale(parts, states) : everything(allAccounts(parts, states)),
  )
  if (options.json === true) return printJson(io, 'accounts list', found.map(accountJson))
  if (found.length === 0) return say(io, noneText(options))
  printTable(
    io,
    [
      ...[whole('HUB ID'), named('DOMAIN'), state('STATE'), spare(whole('TOKEN UNTIL')), spare(whole('LAST POLL'))],
      prose('TROUBLE'),
    ],
    found.map((account) => [
      String(account.hubId),
      account.hubDomain,
      account.state,
      momentCell(account.token.expiresAt),
      momentCell(account.polledAt),
      account.refreshFailure?.reason ?? account.pollFailure?.reason ?? cleanText(watchText(account) ?? '', 200),
    ]),
  )
}

function noneText({ state, stale }: ListOptions): string {
  if (stale === true) return 'no account is without a fresh reading'
  if (state !== undefined) return `no account is ${state}`
  return 'no account is connected yet: send customers to /install under publicUrl, or plimsoll accounts connect or import'
}

async function allStale(parts: Parts, states: readonly AccountState[]): Promise<PlannedAccount[]> {
  const search = { states, text: '', after: 0, limit: Number.POSITIVE_INFINITY }
  const accounts = await staleAccounts(parts, search, parts.clock.now())
  return Promise.all(accounts.map((account) => withPlan(parts.due, account)))
}

async function everything<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const one of source) all.push(one)
  return all
}
