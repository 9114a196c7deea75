import type { FleetStatus } from '../checks/fleet-status.ts'
import { callsText } from '../heartbeat/failed-calls.ts'
import { type Finding, fail, ok, warn } from './check.ts'

/** The parts of the status that doctor shows; undefined: neither a daemon nor Redis answers. */
export type Fleet = Pick<FleetStatus, 'verdict' | 'daemons' | 'failedCalls' | 'deliveries'> | undefined

interface Line {
  /** Checks that the line sums up, by their names in `checks/`. */
  of: readonly string[]
  /** The line where none of them finds anything. */
  well(fleet: NonNullable<Fleet>): string
}

export const FLEET_LINES = {
  calls: { of: ['calls'], well: ({ failedCalls }) => callsText(failedCalls) },
  deliveries: {
    of: ['receivers', 'outbox'],
    well: ({ deliveries: { receivers } }) =>
      receivers.length === 0 ? 'nothing was sent so far' : 'no receiver is known to fail',
  },
  daemon: { of: ['daemons', 'work'], well: () => 'running: sweeps finish' },
} satisfies Record<string, Line>

/** One of the report's lines about what all daemons share. */
export function fleetLine(name: keyof typeof FLEET_LINES, fleet: Fleet): Finding[] {
  if (fleet === undefined) return [warn(name, NOT_KNOWN)]
  const { of, well }: Line = FLEET_LINES[name]
  const troubles = fleet.verdict.troubles.filter(({ check }) => of.includes(check))
  if (troubles.length === 0) return [ok(name, well(fleet))]
  // Before the first start, or while it is stopped, an installation may be well all the same.
  const isOff = fleet.daemons.every(({ silent }) => silent)
  return troubles.map(({ level, says, verb, fix }) =>
    level === 'critical' && name === 'daemon' && !isOff ? fail(name, says, fix ?? verb) : warn(name, says, fix ?? verb),
  )
}

const NOT_KNOWN = 'not known: Redis does not answer'

/** The verdict of every page, with the troubles that no other line has. They are no fault of the installation. */
export function verdictFindings(fleet: Fleet): Finding[] {
  if (fleet === undefined) return [warn('verdict', NOT_KNOWN)]
  const { level, says, troubles } = fleet.verdict
  if (level === 'ok') return [ok('verdict', says)]
  const shown = Object.values(FLEET_LINES).flatMap(({ of }): readonly string[] => of)
  const others = troubles.filter(({ check }) => !shown.includes(check) && check !== 'end-date')
  if (others.length === 0) return [warn('verdict', says, 'plimsoll status shows all')]
  return others.map(({ says, verb, fix }) => warn('verdict', says, fix ?? verb))
}
