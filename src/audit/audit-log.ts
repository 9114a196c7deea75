import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { resultsOf } from '../redis/results-of.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { cleanText } from '../text/clean-text.ts'
import { AUDIT_KEPT_MS, type AuditedDeed, auditedOf, LONGEST, MOST_ENTRIES } from './audited.ts'
import { encodeDeed } from './stored-entry.ts'

interface AuditDeps {
  /** One that gives up soon: what was done is not held up by a Redis that hangs. */
  store: Store
  keys: Keys
  clock: Clock
  log: Logger
}

/** Fields of a log line beyond the audit's, by its code. */
type Facts = Record<string, unknown>

const DAY_MS = 86_400_000
/** Names of what was handed out today, at most: then some are written again. */
const MOST_NOTED = 10_000

/** The audit: each deed is a line of the log, and an entry in Redis for 90 days. */
export class AuditLog {
  readonly #deps: AuditDeps
  /** Tokens that were handed out already -> when. */
  readonly #handed = new Map<string, number>()

  constructor(deps: AuditDeps) {
    this.#deps = deps
  }

  /**
   * After it was done: never rejects, because what was done is done. Where Redis takes no entry the log has it, whole, as an
   * error.
   */
  async note(deed: AuditedDeed, facts: Facts = {}): Promise<void> {
    const { code, did } = auditedOf(deed.action)
    const { who, hubId } = deed
    const by = cleanText(who.name, LONGEST.name)
    const line = { by, via: who.via, ...(hubId === undefined ? {} : { hubId }), ...facts }
    if (code !== undefined) this.#deps.log.info({ code, ...line }, did)
    await this.#write(deed)
  }

  /** Deeds that programs and strangers repeat are written once a day for each of them and account; the log has each. */
  async noteFirstOfDay(deed: AuditedDeed, facts: Facts = {}): Promise<void> {
    const now = this.#deps.clock.now()
    const key = [deed.action, deed.who.name || deed.who.from, deed.who.via, deed.hubId].join(' ')
    const last = this.#handed.get(key)
    if (last !== undefined && Math.abs(now - last) < DAY_MS) return
    const [oldest] = this.#handed.keys()
    if (this.#handed.size >= MOST_NOTED && oldest !== undefined) this.#handed.delete(oldest)
    this.#handed.delete(key)
    this.#handed.set(key, now)
    await this.note(deed, facts)
  }

  async #write(deed: AuditedDeed): Promise<void> {
    const { store, keys, clock, log } = this.#deps
    try {
      const writing = store
        .multi()
        .xadd(keys.audit, 'MAXLEN', '~', MOST_ENTRIES, '*', 'deed', encodeDeed(deed))
        .xtrim(keys.audit, 'MINID', Math.round(clock.now() - AUDIT_KEPT_MS))
        // A stream without new entries is not trimmed either.
        .pexpire(keys.audit, AUDIT_KEPT_MS)
      resultsOf(await writing.exec())
    } catch (error) {
      const { action, who, hubId, subject, detail } = deed
      const entry = { action, who: who.name, via: who.via, from: who.from, hubId, subject, detail }
      log.error(
        { code: 'audit.not-written', entry, err: error },
        `the audit has no entry of this, Redis did not take it: ${who.name} ${auditedOf(action).did}`,
      )
    }
  }
}
