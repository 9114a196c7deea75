import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { connectWithRefreshToken } from '../accounts/connect-account.ts'
import { reconnectLink } from '../accounts/reconnect-link.ts'
import { connectDeps, connected, uninstall } from '../app/account-actions.ts'
import type { Parts } from '../app/parts.ts'
import { ACCOUNT_STATES, type AccountState } from '../redis/keys.ts'
import { Secret } from '../runtime/secret.ts'
import { cleanText } from '../text/clean-text.ts'
import { accountJson, allAccounts, type PlannedAccount, withPlan } from '../views/account-view.ts'
import { staleAccounts } from '../views/stale-accounts.ts'
import { watchText } from '../views/watch.ts'
import { type ExportArguments, exportFile, FORMATS } from './accounts-export.ts'
import { addAccountsHistory } from './accounts-history.ts'
import { type ImportArguments, importFile } from './accounts-import.ts'
import { poll, refresh } from './accounts-now.ts'
import { show } from './accounts-show.ts'
import { awaitDeparture, printDeparture } from './await-departure.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { type AccountName, hubIdOf, parseAccount, parseAccounts, unknownAccount } from './named-account.ts'
import { type CommonOptions, withConfig, withExample, withJson } from './options.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { momentCell, named, printTable, prose, spare, state, whole } from './table.ts'
import { unreadable } from './unreadable.ts'
import { withParts } from './with-parts.ts'

const ACCOUNT = 'the account: its hub id or its domain'

export function addAccounts(program: Command, io: Io): void {
  const accounts = program
    .command('accounts')
    .description('list, show, connect, import, export, refresh, poll or uninstall accounts')
  const add = (name: string) => withJson(withConfig(accounts.command(name)))

  withExample(
    add('list')
      .addOption(new Option('--state <state>', 'only accounts in this state').choices(ACCOUNT_STATES))
      .option('--stale', 'only accounts without a fresh reading (limits.freshness)'),
    'plimsoll accounts list --state failing',
  )
    .description('list all accounts')
    .action((options: ListOptions) => list(io, options))

  withExample(add('show').argument('<account>', ACCOUNT, parseAccount), 'plimsoll accounts show acme.example.com')
    .description('show what is known of one account')
    .action((account: AccountName, options: CommonOptions) => show(io, account, options))

  withExample(
    add('connect').requiredOption('--refresh-token-file <file>', 'file with the refresh token, and nothing else'),
    'plimsoll accounts connect --refresh-token-file ./token.txt',
  )
    .description('take over an account in which the app was installed before')
    .action((options: CommonOptions & { refreshTokenFile: string }) => connect(io, options))

  withExample(
    add('import')
      .argument(
        '<file>',
        'CSV with a header (hubId,refreshToken,hubDomain), or one JSON object a line; - is standard input',
      )
      .option('--replace', 'overwrite accounts that are known already, and bring back those that were uninstalled'),
    'plimsoll accounts import fleet.csv',
  )
    .description('bring many accounts in with their refresh tokens; run again, it goes on where it ended')
    .action((file: string, options: ImportArguments) => importFile(io, file, options))

  withExample(
    add('export')
      .argument('<file>', 'ends in .csv or .jsonl; - is standard output')
      .addOption(new Option('--format <format>', 'where the name of the file does not say it').choices(FORMATS)),
    'plimsoll accounts export fleet.csv',
    'plimsoll accounts export - --format jsonl > fleet.jsonl',
  )
    .description('write the live accounts to a file, refresh tokens sealed, for an installation with the same key')
    .action((file: string, options: ExportArguments) => exportFile(io, file, options))

  withExample(
    add('poll').argument('<accounts...>', 'hub ids or domains', parseAccounts),
    'plimsoll accounts poll 1234567',
  )
    .description('read the limits of accounts now, as the daemon does when they are due')
    .action((accounts: AccountName[], options: CommonOptions) => poll(io, accounts, options))

  withExample(add('refresh').argument('<account>', ACCOUNT, parseAccount), 'plimsoll accounts refresh 1234567')
    .description("refresh the account's tokens now, as the daemon does when they are due")
    .action((account: AccountName, options: CommonOptions) => refresh(io, account, options))

  withExample(
    add('reconnect-link').argument('<account>', ACCOUNT, parseAccount),
    'plimsoll accounts reconnect-link 1234567',
  )
    .description('print a link for the customer that connects this account again and no other')
    .action((account: AccountName, options: CommonOptions) => printReconnectLink(io, account, options))

  addAccountsHistory(accounts, io)

  withExample(
    add('uninstall')
      .argument('<account>', ACCOUNT, parseAccount)
      .option('--reason <text>', 'why', 'uninstalled by an operator')
      .option('--wait', 'wait up to a minute until the refresh token is deleted'),
    'plimsoll accounts uninstall 1234567',
  )
    .description("delete the account's refresh token at the provider; later the account is forgotten")
    .action((account: AccountName, options: CommonOptions & RemoveOptions) => remove(io, account, options))
}

type ListOptions = CommonOptions & { state?: AccountState; stale?: boolean }

async function list(io: Io, options: ListOptions): Promise<void> {
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

async function connect(io: Io, options: CommonOptions & { refreshTokenFile: string }): Promise<void> {
  const file = resolve(io.cwd, options.refreshTokenFile)
  const outcome = await withParts(
    io,
    options.config,
    async (parts) => {
      const connecting = await connectWithRefreshToken(
        connectDeps(parts),
        readToken(file, options.refreshTokenFile),
        (latest) => writeFileSync(file, `${latest.reveal()}\n`, { mode: 0o600 }),
      )
      if (connecting.is !== 'failed') await connected(parts)
      return connecting
    },
    { withoutData: 'begins', writesAs: 'accounts connect', stops: 'by itself' },
  )
  if (outcome.is === 'failed') {
    const { step, failure } = outcome
    if (step === 'token') throw new CommandError(`the provider did not take the refresh token: ${failure.message}`)
    const unknown = {
      metadata: 'whose token it is',
      proof: 'whether it or the one that was connected meanwhile counts',
    }
    throw new CommandError(
      `${unknown[step]} could not be read: ${failure.message}; nothing was stored, ${options.refreshTokenFile} holds the latest token, try again`,
    )
  }
  const { hubId, hubDomain, scopes, is } = outcome
  if (options.json === true)
    return printJson(io, 'accounts connect', { hubId, hubDomain, state: 'active', scopes, outcome: is })
  say(io, `${is} account ${hubId} ${cleanText(hubDomain)}`)
}

function readToken(file: string, name: string): Secret {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw unreadable(name, error)
  }
  if (text === '' || /\s/.test(text)) throw new CommandError(`${name} must hold one refresh token and nothing else`)
  return new Secret(text)
}

interface RemoveOptions {
  reason: string
  wait?: boolean
}

async function remove(io: Io, name: AccountName, options: CommonOptions & RemoveOptions): Promise<void> {
  const { hubId, begun, departure } = await withParts(
    io,
    options.config,
    async (parts) => {
      const hubId = await hubIdOf(parts, name)
      const asked = await uninstall(parts, hubId, { by: 'cli', reason: options.reason })
      const waits = options.wait === true && asked !== 'unknown'
      if (!waits) return { hubId, begun: asked, departure: undefined }
      const progress = showProgress(io, 'seconds waited for the provider')
      const departed = await awaitDeparture(parts, hubId, io.stop, progress.at).finally(progress.end)
      return { hubId, begun: asked, departure: departed }
    },
    { stops: 'by itself' },
  )
  if (begun === 'unknown') throw unknownAccount(hubId)
  if (departure !== undefined) return printDeparture(io, hubId, departure, options.json === true)
  if (options.json === true)
    return printJson(io, 'accounts uninstall', { hubId, outcome: begun === 'begun' ? 'begun' : 'already' })
  say(
    io,
    begun === 'begun'
      ? `account ${hubId} is being uninstalled: the daemon deletes its refresh token at the provider`
      : `account ${hubId} was uninstalled already`,
  )
}

async function printReconnectLink(io: Io, name: AccountName, options: CommonOptions): Promise<void> {
  const { hubId, url, expiresAt } = await withParts(io, options.config, async (parts) => {
    const hubId = await hubIdOf(parts, name)
    if ((await parts.registry.get(hubId)) === undefined) throw unknownAccount(hubId)
    return { hubId, ...reconnectLink(parts.vault, parts.config.http.publicUrl, hubId, io.clock.now()) }
  })
  const until = new Date(expiresAt).toISOString()
  if (options.json === true) return printJson(io, 'accounts reconnect-link', { hubId, url, expiresAt: until })
  io.out(`${url}\n`)
  if (io.isTerminal) say(io, `It connects account ${hubId} and no other, until ${momentCell(expiresAt)}.`)
}

async function everything<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const one of source) all.push(one)
  return all
}
