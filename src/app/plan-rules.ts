import { readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { loadConfig } from '../../config/schema/load.ts'
import { renderProblem } from '../../config/schema/problems.ts'
import { isCronExpression } from '../../jobs/clock.ts'
import type { PlannedRules } from '../operations/actions.ts'
import type { Clock } from '../runtime/clock.ts'
import { ruleSetOf } from './settings.ts'

/** The config file that a process runs by, and what its text may name. */
export interface ConfigPlace {
  file: string
  env: Readonly<Record<string, string | undefined>>
  cwd: string
}

const NOWHERE: ConfigPlace = { file: 'plimsoll.yaml', env: {}, cwd: '.' }
/** No secret and no logo is larger. */
const MOST_BYTES = 1_000_000

/**
 * The rules of a config that may come, as if its file were beside the one in force. What it takes from the environment and
 * from files is checked, and nothing of that is in the outcome.
 */
export function planRules(
  { file, env, cwd }: ConfigPlace = NOWHERE,
  clock: Clock,
  { text, name }: { text: string; name: string },
): PlannedRules {
  const planned = join(dirname(file), basename(name))
  const path = resolve(cwd, planned)
  const loaded = loadConfig({
    file: planned,
    env,
    cwd,
    readFile: (other) => (other === path ? text : readSmall(other).toString()),
    readLogo: readSmall,
    validateCron: isCronExpression,
    shown: ['thresholds'],
    now: clock.now(),
  })
  if (loaded.ok) return { is: 'rules', rules: ruleSetOf(loaded.config), inForce: file }
  const faults = loaded.problems.map((problem) => ({ field: problem.path, why: renderProblem(name, problem) }))
  return { is: 'refused', faults }
}

/** Another process' pipe, or a device, would keep this process waiting. */
function readSmall(file: string): Buffer {
  const found = statSync(file)
  if (!found.isFile() || found.size > MOST_BYTES) throw Object.assign(new Error('no small file'), { code: 'EFBIG' })
  return readFileSync(file)
}
