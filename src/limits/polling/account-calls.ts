import { NOTHING_USED, useAfter } from '../../provider/bucket-use.ts'
import type { ProviderClient } from '../../provider/client.ts'
import type { CrmResult } from '../../provider/failure.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { InFlight } from '../../runtime/concurrency.ts'
import { namedReports } from '../reports/all-reports.ts'
import type { CallShare, Taken } from './call-share.ts'
import { callsOf, type PollSettings } from './poll-settings.ts'

/** What polls of accounts work with. */
export interface FetchDeps {
  provider: ProviderClient
  share: CallShare
  inFlight: InFlight
  clock: Clock
  /**
   * Keeps the account claimed: one with many pairs takes longer than a claim lasts. `polls`: the number of its last poll as
   * this one read it. Where another worker has polled it since, its due time is not moved.
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

/** Calls under way for one account at a time: of more, all would be refused before the first refusal arrives. */
export const AT_ONCE = 5

/**
 * The calls of one poll of one account: within its share, several at a time. What an answer has about the account's rate
 * limit counts for every worker; this poll begins no further call then.
 */
export class AccountCalls {
  /** Answered or failed so far. */
  made = 0
  failed = 0
  /** What they showed of the account's bucket. */
  bucketUse = NOTHING_USED
  /** Whether calls were not begun because the account is paused. */
  leftOut = false
  /** Until when no daemon calls for the account, ms since 1970. */
  pausedUntil: number | undefined
  /** Whether the signal to stop came first. */
  stopped = false
  readonly #deps: Omit<FetchDeps, 'provider'>
  readonly #hubId: number
  readonly #polls: string
  readonly #signal: AbortSignal
  #ahead: Taken | undefined
  /** Calls that were made, but still count from the moment at which they were taken: `settle` corrects it. */
  #unsettled: Taken | undefined

  constructor(deps: Omit<FetchDeps, 'provider'>, { hubId, polls, taken }: CallsOf, signal: AbortSignal) {
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
      // Only as many as are made at once: a call that is made later than it is counted would add to the next window.
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

  /** The last calls count from their answers: for the next poll that asks for the account's share. */
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
      // The pause may have begun while this call waited for its place.
      if (this.pausedUntil !== undefined) {
        this.leftOut = true
        return
      }
      const result = await call()
      this.made++
      if (!result.ok) this.failed++
      this.bucketUse = useAfter(this.bucketUse, result)
      const until = pausedUntil(result, this.#deps.clock.now())
      if (until !== undefined && until > (this.pausedUntil ?? 0)) {
        this.pausedUntil = until
        await this.#deps.share.pause(this.#hubId, until)
      }
    })
  }
}

/** Of the account's bucket: what is left below this share is for the app itself, which draws from it too. */
const LEFT_FOR_THE_APP = 0.2

/** The window of the provider's usual rate limit, for a refusal that doesn't name it. */
const UNTOLD_MS = 10_000

/** A bucket that is filled once a day is not waited for: the next poll tries again. */
const LONGEST_FOR_THE_APP_MS = 60_000

/** Until when an answer keeps all daemons from calling for its account, ms since 1970; undefined if it doesn't. */
export function pausedUntil(result: CrmResult<unknown>, now: number): number | undefined {
  return laterOf(told(result, now), nearlyUsedUp(result, now))
}

/** The provider's word: too many calls, or stay away for so long. */
function told(result: CrmResult<unknown>, now: number): number | undefined {
  if (result.ok) return undefined
  const { class: kind, status, retryAfterMs } = result.failure
  if (status === 429) return now + (retryAfterMs ?? UNTOLD_MS)
  const awaits = retryAfterMs !== undefined && (kind === 'transient' || kind === 'parked')
  return awaits ? now + retryAfterMs : undefined
}

function nearlyUsedUp({ bucket }: CrmResult<unknown>, now: number): number | undefined {
  if (bucket === undefined || bucket.remaining >= bucket.max * LEFT_FOR_THE_APP) return undefined
  return now + Math.min(bucket.intervalMs, LONGEST_FOR_THE_APP_MS)
}

function laterOf(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.max(one, other)
}

/**
 * Calls that a poll of any account makes at once, so that they can be taken from the account's share when the poll
 * begins; 0 where settings differ by account: which account it is is not known yet.
 */
export function firstCalls({ associations, reports, accounts }: Omit<PollSettings, 'every' | 'soonest'>): number {
  if (accounts.some((override) => override.associations !== undefined)) return 0
  return Math.min(AT_ONCE, callsOf(namedReports(reports), associations === 'auto' ? 0 : associations.length))
}
