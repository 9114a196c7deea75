import type { AlertLevel } from '../alerts/alert.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import { alertsText, handledText } from '../views/alert-texts.ts'
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
  const [worst, ...others] = troubles
  if (worst === undefined) {
    const quiet = handledText(facts.alerts)
    return { level: 'ok', says: quiet === '' ? wellText(facts) : `${wellText(facts)} ${quiet}.`, troubles }
  }
  const says = [worst.says, alsoText(others, facts)].filter(Boolean).join('; ')
  return { level: worst.level, says: `${worst.level === 'critical' ? 'Critical' : 'Warning'}: ${says}`, troubles }
}

/** `13 critical alerts, 71 warnings, 2 other problems`. */
function alsoText(others: readonly FoundTrouble[], { alerts }: StatusFacts): string {
  const counted = others.flatMap(({ of }) => (of.is === 'alerts' ? [alertsText(of.level, alerts[of.level])] : []))
  const rest = others.length - counted.length
  return [...counted, ...(rest > 0 ? [countOf(rest, 'other problem')] : [])].join(', ')
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
