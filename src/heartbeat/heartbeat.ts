import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { Pinger, PingOutcome } from './ping.ts'

export type HeartbeatVerdict = { ok: true } | { ok: false; reasons: string[] }

export interface HeartbeatSettings {
  everyMs: number
  pinger: Pinger
  /** Troubles that are out of bounds, one sentence each, and a summary of a few lines. */
  check(): Promise<{ reasons: string[]; summary: string }>
}

interface HeartbeatWork {
  heartbeats: HeartbeatStore
  /** Undefined: no heartbeat is sent. */
  heartbeat: HeartbeatSettings | undefined
  metrics: Metrics
  clock: Clock
  log: Logger
}

/**
 * Reports to a service outside that all is within bounds, or what is not: once in a period for all daemons. What
 * can't be read is not reported: silence is the alarm then. The ping is not awaited.
 */
export async function sweepHeartbeat(deps: HeartbeatWork): Promise<undefined> {
  const { heartbeats, heartbeat, clock, log } = deps
  if (heartbeat === undefined) return
  const now = clock.now()
  if (!(await heartbeats.take(heartbeat.everyMs, now))) return
  const { reasons, summary } = await heartbeat.check()
  // A Redis that was away is waited for; what was true before is no evidence for now.
  if (clock.now() - now > heartbeat.everyMs) return
  const verdict: HeartbeatVerdict = reasons.length === 0 ? { ok: true } : { ok: false, reasons }
  const last = await heartbeats.last()
  const isNews = last?.verdict.ok !== verdict.ok
  await heartbeats.note(verdict, isNews ? now : (last?.since ?? now), heartbeat.everyMs, now)
  if (isNews && !verdict.ok) log.error({ code: 'heartbeat.fail', reasons }, reasons.join(' '))
  if (isNews && verdict.ok && last !== undefined) log.info({ code: 'heartbeat.ok' }, 'all is within bounds again')
  void ping(deps, heartbeat.pinger, verdict.ok, verdict.ok ? summary : reasons.join('\n'))
}

/** One that fails is not tried again: the next one comes within the minute. */
async function ping(
  { heartbeats, metrics, log }: HeartbeatWork,
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

/** The last heartbeat of any daemon. */
export interface LastHeartbeat {
  at: number
  verdict: HeartbeatVerdict
  /** Since when the verdict has been that: ok, or not. */
  since: number
  /** By when there should have been another one. */
  nextBy: number
  /** The outcome of the ping; null = not known yet. */
  ping: PingOutcome | null
}

/** One or two may be missed, where a daemon is started anew. */
const PERIODS = 3
/** One that is no longer configured is forgotten. */
const KEPT_MS = 7 * 86_400_000

/** State of the heartbeat, which all daemons share. */
export class HeartbeatStore {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** True where the heartbeat of this period is the caller's: of all daemons one gets it. */
  async take(everyMs: number, now: number): Promise<boolean> {
    const { heartbeat } = this.#keys
    const [field, period] = [`period-${everyMs}`, Math.floor(now / everyMs)]
    const before = (await this.#store.hget(heartbeat, field)) ?? ''
    // One daemon may be a moment behind another; a period further ahead is from before the clock was set back.
    if (before !== '' && [0, 1].includes(Number(before) - period)) return false
    return (await this.#store.replaceField(heartbeat, field, before, period)) === null
  }

  async last(): Promise<LastHeartbeat | undefined> {
    const { at, since, nextBy, reasons, ping } = await this.#store.hgetall(this.#keys.heartbeat)
    if (at === undefined || since === undefined) return undefined
    return {
      at: Number(at),
      since: Number(since),
      nextBy: Number(nextBy),
      verdict: reasons === undefined || reasons === '' ? { ok: true } : { ok: false, reasons: reasons.split('\n') },
      ping: ping === undefined || ping === '' ? null : readPing(ping),
    }
  }

  /** Stored before it is sent: readers see the newest verdict meanwhile. */
  async note(verdict: HeartbeatVerdict, since: number, everyMs: number, now: number): Promise<void> {
    const key = this.#keys.heartbeat
    const reasons = verdict.ok ? '' : verdict.reasons.join('\n')
    await this.#store.hset(key, { at: now, since, nextBy: now + PERIODS * everyMs, reasons, ping: '' })
    await this.#store.pexpire(key, KEPT_MS)
  }

  async notePing(ping: PingOutcome): Promise<void> {
    await this.#store.hset(this.#keys.heartbeat, 'ping', ping.outcome === 'sent' ? 'sent' : `failed: ${ping.reason}`)
  }
}

function readPing(stored: string): PingOutcome {
  return stored === 'sent' ? { outcome: 'sent' } : { outcome: 'failed', reason: stored.replace(/^failed: /, '') }
}
