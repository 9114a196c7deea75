import type { Clock } from '../runtime/clock.ts'
import { redactUrls } from '../runtime/logger.ts'
import { type Check, type Finding, fail } from './finding.ts'

const LONGEST_MS = 5_000

/** All at once, each within five seconds: one that hangs or throws fails alone. In the order of the checks. */
export async function runChecks(checks: readonly Check[], clock: Clock): Promise<Finding[]> {
  return (await Promise.all(checks.map((check) => runCheck(check, clock)))).flat()
}

async function runCheck({ name, run, fix }: Check, clock: Clock): Promise<Finding[]> {
  const [deadline, done] = [new AbortController(), new AbortController()]
  const late = async () => {
    await clock.wait(LONGEST_MS, done.signal)
    deadline.abort()
    return [fail(name, `no result within ${LONGEST_MS / 1000} s`, fix)]
  }
  try {
    return await Promise.race([run(deadline.signal), late()])
  } catch (error) {
    return [fail(name, error instanceof Error ? redactUrls(error.message) : 'it could not be checked', fix)]
  } finally {
    done.abort()
  }
}
