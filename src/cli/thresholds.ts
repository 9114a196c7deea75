import { renderProblem } from '../../config/schema/problems.ts'
import type { Config } from '../../config/schema/schema.ts'
import { ruleSetOf } from '../app/settings.ts'
import type { Stores } from '../app/stores.ts'
import { countOf } from '../text/format-number.ts'
import { countLive } from '../views/check-fleet.ts'
import { planThresholds } from '../views/plan/plan-thresholds.ts'
import type { CommonOptions } from './arguments.ts'
import { load } from './installation.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { planOutput } from './thresholds-output.ts'
import { withStore } from './with-parts.ts'

interface PlanOptions extends CommonOptions {
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
  const output = planOutput(io, {
    at: clock.now(),
    config: options.config,
    file: options.file,
    max: options.max,
    json: options.json === true,
  })
  const total = await countLive(parts)
  const progress = showProgress(io, 'accounts compared', total)
  const request = { old: ruleSetOf(config), planned: ruleSetOf(planned) }
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
