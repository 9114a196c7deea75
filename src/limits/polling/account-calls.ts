import type { CrmResult } from '../../provider/failure.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { InFlight } from '../../runtime/in-flight.ts'
import type { CallShare, Taken } from './call-share.ts'
import { pausedUntil } from './pause.ts'

export interface AccountCallsDeps {
  share: CallShare
  inFlight: InFlight
  clock: Clock
  /** Keeps the account claimed: one with many pairs takes longer than a claim lasts. */
  stillPolling: (hubId: number) => Promise<void>
}

/** Of one account at a time: more would all be refused before the first refusal is heard. */
export const AT_ONCE = 5

/**
 * The calls of one poll of one account: within its share, several at a time. What an answer says of the account's rate
 * limit counts for every worker; this poll begins no further call then.
 */
export class AccountCalls {
  /** Answered or failed so far. */
  made = 0
  failed = 0
  /** Whether calls were not begun because the account is paused. */
  leftOut = false
  /** Until when everybody leaves the account alone, ms since 1970. */
  pausedUntil: number | undefined
  /** Whether the signal to stop came first. */
  stopped = false
  readonly #deps: AccountCallsDeps
  readonly #hubId: number
  readonly #signal: AbortSignal
  #ahead: Taken | undefined

  /** `ahead`: what the account's share gave for the first calls when the poll began. */
  constructor(deps: AccountCallsDeps, hubId: number, signal: AbortSignal, ahead?: Taken) {
    this.#deps = deps
    this.#hubId = hubId
    this.#signal = signal
    this.#ahead = ahead
  }

  /** Makes these calls in their order, as many as there is leave for. */
  async make(calls: readonly (() => Promise<CrmResult<unknown>>)[]): Promise<void> {
    for (let begun = 0; begun < calls.length && !this.stopped; ) {
      if (this.#signal.aborted) this.#ahead = undefined
      if (this.pausedUntil !== undefined) {
        this.leftOut = true
        return
      }
      // Only what is made at once: a call that is made later than it is counted meets those of the next window.
      const wanted = Math.min(AT_ONCE, calls.length - begun)
      const stillPolling = () => this.#deps.stillPolling(this.#hubId)
      const taken = this.#ahead ?? (await this.#deps.share.take(this.#hubId, wanted, this.#signal, stillPolling))
      this.#ahead = undefined
      this.pausedUntil = taken.pausedUntil
      if (taken.pausedUntil !== undefined) continue
      if (taken.granted === 0) this.stopped = true
      if (begun > 0 && taken.granted > 0) await stillPolling()
      await Promise.all(calls.slice(begun, begun + taken.granted).map((call) => this.#oneOf(call)))
      begun += taken.granted
    }
  }

  #oneOf(call: () => Promise<CrmResult<unknown>>): Promise<void> {
    return this.#deps.inFlight.run('normal', async () => {
      // It may have been said while this one waited for its place.
      if (this.pausedUntil !== undefined) {
        this.leftOut = true
        return
      }
      const result = await call()
      this.made++
      if (!result.ok) this.failed++
      const until = pausedUntil(result, this.#deps.clock.now())
      if (until !== undefined && until > (this.pausedUntil ?? 0)) {
        this.pausedUntil = until
        await this.#deps.share.pause(this.#hubId, until)
      }
    })
  }
}
