import { accountPolls, accountTokens, accountUninstalls } from './account-groups.ts'
import type { Check, FoundTrouble, OwnFinding, Trouble } from './check.ts'
import { daemons } from './daemons.ts'
import { endDate } from './end-date.ts'
import type { FleetFacts } from './facts.ts'
import { failedCalls } from './failed-calls.ts'
import { heartbeatCheck } from './heartbeat.ts'
import { ownJobs, queues } from './jobs.ts'
import { fleetAlerts, openAlerts } from './open-alerts.ts'
import { outbox } from './outbox.ts'
import { ownState, ownWait } from './own-state.ts'
import type { ProcessFacts } from './process-facts.ts'
import { failingReceivers, ownReceivers } from './receivers.ts'
import { expiredTokens, readings, refreshes } from './shares.ts'
import type { StatusFacts } from './status-facts.ts'
import { ownSweeps, work } from './sweeps.ts'
import { tokenEndpoint } from './token-endpoint.ts'

/** All that Plimsoll is judged by, what has the worst consequence first. Probes, metrics, pages, commands and the heartbeat go by it. */
export const CHECKS: readonly Check[] = [
  ownState,
  ownWait,
  ownSweeps,
  ownJobs,
  ownReceivers,
  daemons,
  tokenEndpoint,
  fleetAlerts,
  work,
  queues,
  outbox,
  heartbeatCheck,
  expiredTokens,
  refreshes,
  accountTokens,
  failingReceivers,
  failedCalls,
  accountPolls,
  readings,
  accountUninstalls,
  endDate,
  openAlerts,
]

export function judgeProcess(facts: ProcessFacts): OwnFinding[] {
  return CHECKS.flatMap((check) => (check.of === 'process' ? check.judge(facts) : []))
}

/** Troubles by check of the fleet; no entry where all is well. */
export function judgeFleet(facts: FleetFacts): [check: string, troubles: Trouble[]][] {
  return CHECKS.flatMap((check) => (check.of === 'fleet' ? [[check.name, check.judge(facts)]] : []))
}

/** Troubles of the fleet and its accounts by their checks, critical first. */
export function judgeAll(facts: StatusFacts): FoundTrouble[] {
  const found: FoundTrouble[] = []
  for (const check of CHECKS) {
    if (check.of === 'process') continue
    const troubles = check.judge(facts, found).filter(({ heartbeatOnly }) => heartbeatOnly !== true)
    found.push(...troubles.map((trouble) => ({ ...trouble, check: check.name })))
  }
  return (['critical', 'warning'] as const).flatMap((level) => found.filter((one) => one.level === level))
}
