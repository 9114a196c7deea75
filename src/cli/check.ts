import { withTags } from '../accounts/match-account.ts'
import type { Services } from '../app/services.ts'
import type { Stores } from '../app/stores.ts'
import { addAccount, type CheckTotals, checkFleet, countLive, EXIT_CODES, noTotals } from '../views/check-fleet.ts'
import type { AccountArgument, CommonOptions } from './arguments.ts'
import { type CheckOutput, checkOutput, type OutputOptions, unknownLine } from './check-output.ts'
import { CommandError, describeError, ExitCode, type Io } from './io.ts'
import { showProgress } from './progress.ts'
import { hubIdsNamed, withParts, withStore } from './with-parts.ts'

interface CheckOptions extends CommonOptions, OutputOptions {
  live?: boolean
}

/** Wrong usage reports nothing about the accounts to a monitoring system, so it is unknown too. */
export function checkUsage(io: Io, problem: string): number {
  io.out(unknownLine(`wrong usage: ${problem}`))
  return EXIT_CODES.unknown
}

/** Anything that keeps it from knowing ends as unknown, with one line on standard output: the one that is shown. */
export async function checkAccounts(io: Io, names: readonly AccountArgument[], options: CheckOptions): Promise<void> {
  const output = checkOutput(io, io.clock.now(), options)
  const totals = noTotals()
  try {
    const { config } = options
    const work = { names, output, totals }
    await (options.live === true
      ? withParts(io, { config, writesAs: 'check --live', stops: 'by itself' }, (parts) =>
          judgeAll(io, parts, work, parts),
        )
      : withStore(io, { config, stops: 'by itself' }, (parts) => judgeAll(io, parts, work)))
  } catch (error) {
    const why = describeError(error)
    output.failed(why)
    io.err(`plimsoll: ${why}\n`)
    throw new ExitCode(EXIT_CODES.unknown)
  }
  output.end(totals)
  if (totals.status !== 'ok') throw new ExitCode(EXIT_CODES[totals.status])
}

async function judgeAll(
  io: Io,
  parts: Stores,
  { names, output, totals }: { names: readonly AccountArgument[]; output: CheckOutput; totals: CheckTotals },
  live?: Services,
): Promise<void> {
  const hubIds = await hubIdsNamed(parts, names)
  const total = hubIds.length > 0 ? hubIds.length : await countLive(parts)
  // Cron mails all output: progress is for a person at a terminal.
  const shown = io.errIsTerminal ? io : { ...io, err: () => {} }
  const progress = showProgress(shown, live === undefined ? 'accounts judged' : 'accounts polled', total)
  let polled = 0
  const poll = live && (await livePoll(live, io.stop, () => progress.at(++polled, total)))
  const silences = await parts.silences.active(io.clock.now())
  const { thresholds, tags } = parts.config
  const rules = withTags(thresholds, tags)
  const request = { rules, silences, hubIds, ...(poll === undefined ? {} : { poll }) }
  try {
    for await (const accounts of checkFleet(parts, request)) {
      if (io.stop.aborted) throw new CommandError('stopped before all accounts were judged')
      for (const account of accounts) {
        addAccount(totals, account)
        output.account(account)
        await io.drained()
      }
      if (live === undefined) progress.at(totals.counts.accounts, total)
    }
  } finally {
    progress.end()
  }
}

/** Polling needs the queues and the provider: loaded where the caller asks for it. */
async function livePoll(parts: Services, stop: AbortSignal, onPolled: () => void) {
  const { accountJobsUntil } = await import('../app/account-jobs.ts')
  const jobs = accountJobsUntil(parts, stop)
  return async (hubId: number): Promise<string | undefined> => {
    const trouble = await jobs.poll(hubId)
    onPolled()
    return trouble === undefined ? undefined : `could not be polled: ${trouble}`
  }
}
