import type { DueSets } from '../accounts/due-sets.ts'
import type { CoverageStore } from '../limits/coverage.ts'
import type { Store } from '../redis/connect.ts'
import { everyPartition, type Keys } from '../redis/keys.ts'
import { decodeEndpoint } from '../tokens/endpoint/state.ts'
import type { HeartbeatBounds, HeartbeatFacts } from './judge-heartbeat.ts'

export interface HeartbeatFactsDeps {
  store: Store
  keys: Keys
  coverage: CoverageStore
  due: DueSets
}

export interface WatchedDaemon {
  /** When it began, ms: nothing was expected of it before. */
  startedAt: number
  /** Names of the receivers in its config. */
  receivers: ReadonlySet<string>
}

/** Deliveries that are read from each end: those that were tried often are tried late, new ones are due at once. */
const LOOKED_AT = 200

/** From indexes alone, nothing account by account. */
export async function readHeartbeatFacts(
  deps: HeartbeatFactsDeps,
  { overdueRefreshMs }: HeartbeatBounds,
  daemon: WatchedDaemon,
  now: number,
): Promise<HeartbeatFacts> {
  const [coverage, tokens, alerts, sweeps] = await Promise.all([
    deps.coverage.read(now),
    readTokens(deps, now - overdueRefreshMs),
    readAlerts(deps, daemon.receivers),
    deps.store.hgetall(deps.keys.progress),
  ])
  const finished = Object.entries(sweeps).map(([kind, at]) => [kind, Math.max(Number(at), daemon.startedAt)])
  return { now, coverage, tokens, alerts, sweeps: Object.fromEntries(finished) }
}

async function readTokens({ store, keys, due }: HeartbeatFactsDeps, before: number): Promise<HeartbeatFacts['tokens']> {
  const [kept, failing, overdue, endpoint] = await Promise.all([
    everyPartition(keys, ({ due }) => store.zcard(due.refresh)),
    everyPartition(keys, ({ state }) => store.zcard(state.failing)),
    due.countDue('refresh', before),
    store.get(keys.endpoint),
  ])
  const breaker = decodeEndpoint(endpoint ?? '')?.breaker
  const trouble =
    breaker?.is === 'open' && breaker.cause !== null ? { since: breaker.since, cause: breaker.cause } : null
  return { kept: sum(kept), failing: sum(failing), overdue, trouble }
}

async function readAlerts(
  { store, keys }: HeartbeatFactsDeps,
  receivers: ReadonlySet<string>,
): Promise<HeartbeatFacts['alerts']> {
  const { groupsDue, deliveriesDue, delivery } = keys.delivery
  const [entries, groups, first, last] = await Promise.all([
    everyPartition(keys, ({ outbox }) => store.xrange(outbox, '-', '+', 'COUNT', 1)),
    store.zrange(groupsDue, 0, '0', 'WITHSCORES'),
    store.zrange(deliveriesDue, 0, String(LOOKED_AT - 1), 'WITHSCORES'),
    store.zrange(deliveriesDue, -LOOKED_AT, '-1'),
  ])
  const ids = new Set([...first.filter((_, n) => n % 2 === 0), ...last])
  const deliveries = await Promise.all(
    [...ids].map(async (id) => {
      const [receiver, createdAt] = await store.hmget(delivery(id), 'receiver', 'createdAt')
      return { receiver: receiver ?? '', createdAt: Number(createdAt ?? Number.NaN) }
    }),
  )
  // What an earlier config sent to a receiver that is gone waits for it to be there again: that is no trouble.
  const waiting = deliveries.filter(({ receiver, createdAt }) => receivers.has(receiver) && Number.isFinite(createdAt))
  return {
    oldestEntryAt: earliest(entries.flatMap(([entry]) => (entry === undefined ? [] : [Number.parseInt(entry[0], 10)]))),
    groupDueAt: earliest(groups.slice(1).map(Number)),
    attemptDueAt: earliest(first.slice(1, 2).map(Number)),
    oldestDelivery: waiting.sort((a, b) => a.createdAt - b.createdAt)[0] ?? null,
  }
}

function earliest(moments: readonly number[]): number | null {
  return moments.length === 0 ? null : Math.min(...moments)
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
