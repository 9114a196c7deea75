import { judgeFleet } from '../checks/all-checks.ts'
import type { FleetFacts } from '../checks/facts.ts'
import type { FleetVerdict } from '../checks/verdict.ts'
import { isSilent } from '../heartbeat/daemons.ts'
import { callsText } from '../heartbeat/failed-calls.ts'
import { type Finding, fail, ok, warn } from './check.ts'

/** How the daemons and the fleet are, as every page shows it; undefined: Redis does not answer. */
export type Fleet = { facts: FleetFacts; verdict: FleetVerdict } | undefined

interface Line {
  /** Checks that the line sums up, by their names in `checks/`. */
  of: readonly string[]
  /** The line where none of them finds anything. */
  well(facts: FleetFacts): string
}

export const FLEET_LINES = {
  calls: { of: ['calls'], well: ({ failedCalls }) => callsText(failedCalls) },
  deliveries: {
    of: ['receivers', 'outbox'],
    well: ({ receivers }) => (receivers.length === 0 ? 'nothing was sent so far' : 'no receiver is known to fail'),
  },
  daemon: { of: ['daemons', 'work'], well: () => 'at work: sweeps finish' },
} satisfies Record<string, Line>

/** One of the report's lines about what all daemons share. */
export function fleetLine(name: keyof typeof FLEET_LINES, fleet: Fleet): Finding[] {
  if (fleet === undefined) return [warn(name, 'not known: Redis does not answer')]
  const { of, well }: Line = FLEET_LINES[name]
  const troubles = judgeFleet(fleet.facts).flatMap(([check, found]) => (of.includes(check) ? found : []))
  if (troubles.length === 0) return [ok(name, well(fleet.facts))]
  // Before the first start, or while it is stopped, an installation may be well all the same.
  const isOff = fleet.facts.daemons.every((daemon) => isSilent(daemon, fleet.facts.now))
  return troubles.map(({ level, says, verb, fix = verb }) =>
    level === 'critical' && name === 'daemon' && !isOff ? fail(name, says, fix) : warn(name, says, fix),
  )
}

/** The verdict of every page. Its troubles are no fault of the installation. */
export function verdictFinding(fleet: Fleet): Finding {
  if (fleet === undefined) return warn('verdict', 'not known: Redis does not answer')
  const { level, says } = fleet.verdict
  return level === 'ok' ? ok('verdict', says) : warn('verdict', says, 'plimsoll status shows all')
}
