import { OVERDUE_AFTER_MS } from '../accounts/due-sets.ts'
import { ENDPOINT_CAUSE, firstExpiry } from '../alerts/kinds/fleet-alert.ts'
import { type Daemon, isSilent, leftUndone, ROLES } from '../heartbeat/daemons.ts'
import { type FailedCalls, failedShare, MOST_FAILED } from '../heartbeat/failed-calls.ts'
import type { HeartbeatStore } from '../heartbeat/heartbeat.ts'
import { type CoverageStore, coverageShare } from '../limits/coverage.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf, formatCount, formatPercent } from '../text/format-number.ts'
import { formatTime, iso, isoOf } from '../text/format-time.ts'
import { decodeEndpoint } from '../tokens/endpoint/state.ts'
import type {
  CoverageShape,
  DaemonShape,
  FailedCallsShape,
  FleetStatusShape,
  HeartbeatShape,
  QueueShape,
  TokenEndpointShape,
} from './shapes/fleet-status.ts'

export async function readCoverage(coverage: CoverageStore, now: number): Promise<CoverageShape> {
  const found = await coverage.read(now)
  const { polled, stale, failing, notWatched } = found
  return { share: coverageShare(found), objective: coverage.settings.objective, polled, stale, failing, notWatched }
}

export function isLow({ share, objective }: CoverageShape): boolean {
  return share !== null && share < objective
}

export function shareText({ share }: CoverageShape): string {
  return share === null ? 'nothing to read' : formatPercent(share * 100)
}

/** Notes beside the share. */
export function coverageNotes({ objective, stale, failing, notWatched }: CoverageShape): string[] {
  return [
    `${formatCount(stale)} stale`,
    `${formatCount(failing)} failing`,
    ...(notWatched === 0 ? [] : [`${formatCount(notWatched)} cannot be watched`]),
    `should be at least ${formatPercent(objective * 100)}`,
  ]
}

export async function readFailedCalls(failedCalls: FailedCalls, now: number): Promise<FailedCallsShape> {
  const counts = await failedCalls.read(now)
  return { ...counts, share: failedShare(counts), limit: MOST_FAILED, ...failedCalls.limits }
}

export function daemonStatus(daemon: Daemon, now: number): DaemonShape {
  const { name, version, startedAt, lastSeenAt, roles } = daemon
  const silent = isSilent(daemon, now)
  return { name, version, roles: [...roles], startedAt: isoOf(startedAt), lastSeenAt: isoOf(lastSeenAt), silent }
}

/** The daemons at work, in a line; without any, everything else in a status is of the past. */
export function daemonsText(daemons: readonly DaemonShape[]): string {
  const working = daemons
    .filter(({ silent }) => !silent)
    .map((daemon) => cleanText(daemon.name, 80) + rolesNote(daemon))
  const silent = daemons
    .filter((daemon) => daemon.silent)
    .map(({ name, lastSeenAt }) => `${cleanText(name, 80)} has been silent since ${formatTime(lastSeenAt)}`)
  const atWork = working.length === 0 ? 'not running' : `${working.length} running (${working.join(', ')})`
  return [atWork, ...leftUndone(daemons.filter(({ silent }) => !silent)), ...silent].join(', ')
}

function rolesNote({ roles }: DaemonShape): string {
  return roles.length === ROLES.length ? '' : `: ${roles.join(' and ')}`
}

/** Null where there is no heartbeat, or none yet. */
export async function readHeartbeat(heartbeats: HeartbeatStore, now: number): Promise<HeartbeatShape | null> {
  const last = await heartbeats.last()
  if (last === undefined) return null
  const { at, since, nextBy, verdict, ping } = last
  return {
    at: iso(at),
    ok: verdict.ok,
    late: now > nextBy,
    since: iso(since),
    reasons: verdict.ok ? [] : verdict.reasons,
    ping: ping && { sent: ping.outcome === 'sent', reason: ping.outcome === 'sent' ? null : ping.reason },
  }
}

/** One line for people. */
export function heartbeatText({ ok, late, reasons, ping }: HeartbeatShape): string {
  if (late) return 'overdue: the outside service receives nothing'
  const verdict = ok ? 'within bounds' : `out of bounds: ${reasons.join(' ')}`
  return ping === null || ping.sent ? verdict : `${verdict} (not sent: ${ping.reason})`
}

/** `oldestWaitingAt`: since when the job that is next to be taken up could have been, ms; null where none waits. */
export type QueueDepth = Omit<QueueShape, 'oldestWaitingAt'> & { oldestWaitingAt: number | null }

/** Null before the first daemon has asked for a token. */
export async function readTokenEndpoint(store: Store, keys: Keys): Promise<TokenEndpointShape | null> {
  const state = decodeEndpoint((await store.hget(keys.fleet, 'endpoint')) ?? '')
  if (state === undefined) return null
  const { breaker, pace } = state
  const isClosed = breaker.is === 'closed'
  return {
    breaker: breaker.is,
    cause: breaker.cause,
    detail: isClosed ? null : breaker.detail,
    since: isClosed ? null : iso(breaker.since),
    requestsPerSecond: Math.round(pace.perSecond * 10) / 10,
  }
}

/** True where the first of the tokens of active accounts has been over for as long as a refresh may be late. */
export function areTokensOver(nearestExpiryAt: number, now: number): boolean {
  return now - nearestExpiryAt > OVERDUE_AFTER_MS
}

/** The endpoint's trouble: `client secret rejected`. */
export function endpointTrouble({ cause }: Pick<TokenEndpointShape, 'cause'>): string {
  return cause === null ? 'provider fails' : ENDPOINT_CAUSE[cause]
}

/** `Failing: client secret rejected, 24 accounts, first token expires in 4 min`; `works`. */
export function endpointStatusText({ at, tokenEndpoint, tokens, accounts }: FleetStatusShape): string {
  if (tokenEndpoint === null || tokenEndpoint.breaker === 'closed') return 'works'
  const { active, failing, parked } = accounts.byState
  const { nearestExpiryAt } = tokens
  const first = nearestExpiryAt === null ? '' : `, ${firstExpiry(Date.parse(nearestExpiryAt), Date.parse(at))}`
  return `${tokenEndpoint.breaker === 'open' ? 'Failing' : 'Recovering'}: ${endpointTrouble(tokenEndpoint)}, ${countOf(active + failing + parked, 'account')}${first}`
}
