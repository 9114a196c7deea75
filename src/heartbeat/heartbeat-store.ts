import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { HeartbeatVerdict } from './judge-heartbeat.ts'

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

export type PingOutcome = { outcome: 'sent' } | { outcome: 'failed'; reason: string }

/** One or two may be missed, where a daemon is started anew. */
const PERIODS = 3
/** One that is no longer configured is forgotten. */
const KEPT_MS = 7 * 86_400_000

/** What the daemons know together of the heartbeat. */
export class HeartbeatStore {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** Whether the heartbeat of this period is the caller's: of all daemons one gets it. */
  async take(everyMs: number, now: number): Promise<boolean> {
    const turn = this.#keys.heartbeatTurn(Math.floor(now / everyMs))
    return (await this.#store.set(turn, now, 'PX', 2 * everyMs, 'NX')) === 'OK'
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
