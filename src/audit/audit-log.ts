import { resultsOf } from '../redis/answers.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
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

const DAY_MS = 86_400_000
/** Entries a day of one daemon for what programs repeat, and as many for strangers: 450,000 in 90 days. */
const MOST_NOTED = 2_500

/** The audit: each deed is a line of the log, and an entry in Redis for 90 days. */
export class AuditLog {
  readonly #deps: AuditDeps
  /** Callers of a day and what each was noted for. */
  #today = { since: 0, repeated: new Set<string>(), refused: new Set<string>() }

  constructor(deps: AuditDeps) {
    this.#deps = deps
  }

  /**
   * After it was done: never rejects, because what was done is done. Where Redis takes no entry the log has it, whole, as an
   * error. `facts`: fields of its log line beyond the audit's.
   */
  async note(deed: AuditedDeed, facts: Record<string, unknown> = {}): Promise<void> {
    const { code, did } = auditedOf(deed.action)
    const { who, hubId } = deed
    const by = cleanText(who.name, LONGEST.name)
    if (code !== undefined) this.#deps.log.info({ code, by, via: who.via, hubId, ...facts }, did)
    await this.#write(deed)
  }

  /**
   * Deeds that programs and strangers repeat are noted once a day for each of them and account. Where a day has too many,
   * accounts are no longer told apart, nor strangers. `more`: what else tells them apart, as the network of the peer does.
   */
  async noteFirstOfDay(deed: AuditedDeed, more = ''): Promise<void> {
    const { action, who, hubId } = deed
    const now = this.#deps.clock.now()
    if (Math.abs(now - this.#today.since) >= DAY_MS)
      this.#today = { since: now, repeated: new Set(), refused: new Set() }
    const noted = action === 'sign-in.refused' ? this.#today.refused : this.#today.repeated
    const before = noted.size
    const caller = JSON.stringify([action, who.name, who.via])
    const each = `${caller} ${hubId} ${more}`
    noted.add(before < MOST_NOTED || noted.has(each) ? each : caller)
    if (noted.size > before) await this.note(deed)
  }

  /** Work that is asked for: each time where a person asks, once a day where a program does. */
  async noteRequest(deed: AuditedDeed, more?: string): Promise<void> {
    await (deed.who.via === 'token' ? this.noteFirstOfDay(deed, more) : this.note(deed))
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
