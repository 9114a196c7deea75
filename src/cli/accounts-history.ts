import type { Command } from 'commander'
import { seriesName } from '../alerts/series-name.ts'
import { historyKeep } from '../app/settings.ts'
import type { Stores } from '../app/stores.ts'
import type { Snapshot } from '../limits/history/history.ts'
import { UnreadableKey } from '../limits/history/packed-bytes.ts'
import type { Moment } from '../operations/field.ts'
import { ACCOUNT_STATES } from '../redis/keys.ts'
import { jsonText } from '../runtime/json-text.ts'
import { limitCells, momentCell } from '../text/cells.ts'
import { cleanText } from '../text/clean-text.ts'
import { named, number, whole } from '../text/columns.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import {
  historyHead,
  historyLines,
  type LineFormat,
  type Resolution,
  readAccountHistory,
  snapshotJson,
} from '../views/account-history.ts'
import { allAccounts, withPlan } from '../views/account-view.ts'
import type { PlannedAccount } from '../views/judge-account.ts'
import type { AccountHistoryShape } from '../views/shapes/series.ts'
import type { AccountArgument, CommonOptions } from './arguments.ts'
import { CommandError, type Io } from './io.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { printTable } from './table.ts'
import { hubIdsNamed, noSuchAccount, withStore } from './with-parts.ts'

export interface HistoryOptions extends CommonOptions {
  from?: Moment
  to?: Moment
  resolution: Resolution
  csv?: boolean
  jsonl?: boolean
}

const WEEK_MS = 7 * 86_400_000

/** `plimsoll accounts history`: one account at a time in memory. */
export async function history(
  io: Io,
  names: readonly AccountArgument[],
  options: HistoryOptions,
  command: Command,
): Promise<void> {
  const print = printerOf(io, options)
  await withStore(io, { ...options, stops: 'by itself' }, async (parts) => {
    const to = options.to?.(io.clock.now()) ?? io.clock.now()
    const asked = { to, from: options.from?.(io.clock.now()) ?? to - WEEK_MS, resolution: options.resolution }
    if (asked.from > to) return command.error('--from must be before --to')
    const { accounts, count } = await chosenAccounts(parts, await hubIdsNamed(parts, names))
    const deps = { ...parts, historyKeep: historyKeep(parts.config) }
    // On a terminal, the accounts themselves show the progress.
    const progress = io.isTerminal ? undefined : showProgress(io, 'accounts read', count)
    const printHistory = async (account: PlannedAccount) =>
      print.account(account, await readAccountHistory(deps, account, asked))
    print.begin?.()
    let done = 0
    try {
      for await (const account of accounts) {
        if (io.stop.aborted) throw new CommandError('stopped: what was printed is not all')
        await printHistory(account).catch((error: unknown) => {
          if (!(error instanceof UnreadableKey)) throw error
          io.err(`${error.message}\n`)
        })
        await io.drained()
        progress?.at(++done, count)
      }
    } finally {
      progress?.end()
    }
    print.end?.()
  })
}

async function chosenAccounts(
  parts: Stores,
  hubIds: readonly number[],
): Promise<{ accounts: AsyncIterable<PlannedAccount> | PlannedAccount[]; count: number }> {
  if (hubIds.length === 0) {
    const counts = Object.values(await parts.registry.countByState())
    return { accounts: allAccounts(parts, ACCOUNT_STATES), count: counts.reduce((sum, count) => sum + count, 0) }
  }
  const accounts = await Promise.all(
    hubIds.map(async (hubId) => {
      const account = await parts.registry.get(hubId)
      if (account === undefined) throw noSuchAccount(hubId)
      return withPlan(parts.due, account)
    }),
  )
  return { accounts, count: accounts.length }
}

interface Printer {
  begin?(): void
  account(account: PlannedAccount, snapshots: Iterable<Snapshot>): void
  end?(): void
}

function printerOf(io: Io, { json, csv, jsonl }: HistoryOptions): Printer {
  if (csv === true || jsonl === true) return linePrinter(io, csv === true ? 'csv' : 'jsonl')
  return json === true ? jsonPrinter(io) : tablePrinter(io)
}

function linePrinter(io: Io, format: LineFormat): Printer {
  return {
    begin: () => io.out(historyHead(format)),
    account: ({ hubId }, snapshots) => {
      for (const snapshot of snapshots) io.out(historyLines(format, hubId, snapshot))
    },
  }
}

/** One array of accounts, written piece by piece. */
function jsonPrinter(io: Io): Printer {
  let separator = ''
  return {
    begin: () => io.out('['),
    account: ({ hubId, hubDomain, state }, snapshots) => {
      const told: AccountHistoryShape = { hubId, hubDomain, state, items: [...snapshots].map(snapshotJson) }
      io.out(`${separator}${jsonText(told)}`)
      separator = ','
    },
    end: () => io.out(']\n'),
  }
}

function tablePrinter(io: Io): Printer {
  let shown = 0
  return {
    account: ({ hubId, hubDomain }, snapshots) => {
      const rows = [...snapshots].flatMap(({ at, series }) =>
        series.map((one) => [momentCell(at), seriesName(one), formatCount(one.usage), ...limitCells(one)]),
      )
      if (shown++ > 0) io.out('\n')
      say(io, `${hubId}  ${cleanText(hubDomain)}`.trimEnd())
      if (rows.length === 0) say(io, 'nothing was read in this time')
      else printTable(io, [whole('AT'), named('SERIES'), number('USAGE'), number('LIMIT'), number('%')], rows)
    },
    end: () => {
      if (shown !== 1) io.out(`${shown === 0 ? '' : '\n'}${countOf(shown, 'account')}\n`)
    },
  }
}
