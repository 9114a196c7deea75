import { renderProblem } from '../../config/schema/problems.ts'
import type { Config } from '../../config/schema/schema.ts'
import { withTags } from '../accounts/match-account.ts'
import { historyKeep, ruleSetOf } from '../app/settings.ts'
import type { Stores } from '../app/stores.ts'
import { zonesOf } from '../limits/history/resolutions.ts'
import { pollSettingsOf } from '../limits/polling/poll-settings.ts'
import { countOf } from '../text/format-number.ts'
import { countLive } from '../views/check-fleet.ts'
import { type PlanRequest, planThresholds } from '../views/plan/plan-thresholds.ts'
import type { CommonOptions } from './arguments.ts'
import { load } from './installation.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { planOutput } from './thresholds-output.ts'
import { withStore } from './with-parts.ts'

interface PlanOptions extends CommonOptions {
  over: number
  max: number
}

type PlannedOptions = PlanOptions & { file: string }

/** Reads only: neither config is put in force, and nothing is written to Redis. */
export async function planFile(io: Io, file: string, options: PlanOptions): Promise<void> {
  const planned = readPlanned(io, file, options.json === true)
  await withStore(io, { ...options, stops: 'by itself' }, (parts) => compare(io, parts, planned, { ...options, file }))
}

/** Prints all problems as `config check` does, with exit code 1. */
function readPlanned(io: Io, file: string, json: boolean): Config {
  const result = load(io, file)
  if (result.ok) return result.config
  const { problems } = result
  if (json) printJson(io, 'thresholds plan', { ok: false, problems })
  else for (const problem of problems) say(io, renderProblem(file, problem))
  throw new CommandError(`${file} has ${countOf(problems.length, 'problem')}: nothing was compared`)
}

async function compare(io: Io, parts: Stores, planned: Config, options: PlannedOptions): Promise<void> {
  const { config, clock } = parts
  const output = outputOf(io, parts, planned, options)
  const total = await countLive(parts)
  const progress = showProgress(io, 'accounts compared', total)
  const request: PlanRequest = {
    old: ruleSetOf(config),
    planned: ruleSetOf(planned),
    overMs: options.over,
    readingOf: readingOf(config),
  }
  const plan = planThresholds({ ...parts, clock }, request, (looked) => {
    if (io.stop.aborted) throw new CommandError('stopped before all accounts were compared')
    progress.at(looked, total)
  })
  try {
    for (;;) {
      const next = await plan.next()
      if (next.done === true) {
        progress.end()
        return output.end(next.value)
      }
      output.account(next.value)
      await io.drained()
    }
  } finally {
    progress.end()
  }
}

function outputOf(io: Io, { config, clock }: Stores, planned: Config, options: PlannedOptions) {
  const levels = [...config.thresholds, ...planned.thresholds].flatMap(({ warning, critical }) => [warning, critical])
  const asksForecasts = levels.some((level) => level?.daysLeft !== undefined)
  const now = clock.now()
  return planOutput(io, {
    ...{ at: now, config: options.config, file: options.file, max: options.max, json: options.json === true },
    ...{ zones: zonesOf(now, historyKeep(config)), asksForecasts },
  })
}

/** How accounts are polled by the config in force, not by the planned one: the replay is about the past. */
function readingOf({ limits, tags }: Config): PlanRequest['readingOf'] {
  const polling = { ...limits, accounts: withTags(limits.accounts, tags) }
  return (account) => {
    const { everyMs, pairs, pairsPerPoll } = pollSettingsOf(polling, account)
    return pairs === 'auto' ? { everyMs, pairsPerPoll } : { everyMs }
  }
}
