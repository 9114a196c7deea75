import { type HeartbeatFactsDeps, readHeartbeatFacts } from '../src/heartbeat/heartbeat-facts.ts'
import { describeFacts, type HeartbeatVerdict, judgeHeartbeat } from '../src/heartbeat/judge-heartbeat.ts'
import type { Pinger } from '../src/heartbeat/ping.ts'
import type { JobDeps } from './job-deps.ts'

type SweepHeartbeatDeps = Pick<JobDeps, 'heartbeats' | 'heartbeat' | 'metrics' | 'clock' | 'log'> & HeartbeatFactsDeps

/**
 * Reports to a service outside that all is within bounds, or what is not: once in a period for all daemons. What
 * can't be read is not reported: silence is the alarm then. The ping is not awaited.
 */
export async function sweepHeartbeat(deps: SweepHeartbeatDeps): Promise<undefined> {
  const { heartbeats, heartbeat, clock } = deps
  if (heartbeat === undefined) return
  const now = clock.now()
  if (!(await heartbeats.take(heartbeat.everyMs, now))) return
  const facts = await readHeartbeatFacts(deps, heartbeat.bounds, heartbeat.daemon, now)
  // A Redis that was away is waited for; what was true before is no evidence for now.
  if (clock.now() - now > heartbeat.everyMs) return
  const verdict = judgeHeartbeat(facts, heartbeat.bounds)
  await noteVerdict(deps, verdict, heartbeat.everyMs, now)
  const text = verdict.ok ? describeFacts(facts) : verdict.reasons.join('\n')
  void ping(deps, heartbeat.pinger, verdict.ok, text)
}

async function noteVerdict(
  { heartbeats, log }: SweepHeartbeatDeps,
  verdict: HeartbeatVerdict,
  everyMs: number,
  now: number,
): Promise<void> {
  const last = await heartbeats.last()
  const isNews = last?.verdict.ok !== verdict.ok
  await heartbeats.note(verdict, isNews ? now : (last?.since ?? now), everyMs, now)
  if (!isNews) return
  if (!verdict.ok) log.error({ code: 'heartbeat.fail', reasons: verdict.reasons }, verdict.reasons.join(' '))
  else if (last !== undefined) log.info({ code: 'heartbeat.ok' }, 'all is within bounds again')
}

/** One that fails is not tried again: the next one comes within the minute. */
async function ping(
  { heartbeats, metrics, log }: SweepHeartbeatDeps,
  pinger: Pinger,
  ok: boolean,
  text: string,
): Promise<void> {
  const outcome = await pinger.ping(ok, text)
  metrics.heartbeatPings.inc({ outcome: outcome.outcome })
  if (outcome.outcome === 'failed')
    log.warn({ code: 'heartbeat.unsent', reason: outcome.reason }, `the heartbeat could not be sent: ${outcome.reason}`)
  await heartbeats.notePing(outcome).catch(() => undefined) // Shown only.
}
