import type { Config } from '../../config/schema/schema.ts'
import { withTags } from '../accounts/match-account.ts'
import type { Services } from '../app/services.ts'
import { coverageSettings } from '../app/settings.ts'
import type { Stores } from '../app/stores.ts'
import { staleAfter } from '../limits/coverage.ts'
import { type AccountPollSettings, pollSettingsOf } from '../limits/polling/poll-settings.ts'
import {
  addAccount,
  type CheckCounts,
  checkFleet,
  countLive,
  EXIT_CODES,
  noCounts,
  statusOf,
} from '../views/check-fleet.ts'
import type { JudgeSettings } from '../views/judge-account.ts'
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
  const counts = noCounts()
  try {
    const { config } = options
    const work = { names, output, counts }
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
  output.end(counts)
  if (statusOf(counts) !== 'ok') throw new ExitCode(EXIT_CODES[statusOf(counts)])
}

async function judgeAll(
  io: Io,
  parts: Stores,
  { names, output, counts }: { names: readonly AccountArgument[]; output: CheckOutput; counts: CheckCounts },
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
  const request = { ...settingsOf(parts.config, silences), hubIds, ...(poll === undefined ? {} : { poll }) }
  try {
    for await (const accounts of checkFleet(parts, request)) {
      if (io.stop.aborted) throw new CommandError('stopped before all accounts were judged')
      for (const account of accounts) {
        addAccount(counts, account)
        output.account(account)
        await io.drained()
      }
      if (live === undefined) progress.at(counts.accounts, total)
    }
  } finally {
    progress.end()
  }
}

function settingsOf(config: Config, silences: JudgeSettings['silences']): JudgeSettings {
  const { thresholds, tags, limits } = config
  const polling = { ...limits, accounts: withTags(limits.accounts, tags) }
  const coverage = coverageSettings(config)
  return {
    silences,
    rules: withTags(thresholds, tags),
    staleAfter: (account, pairs) => staleAfter(coverage, longestTurn(pollSettingsOf(polling, account), pairs)),
    askedOf: (account) => {
      const { reports, pairs } = pollSettingsOf(polling, account)
      return { reports, pairs: pairs === 'auto' ? [] : pairs }
    },
  }
}

/** Automatic pairs take turns: each is read once in so many polls. */
function longestTurn({ everyMs, pairs: asked, pairsPerPoll }: AccountPollSettings, pairs: number): number {
  return asked === 'auto' ? everyMs * Math.max(1, Math.ceil(pairs / pairsPerPoll)) : everyMs
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
