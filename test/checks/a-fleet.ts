import type { FleetFacts } from '../../src/checks/facts.ts'
import type { AccountGroup, StatusFacts } from '../../src/checks/status-facts.ts'
import { ROLES } from '../../src/heartbeat/daemons.ts'

export const NOW = Date.parse('2026-11-24T03:00:00.000Z')
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const ago = (ms: number) => new Date(NOW - ms).toISOString()

/** The longest pauses of its sweeps. */
export const PAUSES = { alerts: 10_000, coverage: 30_000 }
/** At work for a day, and reported a moment ago. */
export const DAEMON = {
  name: 'a pid 1',
  version: '1',
  config: 'c',
  roles: [...ROLES],
  ill: [],
  startedAt: NOW - 24 * HOUR,
  lastSeenAt: NOW - 5_000,
  sweeps: { since: NOW - 24 * HOUR, pauses: PAUSES },
}

const STATES = { active: 3, failing: 0, parked: 0, reauthorize: 0, uninstalling: 0, uninstalled: 0 }

/** Three accounts that are all right, and what each row of a table changes. */
export function fleetFacts(changed: Partial<FleetFacts> = {}): FleetFacts {
  return {
    now: NOW,
    isDaemon: true,
    daemons: [DAEMON],
    byState: STATES,
    lastSweeps: { alerts: NOW - 5_000, coverage: NOW - 20_000 },
    refreshes: { kept: 3, overdue: 0 },
    nearestExpiryAt: NOW + 10 * MINUTE,
    tokenEndpoint: null,
    heartbeat: null,
    coverage: { share: 1, objective: 0.95, polled: 3, stale: 0, failing: 0, notWatched: 0 },
    failedCalls: { calls: 1_000, failed: 1, days: 30, share: 0.001, limit: 0.05, warning: 0.03, critical: 0.05 },
    outbox: { oldestEntryAt: null, groupDueAt: null, attemptDueAt: null, oldestDelivery: null },
    bounds: {
      freshnessMs: 26 * HOUR,
      receivers: new Set(['ops-mail']),
      api: '2026-09',
    },
    queues: [],
    receivers: [],
    announced: new Map(),
    handled: new Map(),
    ...changed,
  }
}

const NONE: AccountGroup = { count: 0, handled: 0, first: undefined }
export const DUE = { overdue: 0, nextAt: ago(-MINUTE), lateMs: 0, sweptAt: ago(8_000) }

export function statusFacts(
  changed: Partial<StatusFacts> = {},
  groups: Partial<StatusFacts['groups']> = {},
): StatusFacts {
  return {
    ...fleetFacts(),
    accounts: { total: 3, critical: 0, warning: 0, unknown: 0, handled: 0, byState: STATES, newFleet: null },
    tokens: { ...DUE, nearestExpiryAt: ago(-10 * MINUTE) },
    polls: DUE,
    uninstalls: { ...DUE, nextAt: null },
    unnamed: {},
    alerts: { critical: 0, warning: 0, handled: 0, worst: [] },
    ...changed,
    groups: {
      reauthorize: NONE,
      failing: NONE,
      parked: NONE,
      refresh: NONE,
      poll: NONE,
      uninstall: NONE,
      stale: NONE,
      ...groups,
    },
  }
}
