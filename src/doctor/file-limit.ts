import { readFileSync } from 'node:fs'
import { type Finding, ok, warn } from './finding.ts'

const NAME = 'open-files'
/** Connections to provider, Redis and receivers, and open pages: more than this hardly comes together. */
const ENOUGH = 4_096

/** How many files and connections a process that is started here may have open: a daemon that can't open one more is stuck. */
export function checkFileLimit(readLimits = () => readFileSync('/proc/self/limits', 'utf8')): Finding {
  const most = hardLimit(readLimits)
  if (most === undefined) return ok(NAME, 'this system does not show the number')
  const detail = `${most === Number.POSITIVE_INFINITY ? 'any number' : most} may be open at a time`
  if (most >= ENOUGH) return ok(NAME, detail)
  return warn(NAME, detail, `raise it to ${ENOUGH} or more: LimitNOFILE= in the unit, ulimit -n in a shell`)
}

/** Node takes all that it may have. */
function hardLimit(readLimits: () => string): number | undefined {
  try {
    const most = /^Max open files +\S+ +(\S+)/m.exec(readLimits())?.[1]
    return most === 'unlimited' ? Number.POSITIVE_INFINITY : most === undefined ? undefined : Number(most)
  } catch {
    return undefined
  }
}
