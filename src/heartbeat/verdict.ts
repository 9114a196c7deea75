import type { DueSets } from '../accounts/due-sets.ts'
import { type Coverage, type CoverageSettings, type CoverageStore, coverageShare } from '../limits/coverage.ts'
import type { Store } from '../redis/connect.ts'
import { everyPartition, type Keys } from '../redis/keys.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf, formatCount, formatPercent, formatSpan } from '../text/format-number.ts'
import { decodeEndpoint } from '../tokens/endpoint/state.ts'

/** What is checked before the service outside gets a good ping. Moments in ms; null = there is none. */
export interface HeartbeatFacts {
  now: number
  /** For how long this machine's clock has gone evenly: nothing is known to have waited for longer. */
  evenMs: number
  coverage: Coverage
  tokens: {
    /** Accounts whose tokens are kept. */
    kept: number
    /** Of these, those whose refresh has been due for longer than the bound. */
    overdue: number
    /** Those whose refreshes fail. */
    failing: number
    /** Since when the token endpoint fails for all accounts, and why. */
    trouble: { since: number; cause: string } | null
  }
  alerts: {
    /** When the oldest entry of the outbox was committed. */
    oldestEntryAt: number | null
    /** When the group that should have been closed first should have been. */
    groupDueAt: number | null
    /** When the delivery whose attempt should have been made first should have had it. */
    attemptDueAt: number | null
    /** The oldest message that still waits for a receiver to take it. */
    oldestDelivery: { receiver: string; createdAt: number } | null
  }
  /** For how long no sweep of a kind has finished that was expected, ms. */
  sweeps: Record<string, number>
}

export interface HeartbeatBounds {
  coverage: CoverageSettings
  /** Share of the accounts whose tokens must be refreshed in time, 0 to 1. */
  tokens: number
  /** How long a refresh may be overdue, and the token endpoint may fail. */
  overdueRefreshMs: number
  /** How long an alert may be on its way. */
  outboxAgeMs: number
  /** The longest pause that there should be between two sweeps of a kind. */
  sweeps: Record<string, number>
}

export type HeartbeatVerdict = { ok: true } | { ok: false; reasons: string[] }

/** One account, or two, have alerts of their own; unless that is all there are. */
const LEAST_ACCOUNTS = 3
/** A sweep may be missed, or take its time. */
const PERIODS = 3
const GRACE_MS = 15_000

/** Whether all is within bounds; where it is not, what to check, one sentence each. No account is named. */
export function judgeHeartbeat(facts: HeartbeatFacts, bounds: HeartbeatBounds): HeartbeatVerdict {
  const reasons = [
    ...judgeReadings(facts, bounds),
    ...judgeTokens(facts, bounds),
    ...judgeAlerts(facts, bounds),
    ...judgeSweeps(facts, bounds),
  ]
  return reasons.length === 0 ? { ok: true } : { ok: false, reasons }
}

function* judgeReadings({ coverage }: HeartbeatFacts, { coverage: bound }: HeartbeatBounds): Iterable<string> {
  const { polled, stale } = coverage
  if (!areTooMany(stale, polled, bound.objective)) return
  yield `${countOf(stale, 'account')} of ${formatCount(polled)} have had no reading for ${formatSpan(bound.freshnessMs)}: ` +
    `${formatPercent((coverageShare(coverage) ?? 0) * 100)} are covered, ${formatPercent(bound.objective * 100)} should be. ` +
    'plimsoll accounts list --stale names them.'
}

function* judgeTokens({ now, evenMs, tokens }: HeartbeatFacts, bounds: HeartbeatBounds): Iterable<string> {
  const { kept, overdue, failing, trouble } = tokens
  const troubledMs = trouble === null ? 0 : Math.min(now - trouble.since, evenMs)
  if (trouble !== null && troubledMs > bounds.overdueRefreshMs) {
    yield `The token endpoint has been in trouble for ${formatSpan(troubledMs)} (${trouble.cause}): no account can ` +
      "be refreshed. See plimsoll status, and the provider's status page."
  }
  if (evenMs > bounds.overdueRefreshMs && areTooMany(overdue, kept, bounds.tokens)) {
    yield `Token refreshes of ${formatCount(overdue)} of ${countOf(kept, 'account')} have been overdue for ` +
      `${formatSpan(bounds.overdueRefreshMs)} or longer. See plimsoll status for the token endpoint, and the daemon's log.`
  }
  if (areTooMany(failing, kept, bounds.tokens)) {
    yield `Token refreshes of ${formatCount(failing)} of ${countOf(kept, 'account')} fail: plimsoll accounts list --state failing names them.`
  }
}

function* judgeAlerts({ now, evenMs, alerts }: HeartbeatFacts, { outboxAgeMs }: HeartbeatBounds): Iterable<string> {
  const isOld = (at: number | null): at is number => at !== null && Math.min(now - at, evenMs) > outboxAgeMs
  const { oldestEntryAt, groupDueAt, attemptDueAt, oldestDelivery } = alerts
  if (isOld(oldestEntryAt)) {
    yield `An alert has waited in the outbox for ${formatSpan(now - oldestEntryAt)}: no daemon hands it on. See the daemon's log.`
  }
  if (isOld(groupDueAt)) {
    yield `A group of alerts should have been sent ${formatSpan(now - groupDueAt)} ago: no daemon closes it. See the daemon's log.`
  }
  if (isOld(attemptDueAt)) {
    yield `A message should have been sent ${formatSpan(now - attemptDueAt)} ago, and no daemon tries to. See the daemon's log.`
  }
  if (oldestDelivery !== null && isOld(oldestDelivery.createdAt)) {
    yield `The receiver ${cleanText(oldestDelivery.receiver, 64)} has not taken a message for ` +
      `${formatSpan(now - oldestDelivery.createdAt)}: see its answers on the page of deliveries, or run plimsoll doctor.`
  }
}

function* judgeSweeps({ sweeps }: HeartbeatFacts, bounds: HeartbeatBounds): Iterable<string> {
  for (const [kind, pauseMs] of Object.entries(bounds.sweeps)) {
    const allowedMs = PERIODS * pauseMs + GRACE_MS
    const quietMs = sweeps[kind] ?? 0
    if (quietMs <= allowedMs) continue
    yield `Sweeps for ${kind} have not finished for ${formatSpan(quietMs)}, at most ${formatSpan(allowedMs)} is expected. ` +
      "See the daemon's log, and restart it."
  }
}

/** In whole accounts above a share: compared as counts, since 1 - 0.95 is not quite 0.05. */
function areTooMany(accounts: number, all: number, objective: number): boolean {
  return accounts > all * (1 - objective) + 1e-9 && (accounts >= LEAST_ACCOUNTS || accounts >= all)
}

/** The text of a good ping. */
export function describeFacts({ now, coverage, tokens, alerts }: HeartbeatFacts): string {
  const { polled, stale } = coverage
  const { createdAt } = alerts.oldestDelivery ?? {}
  return [
    polled === 0
      ? 'No account is polled.'
      : `${formatCount(polled - stale)} of ${countOf(polled, 'account')} have a fresh reading.`,
    `Token refreshes: ${formatCount(tokens.overdue)} overdue, ${formatCount(tokens.failing)} failing.`,
    createdAt === undefined ? 'No message waits.' : `The oldest message has waited for ${formatSpan(now - createdAt)}.`,
  ].join('\n')
}

export interface FactSources {
  store: Store
  keys: Keys
  coverage: CoverageStore
  due: DueSets
}

export interface WatchedDaemon {
  /** When it began, by the steady clock: nothing was expected of it before. */
  startedAt: number
  /** Names of the receivers in its config. */
  receivers: ReadonlySet<string>
}

/** Deliveries that are read from each end: those that were tried often are tried late, new ones are due at once. */
const LOOKED_AT = 200

/** From indexes alone, nothing account by account. */
export async function readHeartbeatFacts(
  deps: FactSources,
  { overdueRefreshMs }: HeartbeatBounds,
  daemon: WatchedDaemon,
  { now, steady, evenMs }: { now: number; steady: number; evenMs: number },
): Promise<HeartbeatFacts> {
  const [coverage, tokens, alerts, sweeps] = await Promise.all([
    deps.coverage.read(now),
    readTokens(deps, now - overdueRefreshMs),
    readAlerts(deps, daemon.receivers),
    deps.store.hgetall(deps.keys.progress),
  ])
  const longestMs = Math.min(steady - daemon.startedAt, evenMs)
  const quiet = Object.entries(sweeps).map(([kind, at]) => [kind, quietMs(now - Number(at), longestMs)])
  return { now, evenMs, coverage, tokens, alerts, sweeps: Object.fromEntries(quiet) }
}

/** One from the future was noted before a clock was set back, or by a daemon whose clock is ahead. */
function quietMs(sinceFinished: number, longestMs: number): number {
  return sinceFinished < -GRACE_MS ? longestMs : Math.min(sinceFinished, longestMs)
}

async function readTokens({ store, keys, due }: FactSources, before: number): Promise<HeartbeatFacts['tokens']> {
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
  { store, keys }: FactSources,
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
