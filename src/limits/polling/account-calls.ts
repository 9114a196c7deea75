import type { CrmResult } from '../../provider/failure.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { InFlight } from '../../runtime/in-flight.ts'
import type { CallShare, Taken } from './call-share.ts'
import { pausedUntil } from './pause.ts'

export interface AccountCallsDeps {
  share: CallShare
  inFlight: InFlight
  clock: Clock
  /**
   * Keeps the account claimed: one with many pairs takes longer than a claim lasts. `polls`: the number of its last poll as
   * this one read it. Where another worker has polled it since, the account has a next moment, which stays.
   */
  stillPolling: (hubId: number, polls: string) => Promise<unknown>
}

/** The poll that the calls are for. */
export interface CallsOf {
  hubId: number
  polls: string
  /** What the account's share gave for the first calls when the poll began. */
  taken?: Taken | undefined
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
  readonly #polls: string
  readonly #signal: AbortSignal
  #ahead: Taken | undefined
  /** Made, and counted from when they were taken. */
  #unsettled: Taken | undefined

  constructor(deps: AccountCallsDeps, { hubId, polls, taken }: CallsOf, signal: AbortSignal) {
    this.#deps = deps
    this.#hubId = hubId
    this.#polls = polls
    this.#signal = signal
    this.#ahead = taken
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
      const taken = this.#ahead ?? (await this.#take(wanted))
      this.#ahead = undefined
      this.pausedUntil = taken.pausedUntil
      if (taken.pausedUntil !== undefined) continue
      if (taken.granted === 0) this.stopped = true
      if (begun > 0 && taken.granted > 0) await this.#stillPolling()
      await Promise.all(calls.slice(begun, begun + taken.granted).map((call) => this.#oneOf(call)))
      begun += taken.granted
      this.#unsettled = taken
    }
  }

  /** The last calls count from their answers: for whoever asks the account's share before long. */
  async settle(): Promise<void> {
    const calls = this.#unsettled
    this.#unsettled = undefined
    if (calls !== undefined) await this.#deps.share.settle(this.#hubId, calls)
  }

  async #take(wanted: number): Promise<Taken> {
    await this.settle()
    return this.#deps.share.take(this.#hubId, wanted, this.#signal, () => this.#stillPolling())
  }

  async #stillPolling(): Promise<void> {
    await this.#deps.stillPolling(this.#hubId, this.#polls)
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
