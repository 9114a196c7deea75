import { NOTHING_USED, useAfter } from '../../provider/bucket-use.ts'
import type { ProviderClient } from '../../provider/client.ts'
import type { CrmResult } from '../../provider/failure.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { InFlight } from '../../runtime/concurrency.ts'

/**
 * Plimsoll's own share of an account's bucket at the provider: the vendor's product lives off the same bucket. Only who has
 * the account's claim calls for it, so the last calls are kept in its watch.
 */
export interface ShareSettings {
  requests: number
  perMs: number
}

/**
 * Calls of the last polls of an account, the oldest first: when the last of each was answered, ms, and how many count from then.
 * There are no more polls than calls in its share.
 */
export type CallsMade = readonly (readonly [at: number, calls: number])[]

/**
 * True where a call that was answered `at` counts at `now`. A moment further ahead than daemons' clocks differ comes
 * from before a clock was set back: no poll waits for it.
 */
function counts(at: number, now: number, { perMs }: ShareSettings): boolean {
  return at + perMs > now && at - now <= perMs
}

/** How many calls may be made at `now`, and if none, in how many ms one may. `own`: when those of this poll were answered. */
export function shareLeft(
  share: ShareSettings,
  before: CallsMade | undefined,
  own: readonly number[],
  now: number,
): { granted: number; waitMs: number } {
  const { requests, perMs } = share
  const made = [...(before ?? []), ...own.map((at) => [at, 1] as const)].filter(([at]) => counts(at, now, share))
  const inAll = made.reduce((sum, [, calls]) => sum + calls, 0)
  if (inAll < requests) return { granted: requests - inAll, waitMs: 0 }
  // Until so many have fallen out of the window that one more fits.
  let left = inAll
  for (const [at, calls] of made.toSorted(([a], [b]) => a - b)) {
    left -= calls
    if (left < requests) return { granted: 0, waitMs: Math.max(1, at + perMs - now) }
  }
  return { granted: 0, waitMs: perMs }
}

/** Calls before the next poll that it counts. */
export function callsAfter(
  share: ShareSettings,
  before: CallsMade | undefined,
  own: readonly number[],
): CallsMade | undefined {
  const last = own.at(-1)
  if (last === undefined) return before
  const calls = own.filter((at) => counts(at, last, share)).length
  return [...(before ?? []).filter(([at]) => counts(at, last, share)), [last, calls]]
}

/** Services of polls. */
export interface FetchDeps {
  provider: ProviderClient
  share: ShareSettings
  inFlight: InFlight
  clock: Clock
  /** No worker calls for the account before a moment, ms; never shorter than it is. */
  pauseCalls: (hubId: number, until: number) => Promise<void>
  /** The poll goes on: one with many pairs waits for its share. */
  stillPolling: (hubId: number) => void
}

/** The poll that the calls are for. */
export interface CallsOf {
  hubId: number
  /** Calls of earlier polls. */
  before: CallsMade | undefined
}

/** Calls under way for one account at a time: of more, all would be refused before the first refusal arrives. */
export const AT_ONCE = 5

/** A waiting poll says as often that it goes on; one that has made no call yet does not wait for longer. */
const LONGEST_WAIT_MS = 20_000

/**
 * The calls of one poll of one account, all that it makes: within its share, several at a time. What an answer has about the
 * account's rate limit counts for every worker; this poll begins no further call then.
 */
export class AccountCalls {
  /**
   * Moments at which each was answered, or failed, ms: it counts from then, however long the way to the provider took.
   */
  readonly made: number[] = []
  /** Use of the account's bucket, as the answers showed it. */
  bucketUse = NOTHING_USED
  /** True where calls of this round were not begun because the account is paused. */
  leftOut = false
  /** Until when no daemon calls for the account, ms since 1970. */
  pausedUntil: number | undefined
  /** True where the signal to stop came first. */
  stopped = false
  readonly #deps: Omit<FetchDeps, 'provider'>
  readonly #of: CallsOf
  readonly #signal: AbortSignal

  constructor(deps: Omit<FetchDeps, 'provider'>, of: CallsOf, signal: AbortSignal) {
    this.#deps = deps
    this.#of = of
    this.#signal = signal
  }

  /** Calls that the next poll counts. */
  get toCount(): CallsMade | undefined {
    return callsAfter(this.#deps.share, this.#of.before, this.made)
  }

  /**
   * All is asked for, or asked anew. `pausedUntil`: no call before, as the provider asked any daemon, ms; 0 = there is
   * no pause.
   */
  beginRound(pausedUntil: number): void {
    const until = Math.max(pausedUntil, this.pausedUntil ?? 0)
    this.pausedUntil = until > this.#deps.clock.now() ? until : undefined
    this.leftOut = false
  }

  /** Makes these calls in their order, as many as there is leave for. The result of each; undefined: it was not made. */
  async make<T>(calls: readonly (() => Promise<CrmResult<T>>)[]): Promise<(CrmResult<T> | undefined)[]> {
    const results: (CrmResult<T> | undefined)[] = []
    while (results.length < calls.length && !this.stopped) {
      if (this.pausedUntil !== undefined) {
        this.leftOut = true
        break
      }
      // Only as many as are made at once: a call that is made later than it is counted would add to the next window.
      const granted = await this.#take(Math.min(AT_ONCE, calls.length - results.length))
      const some = calls.slice(results.length, results.length + granted)
      results.push(...(await Promise.all(some.map((call) => this.#make(call)))))
    }
    return results
  }

  /**
   * How many of `wanted` may be made now: at least one, waiting for it if need be; 0 once it is to stop, and where nothing was made
   * yet and the share is gone for long: then the account is due when there is some of it.
   */
  async #take(wanted: number): Promise<number> {
    const { share, clock, stillPolling } = this.#deps
    const { hubId, before } = this.#of
    while (!this.#signal.aborted) {
      const { granted, waitMs } = shareLeft(share, before, this.made, clock.now())
      if (granted > 0) return Math.min(granted, wanted)
      if (this.made.length === 0 && waitMs > LONGEST_WAIT_MS) {
        this.pausedUntil = clock.now() + waitMs
        return 0
      }
      stillPolling(hubId)
      await clock.wait(Math.min(waitMs, LONGEST_WAIT_MS), this.#signal)
    }
    this.stopped = true
    return 0
  }

  async #make<T>(call: () => Promise<CrmResult<T>>): Promise<CrmResult<T> | undefined> {
    const { inFlight, pauseCalls } = this.#deps
    const made = await inFlight.run('normal', async () => {
      // The pause may have begun while this call waited for its place.
      return this.pausedUntil === undefined ? this.#counted(await call()) : undefined
    })
    if (made === undefined) this.leftOut = true
    if (made?.pausesUntil !== undefined) await pauseCalls(this.#of.hubId, made.pausesUntil)
    return made?.result
  }

  #counted<T>(result: CrmResult<T>): { result: CrmResult<T>; pausesUntil?: number } {
    const now = this.#deps.clock.now()
    this.made.push(now)
    this.bucketUse = useAfter(this.bucketUse, result)
    const until = pausedUntil(result, now)
    if (until === undefined || until <= (this.pausedUntil ?? 0)) return { result }
    this.pausedUntil = until
    return { result, pausesUntil: until }
  }
}

/** Share of the account's bucket that is left to the app itself, which draws from it too. */
const LEFT_FOR_THE_APP = 0.2

/** The window of the provider's usual rate limit, for a refusal that doesn't name it. */
const UNTOLD_MS = 10_000

/** A bucket that is filled once a day is not waited for: the next poll tries again. */
const LONGEST_FOR_THE_APP_MS = 60_000

/** Until when an answer keeps all daemons from calling for its account, ms since 1970; undefined if it doesn't. */
export function pausedUntil(result: CrmResult<unknown>, now: number): number | undefined {
  return Math.max(pauseAsked(result, now), nearlyUsedUp(result, now)) || undefined
}

/** The provider's word: too many calls, or stay away for so long; 0: none. */
function pauseAsked(result: CrmResult<unknown>, now: number): number {
  if (result.ok) return 0
  const { class: kind, status, retryAfterMs } = result.failure
  if (status === 429) return now + (retryAfterMs ?? UNTOLD_MS)
  const awaits = retryAfterMs !== undefined && (kind === 'transient' || kind === 'parked')
  return awaits ? now + retryAfterMs : 0
}

function nearlyUsedUp({ bucket }: CrmResult<unknown>, now: number): number {
  if (bucket === undefined || bucket.remaining >= bucket.max * LEFT_FOR_THE_APP) return 0
  return now + Math.min(bucket.intervalMs, LONGEST_FOR_THE_APP_MS)
}
