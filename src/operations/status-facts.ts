import type { DueStatus, FleetStatus } from '../checks/fleet-status.ts'
import { newFleetText } from '../checks/verdict.ts'
import { callsText } from '../heartbeat/failed-calls.ts'
import { ACCOUNT_STATES } from '../redis/keys.ts'
import { formatCount, formatDistance } from '../text/format-number.ts'
import { formatTime } from '../text/format-time.ts'
import type { Fact } from '../text/shown.ts'
import { alertCountsText } from '../views/alert-texts.ts'
import { isBroken, receiverText } from '../views/deliveries.ts'
import { coverageNotes, daemonsText, endpointStatusText, heartbeatText, shareText } from '../views/fleet-health.ts'
import { STATE_NAMES } from '../views/judge-account.ts'

export function statusFacts(fleet: FleetStatus, now: number): Fact[] {
  const { accounts, tokens, polls, coverage, alerts, deliveries, heartbeat, daemons } = fleet
  const states = ACCOUNT_STATES.filter((one) => accounts.byState[one] > 0)
  const reading = accounts.newFleet === null ? '' : `; ${newFleetText(accounts.newFleet)}`
  return [
    [
      'accounts',
      `${formatCount(accounts.total)}${states.map((one) => `, ${formatCount(accounts.byState[one])} ${STATE_NAMES[one]}`).join('')}${reading}`,
    ],
    ['token refreshes', dueText(tokens, now)],
    ['token endpoint', endpointFact(fleet)],
    ['limit polls', dueText(polls, now)],
    ['fresh readings', [shareText(coverage), ...coverageNotes(coverage)].join(', ')],
    ['failed calls', callsText(fleet.failedCalls)],
    ['open alerts', alertCountsText(alerts) || 'none'],
    ['deliveries', `${deliveries.pending} pending`],
    ...deliveries.receivers.filter(isBroken).map((one): Fact => [`receiver ${one.receiver}`, receiverText(one)]),
    ['heartbeat', heartbeat === null ? '' : `${momentOr(heartbeat.at, 'never')}, ${heartbeatText(heartbeat)}`],
    ['daemons', daemonsText(daemons)],
  ]
}

function endpointFact(fleet: FleetStatus): string {
  if (fleet.tokenEndpoint === null) return ''
  return `${endpointStatusText(fleet)}; at most ${fleet.tokenEndpoint.requestsPerSecond} requests a second`
}

function momentOr(at: string | null, none: string): string {
  return at === null ? none : formatTime(at)
}

/** Also how old that is: where no daemon runs it does not get any newer. */
function dueText({ overdue, nextAt, sweptAt }: DueStatus, now: number): string {
  const checked = sweptAt === null ? 'never checked' : `checked ${formatDistance(Date.parse(sweptAt) - now)}`
  return `${formatCount(overdue)} overdue, next ${momentOr(nextAt, 'never')}, ${checked}`
}
