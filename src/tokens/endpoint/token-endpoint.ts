import type { ProviderFailure, ProviderResult } from '../../provider/failure.ts'
import type { AlertWrites, SharedText } from '../../redis/steps.ts'
import type { Clock } from '../../runtime/clock.ts'
import { SharedRun } from '../../runtime/concurrency.ts'
import type { Logger } from '../../runtime/logger.ts'
import { type Calls, callsWithin } from './pace.ts'
import * as endpoint from './state.ts'

export interface EndpointDeps {
  text: SharedText
  settings: endpoint.EndpointSettings
  /** The alerts about the change. `before`: undefined where it is not known. */
  announce(before: endpoint.EndpointState | undefined, after: endpoint.EndpointState, now: number): Promise<AlertWrites>
  /** How far the provider's clock is ahead of ours, ms, where an answer has shown it. */
  skewMs: () => number | undefined
  /** The machine that measures it: daemons of one machine have the same clock. */
  machine: string
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
  /** How many accounts, and how many of them may have failed before. */
  calls: number
  retries: number
  /** When to ask again if that is none, ms. */
  until: number
  /** While nothing works one at a time is tried, to see. */
  isProbe: boolean
}

/** `closed`: it was not sent, or the provider did not handle it. */
export type SentCode<S> = ({ is: 'sent' } & S) | Extract<Admission, { is: 'closed' }>

/** Outcomes are reported with the next fetch of permits, and without such a fetch after so long. */
const REPORT_AFTER_MS = 250
/** While calls wait for permits, more are asked for at most this often. */
const ASK_EVERY_MS = 20
/** A permit that was not used is stale after so long: the world may have changed. */
const STALE_MS = 1_000
/** No refresh waits longer than this for the endpoint to open: the account's next moment is moved instead. */
const WAIT_MS = 2_000
/** A customer waits longer for a page, unless it is known that it would be for nothing. */
const WAIT_WITH_CODE_MS = 5_000
/** Codes under way at a time, for each daemon: where the provider hangs, refreshes need the connections. */
const MOST_CODES = 8

/** The same for all: nearly every refresh asks, and nearly all are let through at once. */
const ADMITTED: Promise<Admission> = Promise.resolve({ is: 'admitted' })

/**
 * This daemon's door to the token endpoint. Permits come from the state that all daemons share, several at a time, so that a
 * call costs no round trip of its own; outcomes of calls are reported when the next ones are fetched. The first failure gives
 * back the permits that are left: reports of other daemons count at once.
 */
export class TokenEndpoint {
  readonly #deps: EndpointDeps
  #state: endpoint.EndpointState
  /** The text that this daemon wrote last, and the state in it. */
  #written: { text: string; state: endpoint.EndpointState } | undefined
  #seen: endpoint.Seen[] = [{ started: true }]
  #permits = 0
  /** Permits used since some were fetched: about as many will be wanted next. */
  #used = 0
  #fetchedAt = 0
  readonly #refreshes = new Line()
  readonly #codes = new Line()
  #codesUnderWay = 0
  #lastTurn = 0
  readonly #exchange: SharedRun
  /** Seen here: this daemon need not wait for its own report to go round. */
  #hasRotated = false
  readonly #closing = new AbortController()

  constructor(deps: EndpointDeps) {
    this.#deps = deps
    this.#exchange = new SharedRun({
      work: () => this.#tell(this.#seen.splice(0)),
      done: () => {
        if (this.#refreshes.length + this.#codes.length > 0) this.#exchange.within(ASK_EVERY_MS)
      },
      clock: deps.clock,
      signal: this.#closing.signal,
    })
    this.#state = endpoint.newState(deps.settings, this.#now())
  }

  /** A place in line for a chunk of accounts, behind all that were given before. */
  nextTurn(): number {
    return ++this.#lastTurn
  }

  /** Lets one call through, now or soon; or returns until when it is no use to wait. Without a turn it is the next one. */
  enter(turn = 0): Promise<Admission> {
    const isAdmitted = this.#permits > 0 && this.#isFresh() && !this.#closing.signal.aborted
    if (!isAdmitted) return this.#wait(this.#refreshes, turn)
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
    this.#hasRotated = true
    // All others must know it, the sooner the better.
    this.#seen.push({ rotated })
    void this.#exchange.fromNow()
  }

  /** Reports a failure at once, and returns its meaning in the light of all others. `isNew`: the account has never worked. */
  async failed(hubId: number, failure: ProviderFailure, isNew = false): Promise<EndpointVerdict> {
    await this.#reportTrouble({ failed: { hubId, failure, isNew } })
    const { breaker, fleet } = this.#state
    const { lastSuccessAt } = breaker
    return { fleetTrouble: breaker.is !== 'closed', lastSuccessAt, fleet, until: this.#opensAt() }
  }

  /**
   * Sends a code of an install by the share that is kept for codes. Any caller can send a worthless one, so the provider's
   * answers count for no other call, a 429 excepted.
   */
  async sendCode<S extends { answer: ProviderResult<unknown> }>(send: () => Promise<S>): Promise<SentCode<S>> {
    const admission = await this.#wait(this.#codes)
    if (admission.is === 'closed') return admission
    const sent = await send().finally(() => this.#codesUnderWay--)
    const { answer } = sent
    const code = answer.ok ? 'worked' : answer.failure
    if (code !== 'worked' && code.status === 429) {
      await this.#reportTrouble({ code })
      return { is: 'closed', until: endpoint.codeAt(this.#state, 1, this.#now()) }
    }
    this.#reportSoon({ code })
    return { is: 'sent', ...sent }
  }

  /** Calls to the other endpoints: they count in the share of errors. */
  noteOthers(worked: number, failed: number): void {
    this.#reportSoon({ others: { worked, failed } })
  }

  /** True where a call that follows a failure may be made without pushing the share of errors over its ceiling. */
  mayRetry(): boolean {
    return this.#state.budget.credit >= 1
  }

  /** Calls worth starting in the next `ms`. */
  async room(ms: number, fleet: number | undefined): Promise<Room> {
    if (fleet !== undefined) this.#seen.push({ fleet })
    await this.#exchange.fromNow()
    const { breaker, pace, budget } = this.#state
    const [now, until] = [this.#now(), this.#opensAt()]
    if (breaker.is === 'open') return { calls: now >= breaker.probeAt ? 1 : 0, retries: 1, until, isProbe: true }
    // Less those that wait here: taken up on top of these, the next would push in between them, later as they expire.
    const calls = Math.max(0, callsWithin(pace, ms, now) - this.#refreshes.length)
    return { calls, retries: Math.floor(budget.credit), until, isProbe: false }
  }

  /** The cause may have been fixed just now: the next call is let through to find out. */
  probe(): void {
    this.#seen.push({ started: true })
    void this.#exchange.now()
  }

  /** True where a refresh token is good for one refresh only, as far as is known. */
  get rotates(): boolean {
    return this.#hasRotated || this.#state.rotates
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

  #wait(line: Line, turn = 0): Promise<Admission> {
    const now = this.#now()
    if (this.#closing.signal.aborted) return Promise.resolve({ is: 'closed', until: now })
    void this.#exchange.now()
    return line.join(turn, now)
  }

  #isFresh(): boolean {
    const age = this.#now() - this.#fetchedAt
    return age >= 0 && age < STALE_MS
  }

  /** Before this moment nothing goes through. */
  #opensAt(): number {
    const { breaker, pace } = this.#state
    return breaker.is === 'open' ? breaker.probeAt : Math.max(this.#now(), pace.closedUntil)
  }

  /** Reports a failure and gives back the permits that are left: it counts for all daemons at once. */
  async #reportTrouble(seen: endpoint.Seen): Promise<void> {
    this.#seen.push({ unused: this.#permits }, seen)
    this.#permits = 0
    await this.#exchange.fromNow()
  }

  #reportSoon(seen: endpoint.Seen): void {
    this.#seen.push(seen)
    this.#exchange.within(REPORT_AFTER_MS)
  }

  /** Reports observations, takes permits for the calls that wait. */
  async #tell(seen: readonly endpoint.Seen[]): Promise<void> {
    const { log, machine } = this.#deps
    const skewMs = this.#deps.skewMs()
    try {
      const granted = await this.#commit(skewMs === undefined ? seen : [...seen, { clock: { skewMs, machine } }])
      // Permits fetched earlier don't count once another daemon was refused.
      const isOpen = this.#opensAt() <= this.#now() && this.#state.breaker.is !== 'open'
      this.#permits = granted.refreshes + (isOpen && this.#isFresh() ? this.#permits : 0)
      this.#fetchedAt = this.#now()
      this.#used = this.#refreshes.admit(this.#permits)
      this.#permits -= this.#used
      this.#codesUnderWay += this.#codes.admit(granted.codes)
      this.#turnTheLateAway()
    } catch (error) {
      // No word from Redis, no permit: without it no lease could be taken either.
      this.#seen = [...seen, ...this.#seen]
      log.warn({ code: 'endpoint.no-redis', err: error }, 'no permits: Redis refuses')
      this.#turnAllAway(this.#now() + STALE_MS)
    }
  }

  async #commit(seen: readonly endpoint.Seen[]): Promise<Calls> {
    const { text, settings, announce } = this.#deps
    const { before, state, after, granted, alerts } = await text.change(async (stored) => {
      const now = this.#now()
      // Mostly it is the text that this daemon wrote last: reading that back was a fiftieth of a poll.
      const before = stored === this.#written?.text ? this.#written.state : endpoint.decodeEndpoint(stored)
      const reported = endpoint.afterReport(before ?? endpoint.newState(settings, now), seen, settings, now)
      const refreshes = this.#refreshes.length + Math.max(0, this.#used - this.#permits)
      const codes = Math.min(this.#codes.length, MOST_CODES - this.#codesUnderWay)
      const { state, granted } = endpoint.grant(reported, { refreshes, codes }, now)
      const alerts = await announce(before, state, now)
      const after = JSON.stringify(state)
      return { after, alerts, result: { before, state, after, granted, alerts } }
    })
    this.#state = state
    this.#written = { text: after, state }
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
      const facts = { waitMs: pace.closedUntil - pace.at, mostPerSecond: Math.round(pace.ceiling * 10) / 10 }
      this.#deps.log.warn({ code: 'endpoint.429', ...facts }, 'the provider accepts fewer token requests')
    }
  }

  #turnTheLateAway(): void {
    const now = this.#now()
    const until = endpoint.refreshAt(this.#state)
    const isLate = this.#state.breaker.is === 'open' || until - now > WAIT_MS
    this.#refreshes.turnAway(() => (isLate ? until : undefined))
    this.#codes.turnAway((nth, since) => {
      const at = endpoint.codeAt(this.#state, nth, now)
      return at > since + WAIT_WITH_CODE_MS ? at : undefined
    })
  }

  #turnAllAway(until: number): void {
    for (const line of [this.#refreshes, this.#codes]) line.turnAway(() => until)
  }
}

/** `until`: when it is worth asking again, ms. */
export type Admission = { is: 'admitted' } | { is: 'closed'; until: number }

interface Waiter {
  turn: number
  since: number
  admit(admission: Admission): void
}

/** Calls of this daemon that wait for permits: those of an earlier turn first, of the same turn first come, first served. */
export class Line {
  #waiting: Waiter[] = []

  get length(): number {
    return this.#waiting.length
  }

  join(turn: number, since: number): Promise<Admission> {
    const ahead = this.#waiting.findLastIndex((other) => other.turn <= turn)
    return new Promise((admit) => this.#waiting.splice(ahead + 1, 0, { turn, since, admit }))
  }

  /** Returns how many were there to be admitted. */
  admit(most: number): number {
    const admitted = this.#waiting.splice(0, most)
    for (const { admit } of admitted) admit({ is: 'admitted' })
    return admitted.length
  }

  /** `until`: when the `nth` gets its turn, if that is too late for it. */
  turnAway(until: (nth: number, since: number) => number | undefined): void {
    this.#waiting = this.#waiting.filter(({ since, admit }, n) => {
      const at = until(n + 1, since)
      if (at !== undefined) admit({ is: 'closed', until: at })
      return at === undefined
    })
  }
}
