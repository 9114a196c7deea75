import { isSilent, leftUndone } from '../heartbeat/daemons.ts'
import { type Check, critical, NOWHERE } from './check.ts'

const NOTHING_DONE = 'nothing is refreshed, polled or sent'
const START = 'start it: plimsoll start'

/** Each part of the work has a daemon. */
export const daemons: Check = {
  name: 'daemons',
  of: 'fleet',
  judge({ now, daemons, isDaemon }) {
    const atWork = daemons.filter((daemon) => !isSilent(daemon, now))
    if (atWork.length > 0) {
      const fix = 'start one with that role'
      return leftUndone(atWork).map((says) => ({
        ...critical('Start a daemon', says, NOWHERE),
        fix,
        outside: `${says}.`,
      }))
    }
    // A daemon that asks is at work, whether it has reported yet or not.
    if (daemons.length === 0 && isDaemon) return []
    const says = daemons.length > 0 ? `every daemon is silent: ${NOTHING_DONE}` : `no daemon runs: ${NOTHING_DONE}`
    return [{ ...critical('Start a daemon', says, NOWHERE), fix: START }]
  },
}
