import { readFirstDue } from '../alerts/sending/read-due.ts'
import { DaemonStore } from '../heartbeat/daemons.ts'
import { HeartbeatStore } from '../heartbeat/heartbeat.ts'
import type { DialectName } from '../provider/dialects.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { readNextAttempt } from '../redis/present-receivers.ts'
import { readCoverage, readFailedCalls, readHeartbeat, readTokenEndpoint } from '../views/fleet-health.ts'
import type { ViewDeps } from '../views/view-deps.ts'

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
  /** A daemon asks, not a command: so one is at work. */
  isDaemon?: true
  /** A command that would load the queues for it does without them. */
  queueDepths?: ViewDeps['queueDepths']
}

/** State that all daemons share. Moments in ms. */
export type FleetFacts = Awaited<ReturnType<typeof readFleetFacts>>

/** From indexes alone: nothing is read account by account. */
export function readFleetFacts(deps: FleetSources) {
  const { store, keys, due, bounds, isDaemon = false } = deps
  const now = deps.clock.now()
  return awaitParts({
    now,
    isDaemon,
    daemons: new DaemonStore(store, keys).read(),
    /** Moment at which a sweep of each kind last finished. */
    lastSweeps: store
      .hgetall(keys.fleet)
      .then((sweeps) => Object.fromEntries(Object.entries(sweeps).map(([kind, at]) => [kind, Number(at)]))),
    byState: deps.registry.countByState(),
    /** Accounts whose tokens are kept, and of these those whose refresh has been due for longer than the bound. */
    refreshes: awaitParts({
      kept: due.countDue('refresh', Number.POSITIVE_INFINITY),
      overdue: due.countDue('refresh', now - OVERDUE_REFRESH_MS),
    }),
    /** End of the first of the access tokens that are kept alive. */
    nearestExpiryAt: due.nearestExpiry().then((at) => at ?? null),
    tokenEndpoint: readTokenEndpoint(store, keys),
    coverage: readCoverage(deps.coverage, now),
    failedCalls: readFailedCalls(deps.failedCalls, now),
    outbox: readOutbox(store, keys, bounds.receivers),
    /** Empty where a command reads that does without them. */
    queues: deps.queueDepths?.() ?? [],
    receivers: deps.receiverStore.read(),
    heartbeat: readHeartbeat(new HeartbeatStore(store, keys), now),
    bounds,
    /** Fields and ids of alerts about all accounts, or a receiver: open ones, and those that are acknowledged or silenced. */
    announced: new Map<string, string>(),
    handled: new Map<string, string>(),
  })
}

/** The parts of an object, awaited at once. */
export async function awaitParts<T extends object>(parts: T): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
  const read = Object.entries(parts).map(async ([name, part]) => [name, await part])
  return Object.fromEntries(await Promise.all(read))
}

/** Deliveries that are read from each end: those that were tried often are tried late, new ones are due at once. */
const READ_OF_EACH_END = 200

/** Due moments of the oldest entry at each step of an alert's way; null = there is none. */
async function readOutbox(store: Store, keys: Keys, known: ReadonlySet<string>) {
  // A delivery to a receiver that is gone from the config waits for its return: that is no trouble.
  const [news, attemptDueAt = null, waiting] = await Promise.all([
    readFirstDue({ store, keys }, [...known]),
    readNextAttempt({ store, keys }, [...known]),
    Promise.all([...known].map((receiver) => readWaiting(store, keys, receiver))),
  ])
  return {
    /** Commit of the oldest entry. */
    oldestEntryAt: news.unsentSince,
    groupDueAt: news.checkAt,
    attemptDueAt,
    /** The oldest message that still waits for a receiver to take it. */
    oldestDelivery: waiting.flat().sort((a, b) => a.createdAt - b.createdAt)[0] ?? null,
  }
}

async function readWaiting(store: Store, keys: Keys, receiver: string) {
  const { pending, delivery } = keys.delivery
  const first = await store.zrange(pending(receiver), 0, String(READ_OF_EACH_END - 1))
  const ids = new Set([...first, ...(await store.zrange(pending(receiver), -READ_OF_EACH_END, '-1'))])
  const moments = await Promise.all([...ids].map((id) => store.hget(delivery(id), 'createdAt')))
  return moments.flatMap((at) => (at === null ? [] : [{ receiver, createdAt: Number(at) }]))
}
