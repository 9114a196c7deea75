import { alertTitle } from '../alerts/alert-title.ts'
import type { Services } from '../app/services.ts'
import { type DueStatus, type FleetStatus, readFleetStatus } from '../checks/fleet-status.ts'
import { newFleetText } from '../checks/verdict.ts'
import { callsText } from '../heartbeat/failed-calls.ts'
import { ACCOUNT_STATES } from '../redis/keys.ts'
import { accountCells, ageCell, usageCell } from '../text/cells.ts'
import { named, number, prose, spare, state, whole } from '../text/columns.ts'
import { countOf, formatCount, formatDistance } from '../text/format-number.ts'
import { formatTime } from '../text/format-time.ts'
import type { Fact } from '../text/shown.ts'
import { alertCountsText } from '../views/alert-texts.ts'
import type { CheckLevel } from '../views/check-fleet.ts'
import { EXIT_CODES } from '../views/check-fleet.ts'
import { isBroken, receiverText } from '../views/deliveries.ts'
import {
  coverageNotes,
  daemonsText,
  endpointStatusText,
  heartbeatText,
  shareText,
  skewText,
} from '../views/fleet-health.ts'
import { STATE_NAMES } from '../views/judge-account.ts'
import type { CommonOptions } from './arguments.ts'
import { describeError, ExitCode, type Io, printJson } from './io.ts'
import { printFacts, say } from './say.ts'
import { printTable } from './table.ts'
import { showing, withParts, withStore } from './with-parts.ts'

interface StatusOptions extends CommonOptions {
  watch?: boolean
  exitCode?: boolean
}

/** `plimsoll status`. */
export async function status(io: Io, { exitCode = false, ...options }: StatusOptions): Promise<void> {
  if (!exitCode) return show(io, options, () => {})
  let level: CheckLevel = 'unknown'
  try {
    await show(io, options, ({ verdict }) => {
      level = verdict.level
    })
  } catch (error) {
    io.err(`plimsoll: ${describeError(error)}\n`)
  }
  throw new ExitCode(EXIT_CODES[level])
}

async function show(io: Io, options: StatusOptions, seen: (fleet: FleetStatus) => void): Promise<void> {
  const shown = (how: (fleet: FleetStatus) => void) => (fleet: FleetStatus) => {
    seen(fleet)
    how(fleet)
  }
  if (options.json === true) {
    const { readQueueDepths } = await import('../../jobs/queue-depths.ts')
    const read = (parts: Services) =>
      readFleetStatus({ ...parts, queueDepths: () => readQueueDepths(parts.queues, parts.store) })
    return showing(io, options, { open: withParts, read, print: shown((fleet) => printJson(io, 'status', fleet)) })
  }
  await showing(io, options, { open: withStore, read: readFleetStatus, print: shown((fleet) => print(io, fleet)) })
}

/** The verdict, troubles that need action, then everything else. */
function print(io: Io, fleet: FleetStatus): void {
  const { worst, critical, warning } = fleet.alerts
  const { says, troubles } = fleet.verdict
  const now = io.clock.now()
  say(io, says, '')
  if (troubles.length > 1) {
    const rows = troubles.map((one) => [one.level, one.verb, one.says])
    printTable(io, [state('LEVEL'), whole('TO DO'), prose('WHAT')], rows)
    io.out('\n')
  }
  if (worst.length > 0) {
    printTable(
      io,
      [state('LEVEL'), whole('HUB ID'), spare('DOMAIN'), named('WHAT'), number('USAGE'), spare(whole('AGE'))],
      worst.map((alert) => [
        alert.level,
        ...accountCells(alert),
        alertTitle(alert),
        usageCell(alert),
        ageCell(alert.since, now),
      ]),
    )
    const more = critical + warning - worst.length
    say(io, ...(more > 0 ? [`and ${countOf(more, 'more alert')}: plimsoll alerts list shows all`] : []), '')
  }
  printFacts(io, factsOf(fleet, now))
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

/** Also how old that is: where no daemon runs it does not get any newer. */
function dueText({ overdue, nextAt, sweptAt }: DueStatus, now: number): string {
  const checked = sweptAt === null ? 'never checked' : `checked ${formatDistance(Date.parse(sweptAt) - now)}`
  return `${formatCount(overdue)} overdue, next ${momentOr(nextAt, 'never')}, ${checked}`
}

function factsOf(fleet: FleetStatus, now: number): Fact[] {
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
