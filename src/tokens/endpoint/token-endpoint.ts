import type { ProviderFailure, ProviderResult } from '../../provider/failure.ts'
import type { AlertWrites, EndpointText } from '../../redis/steps.ts'
import type { Clock } from '../../runtime/clock.ts'
import { SharedRun } from '../../runtime/concurrency.ts'
import type { Logger } from '../../runtime/logger.ts'
import { callsWithin } from './pace.ts'
import * as endpoint from './state.ts'
import { ADMITTED, type Admission, WaitQueue } from './wait-queue.ts'

export interface EndpointDeps {
  text: EndpointText
  /** The alerts about the change. `before`: undefined where it is not known. */
  announce(before: endpoint.EndpointState | undefined, after: endpoint.EndpointState, now: number): Promise<AlertWrites>
  /** An alert was committed: it need not wait for the clock. */
  alerted: () => Promise<void>
  clock: Clock
  log: Logger
}

/** How far refreshes of all accounts can be believed, as of a failure that was just reported. */
export interface EndpointVerdict {
  /** The trouble concerns many accounts: this failure is no evidence about its account. */
  fleetTrouble: boolean
  /** When any account was refreshed last, ms. */
  lastSuccessAt: number
  fleet: number
  /** When it is worth asking again, ms. */
  until: number
}

export interface Room {
  calls: number
  /** When to ask again if that is none, ms. */
  until: number
  /** While nothing works one at a time is tried, to see. */
  isProbe: boolean
}

/** `closed`: it was not sent, or the provider did not handle it. */
export type SentCode<S> = ({ is: 'sent' } & S) | Extract<Admission, { is: 'closed' }>

/** Successes are reported with the next fetch of permits, and without such a fetch after so long. */
const REPORT_AFTER_MS = 250
/** While calls wait for permits, more are asked for at most this often. */
const ASK_EVERY_MS = 20
/** A permit that was not used is stale after so long: the world may have changed. */
const STALE_MS = 1_000
/** No call waits longer: an account is due again, and a customer is told to try again. */
const LONGEST_WAIT_MS = 5_000
/** Codes at a time, and in a second, for each daemon: forged ones come in floods, and where the provider hangs, refreshes need the connections. */
const MOST_CODES = 8
const CODE_MS = 1_000

/**
 * This daemon's door to the token endpoint. Permits come from the state that all daemons share, several at a time, so that a
 * call costs no round trip of its own; outcomes of calls are reported when the next ones are fetched, failures at once.
 */
export class TokenEndpoint {
  readonly #deps: EndpointDeps
  #state: endpoint.EndpointState
  #seen: endpoint.Seen[] = []
  #permits = 0
  /** Permits used since some were fetched: about as many will be wanted next. */
  #used = 0
  #fetchedAt = Number.NEGATIVE_INFINITY
  readonly #queue = new WaitQueue()
  /** Addresses that the codes which wait, or are under way, come from. */
  readonly #codes: string[] = []
  #lastBatch = 0
  readonly #exchange: SharedRun
  readonly #closing = new AbortController()

  constructor(deps: EndpointDeps) {
    this.#deps = deps
    this.#exchange = new SharedRun({
      work: () => this.#tell(this.#seen.splice(0)),
      done: () => this.#askAgain(),
      clock: deps.clock,
      signal: this.#closing.signal,
    })
    this.#state = endpoint.newState(this.#now())
  }

  /** A place in line for a chunk of accounts, behind all that were given before. */
  nextBatch(): number {
    return ++this.#lastBatch
  }

  /** Lets one call through, now or soon; or returns until when it is no use to wait. Without a batch it is the next one. */
  enter(batch = 0): Promise<Admission> {
    const isAdmitted = this.#permits > 0 && this.#isFresh() && !this.#closing.signal.aborted
    if (!isAdmitted) return this.#wait('refreshes', batch)
    this.#permits--
    this.#used++
    return ADMITTED
  }

  /** A call that was let through turned out not to be needed. */
  leave(): void {
    this.#permits++
  }

  /** `rotated`: another refresh token came back. */
  succeeded({ rotated }: { rotated: boolean }): void {
    const last = this.#seen.at(-1)
    if (last?.worked === undefined) this.#seen.push({ worked: 1 })
    else last.worked++
    this.#exchange.within(REPORT_AFTER_MS)
    if (!rotated || this.rotates) return
    // Known here at once, and to all others the sooner the better.
    this.#state = { ...this.#state, rotates: true }
    this.#seen.push({ rotated })
    void this.#exchange.fromNow()
  }

  /** Reports a failure at once, and returns its meaning in the light of all others. `isNew`: the account has never worked. */
  async failed(hubId: number, failure: ProviderFailure, isNew = false): Promise<EndpointVerdict> {
    this.#seen.push({ failed: { hubId, failure, isNew } })
    await this.#exchange.fromNow()
    const { breaker, fleet } = this.#state
    const { lastSuccessAt } = breaker
    return { fleetTrouble: breaker.is !== 'closed', lastSuccessAt, fleet, until: this.#opensAt() }
  }

  /**
   * Sends a code of an install. Any caller can send a worthless one, so the provider's answers count for no other call, a 429
   * excepted. `from`: the address that sent it; one of an address that floods goes after those of all others.
   */
  async sendCode<S extends { answer: ProviderResult<unknown> }>(
    send: () => Promise<S>,
    from: string,
  ): Promise<SentCode<S>> {
    const before = this.#codes.filter((other) => other === from).length
    const leave = () => this.#codes.splice(this.#codes.indexOf(from), 1)
    this.#codes.push(from)
    const admission = await this.#wait('codes', before)
    if (admission.is === 'closed') leave()
    if (admission.is === 'closed') return admission
    const spaced = this.#deps.clock.wait(CODE_MS, this.#closing.signal)
    const sent = await send().finally(() => void spaced.then(leave))
    const { answer } = sent
    if (answer.ok || answer.failure.status !== 429) return { is: 'sent', ...sent }
    this.#seen.push({ refusedCode: answer.failure })
    await this.#exchange.fromNow()
    return { is: 'closed', until: endpoint.nextAt(this.#state, 'codes', this.#now()) }
  }

  /** Calls worth starting in the next `ms`. */
  async room(ms: number, fleet: number | undefined): Promise<Room> {
    if (fleet !== undefined) this.#seen.push({ fleet })
    await this.#exchange.fromNow()
    const { breaker, pace } = this.#state
    const [now, until] = [this.#now(), this.#opensAt()]
    if (breaker.is === 'open') return { calls: until <= now ? 1 : 0, until, isProbe: true }
    // Less those that wait here: taken up on top of these, the next would push in between them, later as they expire.
    const calls = Math.max(0, callsWithin(pace, ms, now) - this.#queue.length.refreshes)
    return { calls, until, isProbe: false }
  }

  /** True where a refresh token is good for one refresh only, as far as is known. */
  get rotates(): boolean {
    return this.#state.rotates
  }

  /** True until a refresh has brought the same refresh token again, and none another one. */
  get mayRotate(): boolean {
    return this.rotates || this.#state.breaker.lastSuccessAt === 0
  }

  close(): void {
    this.#closing.abort()
    this.#turnAllAway(this.#now())
  }

  #now(): number {
    return this.#deps.clock.now()
  }

  #wait(kind: keyof endpoint.Calls, batch = 0): Promise<Admission> {
    const now = this.#now()
    if (this.#closing.signal.aborted) return Promise.resolve({ is: 'closed', until: now })
    void this.#exchange.now()
    return this.#queue.join(kind, batch, now)
  }

  /** For those that still wait, when the next permit is there. */
  #askAgain(): void {
    const { refreshes, codes } = this.#queue.length
    if (refreshes + codes === 0) return
    const now = this.#now()
    const nextAt = Math.min(endpoint.nextAt(this.#state, 'refreshes', now), endpoint.nextAt(this.#state, 'codes', now))
    this.#exchange.within(Math.max(ASK_EVERY_MS, nextAt - now))
  }

  #isFresh(): boolean {
    return this.#deps.clock.steady() - this.#fetchedAt < STALE_MS
  }

  get #isOpen(): boolean {
    return this.#state.breaker.is === 'open'
  }

  /** Before this moment nothing goes through. */
  #opensAt(): number {
    const { breaker, pace } = this.#state
    return this.#isOpen ? breaker.probeAt : Math.max(this.#now(), pace.closedUntil)
  }

  /** Reports observations, takes permits for the calls that wait. */
  async #tell(seen: readonly endpoint.Seen[]): Promise<void> {
    try {
      const { calls, most } = await this.#commit(seen)
      // Permits fetched earlier don't count once another daemon was refused.
      const mayUseEarlier = !this.#isOpen && this.#opensAt() <= this.#now() && this.#isFresh()
      const permits = calls + (mayUseEarlier ? this.#permits : 0)
      const admitted = this.#queue.admit(permits, most)
      this.#permits = permits - admitted.refreshes - admitted.codes
      this.#fetchedAt = this.#deps.clock.steady()
      this.#used = admitted.refreshes
      this.#turnTheLateAway()
    } catch (error) {
      // No word from Redis, no permit: without it no account could be claimed either.
      this.#seen = [...seen, ...this.#seen]
      this.#deps.log.warn({ code: 'endpoint.no-redis', err: error }, 'no permits: Redis refuses')
      this.#turnAllAway(this.#now() + STALE_MS)
    }
  }

  async #commit(seen: readonly endpoint.Seen[]): Promise<endpoint.Granted> {
    const { text, announce } = this.#deps
    const { before, state, granted, alerts } = await text.change(async (stored) => {
      const now = this.#now()
      const before = endpoint.decodeEndpoint(stored)
      const reported = endpoint.afterReport(before ?? endpoint.newState(now), seen, now)
      const waiting = this.#queue.length
      const refreshes = waiting.refreshes + Math.max(0, this.#used - this.#permits)
      const codes = Math.min(waiting.codes, MOST_CODES - (this.#codes.length - waiting.codes))
      const { state, granted } = endpoint.grant(reported, { refreshes, codes }, now)
      const alerts = await announce(before, state, now)
      return { after: JSON.stringify(state), alerts, result: { before, state, granted, alerts } }
    })
    this.#state = state
    if (before !== undefined) this.#logChange(before, state)
    if (alerts.entries.length > 0) await this.#wakeAlerts()
    return granted
  }

  /** The alert is committed: if no daemon can be woken, the clock's next tick finds it. */
  async #wakeAlerts(): Promise<void> {
    await this.#deps.alerted().catch((error: unknown) => {
      this.#deps.log.warn({ code: 'endpoint.not-woken', err: error }, 'no daemon could be woken for a new alert')
    })
  }

  #logChange(before: endpoint.EndpointState, { breaker, pace }: endpoint.EndpointState): void {
    if (before.breaker.is !== breaker.is) {
      const { cause, detail: reason } = breaker.is === 'closed' ? before.breaker : breaker
      const level = breaker.is === 'open' ? 'error' : 'info'
      this.#deps.log[level]({ code: `endpoint.${breaker.is}`, cause, reason }, `the token endpoint is ${breaker.is}`)
    }
    if (pace.closedUntil > Math.max(before.pace.closedUntil, pace.at)) {
      const facts = { waitMs: pace.closedUntil - pace.at, mostPerSecond: Math.round(pace.perSecond * 10) / 10 }
      this.#deps.log.warn({ code: 'endpoint.429', ...facts }, 'the provider accepts fewer token requests')
    }
  }

  #turnTheLateAway(): void {
    const now = this.#now()
    this.#queue.turnAway((kind, since) => {
      const at = Math.max(now, endpoint.nextAt(this.#state, kind, now))
      const isLate = at > since + LONGEST_WAIT_MS || (kind === 'refreshes' && this.#isOpen && at > now)
      return isLate ? at : undefined
    })
  }

  #turnAllAway(until: number): void {
    this.#queue.turnAway(() => until)
  }
}
