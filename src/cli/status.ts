import { subjectOf } from '../alerts/open-alerts.ts'
import type { Services } from '../app/services.ts'
import { formatTime } from '../text/format-time.ts'
import { alertCountsText } from '../views/alert-texts.ts'
import { isBroken, receiverText } from '../views/deliveries.ts'
import {
  budgetText,
  coverageNotes,
  daemonsText,
  endpointStatusText,
  heartbeatText,
  shareText,
  skewText,
} from '../views/fleet-health.ts'
import { type FleetStatus, newFleetText, readFleetStatus } from '../views/fleet-status.ts'
import type { CommonOptions } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { type Fact, printFacts } from './say.ts'
import { accountCells, ageCell, named, number, printTable, spare, state, usageCell, whole } from './table.ts'
import { showing, withParts, withStore } from './with-parts.ts'

/** `plimsoll status`. */
export async function status(io: Io, options: CommonOptions & { watch?: boolean }): Promise<void> {
  if (options.json === true) {
    const { readQueueDepths } = await import('../../jobs/queue-depths.ts')
    const read = (parts: Services) =>
      readFleetStatus({ ...parts, queueDepths: () => readQueueDepths(parts.queues, parts.store) })
    return showing(io, options, { open: withParts, read, print: (fleet) => printJson(io, 'status', fleet) })
  }
  await showing(io, options, {
    open: withStore,
    read: (parts) => readFleetStatus({ ...parts, queueDepths: async () => [] }),
    print: (fleet) => print(io, fleet),
  })
}

/** What needs action first. */
function print(io: Io, fleet: FleetStatus): void {
  const { worst } = fleet.alerts
  const now = io.clock.now()
  if (worst.length > 0) {
    printTable(
      io,
      [state('LEVEL'), whole('HUB ID'), spare('DOMAIN'), named('WHAT'), number('USAGE'), spare(whole('AGE'))],
      worst.map((alert) => [
        ...[alert.level, ...accountCells(alert), subjectOf(alert), usageCell(alert)],
        ageCell(alert.since, now),
      ]),
    )
    io.out('\n')
  }
  printFacts(io, factsOf(fleet))
}

function endpointFact(fleet: FleetStatus): string {
  if (fleet.tokenEndpoint === null) return ''
  const { requestsPerSecond, clockSkewMs } = fleet.tokenEndpoint
  const skew = clockSkewMs === null ? '' : `, its clock ${skewText(clockSkewMs)}`
  return `${endpointStatusText(fleet)}; at most ${requestsPerSecond} requests a second${skew}`
}

function momentOr(at: string | null, none: string): string {
  return at === null ? none : formatTime(at)
}

function factsOf(fleet: FleetStatus): Fact[] {
  const { accounts, tokens, polls, coverage, pollBudget, alerts, deliveries, heartbeat, daemons } = fleet
  const states = Object.entries(accounts.byState).filter(([, count]) => count > 0)
  const reading = accounts.newFleet === null ? '' : `; ${newFleetText(accounts.newFleet)}`
  return [
    ['accounts', `${accounts.total}${states.map(([state, count]) => `, ${count} ${state}`).join('')}${reading}`],
    ['token refreshes', `${tokens.overdue} overdue, next ${momentOr(tokens.nextAt, 'never')}`],
    ['token endpoint', endpointFact(fleet)],
    ['limit polls', `${polls.overdue} overdue, next ${momentOr(polls.nextAt, 'never')}`],
    ['fresh readings', [shareText(coverage), ...coverageNotes(coverage)].join(', ')],
    ['call budget', pollBudget === null ? '' : budgetText(pollBudget)],
    ['open alerts', alertCountsText(alerts) || 'none'],
    ['deliveries', `${deliveries.pending} pending`],
    ...deliveries.receivers.filter(isBroken).map((one): Fact => [`receiver ${one.receiver}`, receiverText(one)]),
    ['heartbeat', heartbeat === null ? '' : `${momentOr(heartbeat.at, 'never')}, ${heartbeatText(heartbeat)}`],
    ['daemons', daemonsText(daemons)],
  ]
}
