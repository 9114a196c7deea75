import type { AlertLevel } from '../alerts/alert.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import { judgeAll } from './all-checks.ts'
import type { FoundTrouble } from './check.ts'
import type { StatusFacts } from './status-facts.ts'

export interface FleetVerdict {
  level: 'ok' | AlertLevel
  /** In one line. */
  says: string
  /** Worst first. */
  troubles: readonly FoundTrouble[]
}

/** The state of Plimsoll and its accounts: as bad as the worst of the facts. */
export function fleetVerdict(facts: StatusFacts): FleetVerdict {
  const troubles = judgeAll(facts)
  const { handled } = facts.alerts
  const handledNote = handled === 0 ? '' : ` + ${formatCount(handled)} handled`
  const [worst, ...more] = troubles
  if (worst === undefined) return { level: 'ok', says: `${wellText(facts)}${handledNote}`, troubles }
  const others = more.length === 0 ? '' : ` (and ${countOf(more.length, 'other problem')})`
  const says = `${worst.level === 'critical' ? 'Critical' : 'Warning'}: ${worst.says}${others}${handledNote}`
  return { level: worst.level, says, troubles }
}

/** The verdict where the facts can't be read. */
export function unknownVerdict(isRedisAway: boolean): FleetVerdict {
  const says = isRedisAway
    ? 'Redis does not answer: nothing is refreshed, polled or sent'
    : 'the state of Plimsoll could not be read: the log has the cause'
  return { level: 'critical', says: `Critical: ${says}`, troubles: [] }
}

function wellText({ accounts: { total, newFleet } }: StatusFacts): string {
  if (newFleet !== null) return `Nothing needs action so far; ${newFleetText(newFleet)}.`
  return total === 0 ? 'No accounts yet.' : 'All is well.'
}

/** How far an imported fleet has been read. */
export function newFleetText({ read, total }: { read: number; total: number }): string {
  return `reading a new fleet: ${formatCount(read)} of ${formatCount(total)}`
}
