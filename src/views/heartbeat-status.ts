import type { HeartbeatStore } from '../heartbeat/heartbeat-store.ts'
import { iso } from '../text/format-time.ts'
import type { HeartbeatShape } from './shapes/fleet-status.ts'

/** What somebody outside was told last. */
export type HeartbeatStatus = HeartbeatShape

/** Null where there is no heartbeat, or none yet. */
export async function readHeartbeat(heartbeats: HeartbeatStore, now: number): Promise<HeartbeatStatus | null> {
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
export function heartbeatText({ ok, late, reasons, ping }: HeartbeatStatus): string {
  if (late) return 'none since: the service outside hears nothing'
  const verdict = ok ? 'within bounds' : `out of bounds: ${reasons.join(' ')}`
  return ping === null || ping.sent ? verdict : `${verdict} (not sent: ${ping.reason})`
}
