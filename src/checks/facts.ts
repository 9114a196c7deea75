import type { ReceiverHealth } from '../delivery/receiver-health.ts'
import { type Daemon, DaemonStore } from '../heartbeat/daemons.ts'
import { HeartbeatStore } from '../heartbeat/heartbeat.ts'
import type { DialectName } from '../provider/dialects.ts'
import type { Store } from '../redis/connect.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import { readNewsDue } from '../redis/news-due.ts'
import {
  type QueueDepth,
  readCoverage,
  readFailedCalls,
  readHeartbeat,
  readTokenEndpoint,
} from '../views/fleet-health.ts'
import type {
  CoverageShape,
  FailedCallsShape,
  HeartbeatShape,
  TokenEndpointShape,
} from '../views/shapes/fleet-status.ts'
import type { ViewDeps } from '../views/view-deps.ts'

/** State that all daemons share, from indexes alone: nothing is read account by account. Moments in ms. */
export interface FleetFacts {
  now: number
  /** For how long this machine's clock has gone evenly: nothing is known to have waited for longer. */
  clockSteadyForMs: number
  /** A daemon asks, not a command: so one is at work. */
  isDaemon: boolean
  daemons: readonly Daemon[]
  /** Moment at which a sweep of each kind last finished. */
  lastSweeps: Readonly<Record<string, number>>
  byState: Readonly<Record<AccountState, number>>
  /** Accounts whose tokens are kept, and of these those whose refresh has been due for longer than the bound. */
  refreshes: { kept: number; overdue: number }
  /** End of the first of the access tokens that are kept alive. */
  nearestExpiryAt: number | null
  tokenEndpoint: TokenEndpointShape | null
  coverage: CoverageShape
  failedCalls: FailedCallsShape
  outbox: OutboxFacts
  /** Empty where a command reads that does without them. */
  queues: readonly QueueDepth[]
  receivers: readonly ReceiverHealth[]
  heartbeat: HeartbeatShape | null
  bounds: CheckBounds
  /** Fields of alerts about all accounts, or a receiver: open ones, and those of them that an operator has handled. */
  announced: ReadonlySet<string>
  handled: ReadonlySet<string>
}

/** Due moments of the oldest entry at each step of an alert's way; null = there is none. */
interface OutboxFacts {
  /** Commit of the oldest entry. */
  oldestEntryAt: number | null
  groupDueAt: number | null
  attemptDueAt: number | null
  /** The oldest message that still waits for a receiver to take it. */
  oldestDelivery: { receiver: string; createdAt: number } | null
}

/** Share of the accounts whose tokens must be refreshed in time, 0 to 1. */
export const TOKENS_OBJECTIVE = 0.95
/** How long a refresh may be overdue, and the token endpoint may fail. */
export const OVERDUE_REFRESH_MS = 300_000
/** How long an alert may be on its way. */
export const OUTBOX_AGE_MS = 900_000

export interface CheckBounds {
  /** Age from which a reading is stale. */
  freshnessMs: number
  /** Receivers of the config. */
  receivers: ReadonlySet<string>
  /** Version of the provider's interface. */
  api: DialectName
}

type OfViews = 'store' | 'keys' | 'clock' | 'registry' | 'due' | 'coverage' | 'receiverStore' | 'failedCalls'

export type FleetSources = Pick<ViewDeps, OfViews> & {
  bounds: CheckBounds
  /** The daemon's watch over its clock; absent on the command line. */
  daemon?: { clockSteadyForMs(): number }
  /** A command that would load the queues for it does without them. */
  queueDepths?: ViewDeps['queueDepths']
}

export async function readFleetFacts(deps: FleetSources): Promise<FleetFacts> {
  const { store, keys, due, bounds, daemon } = deps
  const now = deps.clock.now()
  const clockSteadyForMs = daemon?.clockSteadyForMs() ?? Number.POSITIVE_INFINITY
  const [daemons, sweeps, byState, kept, overdue, expiry, tokenEndpoint, coverage] = await Promise.all([
    new DaemonStore(store, keys).read(),
    store.hgetall(keys.progress),
    deps.registry.countByState(),
    due.countDue('refresh', Number.POSITIVE_INFINITY),
    due.countDue('refresh', now - OVERDUE_REFRESH_MS),
    due.nearestExpiry(now),
    readTokenEndpoint(store, keys),
    readCoverage(deps.coverage, now),
  ])
  const [failedCalls, outbox, queues, receivers, heartbeat] = await Promise.all([
    readFailedCalls(deps.failedCalls, now),
    readOutbox(store, keys, bounds.receivers),
    deps.queueDepths?.(),
    deps.receiverStore.read(),
    readHeartbeat(new HeartbeatStore(store, keys), now),
  ])
  return {
    now,
    clockSteadyForMs,
    isDaemon: daemon !== undefined,
    daemons,
    byState,
    refreshes: { kept, overdue },
    nearestExpiryAt: expiry ?? null,
    tokenEndpoint,
    coverage,
    failedCalls,
    outbox,
    receivers,
    queues: queues ?? [],
    heartbeat,
    bounds,
    announced: new Set(),
    handled: new Set(),
    lastSweeps: Object.fromEntries(Object.entries(sweeps).map(([kind, at]) => [kind, Number(at)])),
  }
}

/** Deliveries that are read from each end: those that were tried often are tried late, new ones are due at once. */
const READ_OF_EACH_END = 200

async function readOutbox(store: Store, keys: Keys, known: ReadonlySet<string>): Promise<OutboxFacts> {
  const { deliveriesDue, delivery } = keys.delivery
  const [news, first, last] = await Promise.all([
    readNewsDue({ store, keys }),
    store.zrange(deliveriesDue, 0, String(READ_OF_EACH_END - 1), 'WITHSCORES'),
    store.zrange(deliveriesDue, -READ_OF_EACH_END, '-1'),
  ])
  const ids = new Set([...first.filter((_, n) => n % 2 === 0), ...last])
  const deliveries = await Promise.all(
    [...ids].map(async (id) => {
      const [receiver, createdAt] = await store.hmget(delivery(id), 'receiver', 'createdAt')
      return { receiver: receiver ?? '', createdAt: Number(createdAt ?? Number.NaN) }
    }),
  )
  // A delivery to a receiver that is gone from the config waits for its return: that is no trouble.
  const waiting = deliveries.filter(({ receiver, createdAt }) => known.has(receiver) && Number.isFinite(createdAt))
  return {
    oldestEntryAt: news.newSince,
    groupDueAt: news.dueAt,
    attemptDueAt: earliest(first.slice(1, 2).map(Number)),
    oldestDelivery: waiting.sort((a, b) => a.createdAt - b.createdAt)[0] ?? null,
  }
}

function earliest(moments: readonly number[]): number | null {
  return moments.length === 0 ? null : Math.min(...moments)
}
