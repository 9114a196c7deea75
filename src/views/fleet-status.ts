import { DaemonStore } from '../heartbeat/daemons.ts'
import { HeartbeatStore } from '../heartbeat/heartbeat.ts'
import { type NewFleet, readNewFleet } from '../limits/coverage.ts'
import type { DueKind } from '../redis/keys.ts'
import { formatCount } from '../text/format-number.ts'
import { iso } from '../text/format-time.ts'
import { receiverStatus, timedAttempt } from './deliveries.ts'
import { accountAlertsJson, findAlerts, timedAlert } from './find-alerts.ts'
import {
  daemonStatus,
  type QueueDepth,
  readCoverage,
  readHeartbeat,
  readPollBudget,
  readTokenEndpoint,
} from './fleet-health.ts'
import { readNearestLimits } from './nearest-limits.ts'
import type { DueShape, FleetStatusShape, TokensDueShape } from './shapes/fleet-status.ts'
import type { ViewDeps } from './view-deps.ts'

/** The fleet at a glance: the status page, `GET /api/v1/status` and the command line show the same. */
export type FleetStatus = FleetStatusShape
export type DueStatus = DueShape

type Sources = Omit<ViewDeps, 'samples' | 'history' | 'historyKeep' | 'receivers' | 'explain'>

/** What is due for longer is not being done: a sweep comes every few seconds. */
export const OVERDUE_AFTER_MS = 60_000
const WORST_ALERTS = 20
const WORST_ACCOUNTS = 8
/** Of one account; its own page has all. */
const MOST_OF_ONE = 20
const NEWEST_ATTEMPTS = 10
const NEAREST_LIMITS = 10

export async function readFleetStatus(deps: Sources): Promise<FleetStatus> {
  const now = deps.clock.now()
  const { store, keys } = deps
  const [byState, tokenEndpoint, tokens, polls, pollBudget, coverage, uninstalls, alerts, deliveries, heartbeat] =
    await Promise.all([
      deps.registry.countByState(),
      readTokenEndpoint(store, keys),
      tokenStatus(deps, now),
      dueStatus(deps, 'poll', now),
      readPollBudget(store, keys),
      readCoverage(deps.coverage, now),
      dueStatus(deps, 'uninstall', now),
      alertStatus(deps, now),
      deliveryStatus(deps),
      readHeartbeat(new HeartbeatStore(store, keys), now),
    ])
  const [nearestLimits, queues, daemons, fleet] = await Promise.all([
    readNearestLimits(deps, NEAREST_LIMITS, now),
    deps.queueDepths(),
    new DaemonStore(store, keys).read(),
    readNewFleet(store, keys),
  ])
  const total = Object.values(byState).reduce((sum, count) => sum + count, 0)
  return {
    at: new Date(now).toISOString(),
    accounts: { total, byState, newFleet: fleet ?? null },
    ...{ tokens, tokenEndpoint, polls, pollBudget, coverage, uninstalls, alerts, deliveries, heartbeat },
    nearestLimits,
    queues: queues.map(timedQueue),
    daemons: daemons.map((daemon) => daemonStatus(daemon, now)),
  }
}

/** How far an imported fleet has been read. */
export function newFleetText({ read, total }: NewFleet): string {
  return `reading a new fleet: ${formatCount(read)} of ${formatCount(total)}`
}

async function tokenStatus(deps: Sources, now: number): Promise<TokensDueShape> {
  const [due, expiry] = await Promise.all([dueStatus(deps, 'refresh', now), deps.due.nearestExpiry(now)])
  return { ...due, nearestExpiryAt: iso(expiry ?? null) }
}

async function dueStatus({ due }: Sources, kind: DueKind, now: number): Promise<DueStatus> {
  const at = now - OVERDUE_AFTER_MS
  const [{ count, next = null }, overdue] = await Promise.all([
    due.outlook(kind, at),
    kind === 'refresh' ? due.countOverdue(at) : undefined,
  ])
  return { overdue: overdue ?? count, nextAt: iso(next), lateMs: next === null ? 0 : Math.max(0, now - next) }
}

async function alertStatus(deps: Sources, now: number): Promise<FleetStatus['alerts']> {
  // Each of the worst alerts is of one of as many accounts.
  const page = { accounts: WORST_ALERTS, alerts: Number.POSITIVE_INFINITY }
  const search = { silences: await deps.silences.active(now), mark: 'active' as const }
  const { counts, accounts, alerts } = await findAlerts(deps, search, page, now)
  return {
    ...counts,
    worst: alerts.slice(0, WORST_ALERTS).map(timedAlert),
    accounts: accounts.slice(0, WORST_ACCOUNTS).map((account) => accountAlertsJson(account, MOST_OF_ONE)),
  }
}

async function deliveryStatus({ deliveries, receiverStore }: Sources): Promise<FleetStatus['deliveries']> {
  const [pending, disabled, newest, receivers] = await Promise.all([
    deliveries.countPending(),
    deliveries.disabled(),
    deliveries.log(NEWEST_ATTEMPTS),
    receiverStore.read(),
  ])
  return {
    pending,
    disabledReceivers: Object.entries(disabled).map(([receiver, reason]) => ({ receiver, reason })),
    receivers: receivers.map(receiverStatus),
    newest: newest.map(timedAttempt),
  }
}

export function timedQueue(depth: QueueDepth): FleetStatus['queues'][number] {
  return { ...depth, oldestWaitingAt: iso(depth.oldestWaitingAt) }
}
