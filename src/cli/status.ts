import { readQueueDepths } from '../../jobs/queue-depths.ts'
import { subjectOf } from '../alerts/open-alerts.ts'
import { formatTime } from '../text/format-time.ts'
import { coverageNotes, shareText } from '../views/coverage-status.ts'
import { daemonsText } from '../views/daemon-status.ts'
import { type FleetStatus, newFleetText, readFleetStatus } from '../views/fleet-status.ts'
import { type HeartbeatStatus, heartbeatText } from '../views/heartbeat-status.ts'
import { pollBudgetText } from '../views/poll-budget.ts'
import { isBroken, receiverText } from '../views/receiver-status.ts'
import { skewText, type TokenEndpointStatus } from '../views/token-endpoint.ts'
import type { CommonOptions } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { printFacts } from './say.ts'
import { accountCells, howFull, named, number, printTable, spare, state, whole } from './table.ts'
import { withParts } from './with-parts.ts'

/** `plimsoll status`. */
export async function status(io: Io, options: CommonOptions): Promise<void> {
  const fleet = await withParts(io, options.config, (parts) =>
    readFleetStatus({ ...parts, queueDepths: () => readQueueDepths(parts.queues, parts.store) }),
  )
  if (options.json === true) return printJson(io, 'status', fleet)
  printFacts(io, factsOf(fleet))
  if (fleet.alerts.worst.length === 0) return
  io.out('\n')
  printTable(
    io,
    [state('LEVEL'), whole('HUB ID'), spare('DOMAIN'), named('WHAT'), number('HOW FULL')],
    fleet.alerts.worst.map((alert) => [alert.level, ...accountCells(alert), subjectOf(alert), howFull(alert)]),
  )
}

function endpointFacts({
  breaker,
  cause,
  detail,
  requestsPerSecond,
  clockSkewMs,
}: TokenEndpointStatus): [string, string][] {
  const trouble = breaker === 'closed' ? '' : `${breaker}: ${cause} (${detail}), `
  const skew = clockSkewMs === null ? '' : `, its clock ${skewText(clockSkewMs)}`
  return [['token endpoint', `${trouble}at most ${requestsPerSecond} requests a second${skew}`]]
}

function momentOr(at: string | null, none: string): string {
  return at === null ? none : formatTime(at)
}

function heartbeatFacts(heartbeat: HeartbeatStatus): [string, string][] {
  return [['heartbeat', `${momentOr(heartbeat.at, 'never')}, ${heartbeatText(heartbeat)}`]]
}

function factsOf({
  accounts,
  tokens,
  tokenEndpoint,
  polls,
  coverage,
  pollBudget,
  alerts,
  deliveries,
  heartbeat,
  daemons,
}: FleetStatus): [string, string][] {
  const states = Object.entries(accounts.byState).filter(([, count]) => count > 0)
  const reading = accounts.newFleet === null ? '' : `; ${newFleetText(accounts.newFleet)}`
  return [
    ['accounts', `${accounts.total}${states.map(([state, count]) => `, ${count} ${state}`).join('')}${reading}`],
    ['token refreshes', `${tokens.overdue} overdue, next ${momentOr(tokens.nextAt, 'never')}`],
    ...(tokenEndpoint === null ? [] : endpointFacts(tokenEndpoint)),
    ['limit polls', `${polls.overdue} overdue, next ${momentOr(polls.nextAt, 'never')}`],
    ['fresh readings', [shareText(coverage), ...coverageNotes(coverage)].join(', ')],
    ...(pollBudget === null ? [] : [['call budget', pollBudgetText(pollBudget)] satisfies [string, string]]),
    ['open alerts', `${alerts.critical} critical, ${alerts.warning} warning`],
    ['deliveries', `${deliveries.pending} pending`],
    ...deliveries.receivers
      .filter(isBroken)
      .map((status): [string, string] => [`receiver ${status.receiver}`, receiverText(status)]),
    ...(heartbeat === null ? [] : heartbeatFacts(heartbeat)),
    ['daemons', daemonsText(daemons)],
  ]
}
