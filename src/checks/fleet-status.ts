import { iso } from '../text/format-time.ts'
import { receiverStatus } from '../views/deliveries.ts'
import { daemonStatus } from '../views/fleet-health.ts'
import type { DueShape, FleetStatusShape } from '../views/shapes/fleet-status.ts'
import type { ViewDeps } from '../views/view-deps.ts'
import { readStatusFacts, type StatusSources } from './status-facts.ts'
import { type FleetVerdict, fleetVerdict } from './verdict.ts'

/** The fleet at a glance: the status page, `GET /api/v1/status` and the command line show the same. */
export type FleetStatus = FleetStatusShape
export type DueStatus = DueShape

type Sources = StatusSources & Pick<ViewDeps, 'deliveries'>

export async function readFleetStatus(deps: Sources): Promise<FleetStatus> {
  return (await readFleet(deps)).status
}

/** Also the verdict with where each trouble is seen. */
export async function readFleet(deps: Sources): Promise<{ status: FleetStatus; verdict: FleetVerdict }> {
  const [facts, deliveries] = await Promise.all([readStatusFacts(deps), deliveryStatus(deps)])
  const { now, accounts, tokens, tokenEndpoint, polls, coverage, failedCalls, uninstalls, alerts } = facts
  const verdict = fleetVerdict(facts)
  return {
    verdict,
    status: {
      at: new Date(now).toISOString(),
      verdict: shownVerdict(verdict),
      accounts,
      tokens,
      tokenEndpoint,
      polls,
      coverage,
      failedCalls,
      uninstalls,
      alerts,
      heartbeat: facts.heartbeat,
      daemons: facts.daemons.map((daemon) => daemonStatus(daemon, now)),
      deliveries: { ...deliveries, receivers: facts.receivers.map(receiverStatus) },
      queues: facts.queues.map((depth) => ({ ...depth, oldestWaitingAt: iso(depth.oldestWaitingAt) })),
    },
  }
}

/** A verdict without the pages that show its troubles. */
export function shownVerdict({ level, says, troubles }: FleetVerdict): FleetStatus['verdict'] {
  return {
    level,
    says,
    troubles: troubles.map(({ check, level, verb, says, fix = null }) => ({ check, level, verb, says, fix })),
  }
}

async function deliveryStatus({ deliveries }: Sources) {
  const [pending, disabled] = await Promise.all([deliveries.countPending(), deliveries.disabled()])
  return {
    pending,
    disabledReceivers: Object.entries(disabled).map(([receiver, reason]) => ({ receiver, reason })),
  }
}
