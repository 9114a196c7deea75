import type { ProviderFailure } from '../../provider/failure.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { announceTroubles, type FleetAnnouncer } from './announce-troubles.ts'
import type { Breaker } from './breaker.ts'
import type { EndpointStore } from './endpoint-store.ts'
import { callsWithin, type Pace } from './pace.ts'
import {
  afterReport,
  decodeEndpoint,
  type EndpointSettings,
  type EndpointState,
  emptyReport,
  encodeEndpoint,
  grant,
  joinedReports,
  newState,
  type Report,
} from './state.ts'

export interface EndpointDeps {
  store: EndpointStore
  settings: EndpointSettings
  announce: FleetAnnouncer
  /** How far the provider's clock is ahead of ours, ms, where an answer has told. */
  skewMs: () => number | undefined
  /** An alert was committed: it need not wait for the clock. */
  alerted: () => Promise<void>
  clock: Clock
  log: Logger
}

export type Admission = { is: 'admitted' } | { is: 'closed'; until: number }

/** How far the fleet's refreshes can be believed, as of a failure that was just reported. */
export interface Standing {
  /** Something is wrong with more than one account: this failure says nothing about it. */
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
  /** When to look again if that is none, ms. */
  until: number
  /** While nothing works one at a time is tried, to see. */
  isProbe: boolean
}

/** Outcomes are reported with the next fetch of permits, and where nobody fetches any, after so long. */
const REPORT_AFTER_MS = 250
/** Who waits for permits asks again at most this often. */
const ASK_EVERY_MS = 20
/** A permit that nobody took is stale after so long: the world may have changed. */
const STALE_MS = 1_000
/** Longer than this nobody stands in line for the endpoint to open: the account's next moment is moved instead. */
const PATIENCE_MS = 2_000

/** The same for all: nearly every refresh asks, and nearly all are let through at once. */
const ADMITTED: Promise<Admission> = Promise.resolve({ is: 'admitted' })

interface Waiter {
  turn: number
  admit(admission: Admission): void
}

/**
 * This daemon's door to the token endpoint. Permits come from the state that all daemons share, several at a time, so
 * that a call costs no round trip of its own; what came of the calls is reported when the next ones are fetched. The
 * first failure gives back what is left: what was learnt elsewhere counts at once.
 */
export class TokenEndpoint {
  readonly #deps: EndpointDeps
  #state: EndpointState
  /** As stored; undefined = not read yet. */
  #stored: string | undefined
  #permits = 0
  /** Permits used since some were fetched: about as many will be wanted next. */
  #used = 0
  #fetchedAt = 0
  #waiters: Waiter[] = []
  #lastTurn = 0
  #report: Report = { ...emptyReport(), started: true }
  #exchange: Promise<void> | undefined
  #reportPlanned = false
  /** Seen here: this daemon need not wait for its own report to go round. */
  #hasRotated = false
  readonly #closing = new AbortController()

  constructor(deps: EndpointDeps) {
    this.#deps = deps
    this.#state = newState(deps.settings, deps.clock.now())
  }

  /** A place in line for a chunk of accounts, behind all that were given before. */
  nextTurn(): number {
    this.#lastTurn++
    return this.#lastTurn
  }

  /**
   * Lets one call through, now or soon; or says until when it is no use to wait. Without a turn somebody waits for this
   * very token: it is the next.
   */
  enter(turn = 0): Promise<Admission> {
    const now = this.#deps.clock.now()
    if (this.#closing.signal.aborted) return Promise.resolve({ is: 'closed', until: now })
    if (this.#permits > 0 && this.#isFresh(now)) {
      this.#permits--
      this.#used++
      return ADMITTED
    }
    return new Promise((admit) => {
      this.#lineUp({ turn, admit })
      void this.#exchangeNow()
    })
  }

  /** A call that was let through turned out not to be needed. */
  leave(): void {
    this.#permits++
  }

  /** `rotated`: another refresh token came back. */
  succeeded({ rotated }: { rotated: boolean }): void {
    const { outcomes } = this.#report
    const last = outcomes.at(-1)
    if (typeof last === 'number') outcomes[outcomes.length - 1] = last + 1
    else outcomes.push(1)
    if (rotated && !this.rotates) {
      this.#hasRotated = true
      this.#report.rotated = true
      // All others must know it, the sooner the better.
      void this.#exchangeFromNow()
    } else this.#reportSoon()
  }

  /** Reports a failure at once, and says what it means in the light of all others. `isNew`: it never worked so far. */
  async failed(hubId: number, failure: ProviderFailure, isNew = false): Promise<Standing> {
    this.#report.outcomes.push({ hubId, failure, isNew })
    this.#report.unused += this.#permits
    this.#permits = 0
    await this.#exchangeFromNow()
    const { breaker, fleet } = this.#state
    return {
      fleetTrouble: breaker.is !== 'closed',
      lastSuccessAt: breaker.lastSuccessAt,
      fleet,
      until: this.#until(),
    }
  }

  /** Calls to the other endpoints: they count in the share of errors. */
  noteOthers(worked: number, failed: number): void {
    this.#report.others.worked += worked
    this.#report.others.failed += failed
    this.#reportSoon()
  }

  /** Whether a call that follows a failure may be made without pushing the share of errors over its ceiling. */
  mayRetry(): boolean {
    return this.#state.budget.credit >= 1
  }

  /** What is worth taking up for the next `ms`. */
  async room(ms: number, fleet: number | undefined): Promise<Room> {
    if (fleet !== undefined) this.#report.fleet = fleet
    await this.#exchangeFromNow()
    const { breaker, pace, budget } = this.#state
    const now = this.#deps.clock.now()
    const until = this.#until()
    if (breaker.is === 'open') return { calls: now >= breaker.probeAt ? 1 : 0, retries: 1, until, isProbe: true }
    // Less who stands in line here: taken up on top of these, the next would push in between them, later as they expire.
    const calls = Math.max(0, callsWithin(pace, ms, now) - this.#waiters.length)
    return { calls, retries: Math.floor(budget.credit), until, isProbe: false }
  }

  /** What was wrong may have been put right just now: the next one to come is let through to see. */
  probe(): void {
    this.#report.started = true
    void this.#exchangeNow()
  }

  /** Whether a refresh token is good for one refresh only, as far as anybody knows. */
  get rotates(): boolean {
    return this.#hasRotated || this.#state.rotates
  }

  /** As last seen, for pages and metrics of this daemon. */
  get state(): Readonly<EndpointState> {
    return this.#state
  }

  close(): void {
    this.#closing.abort()
    this.#turnAway(this.#deps.clock.now())
  }

  /** Chunks that are worked on side by side were taken up one after the other, nearest to expiry first. */
  #lineUp(waiter: Waiter): void {
    const ahead = this.#waiters.findLastIndex(({ turn }) => turn <= waiter.turn)
    this.#waiters.splice(ahead + 1, 0, waiter)
  }

  /** Whether permits fetched earlier still count: not once somebody else was refused. */
  #isOpen(): boolean {
    const { breaker, pace } = this.#state
    return breaker.is !== 'open' && pace.closedUntil <= this.#deps.clock.now()
  }

  #isFresh(now: number): boolean {
    return now >= this.#fetchedAt && now - this.#fetchedAt < STALE_MS
  }

  #until(): number {
    const { breaker, pace } = this.#state
    return breaker.is === 'open' ? breaker.probeAt : Math.max(this.#deps.clock.now(), pace.closedUntil)
  }

  #reportSoon(): void {
    if (this.#reportPlanned || this.#closing.signal.aborted) return
    this.#reportPlanned = true
    void this.#deps.clock.wait(REPORT_AFTER_MS, this.#closing.signal).then(() => {
      this.#reportPlanned = false
      if (!this.#closing.signal.aborted) void this.#exchangeNow()
    })
  }

  /** An exchange that is sure to carry what is known now: one that is under way may have left without it. */
  async #exchangeFromNow(): Promise<void> {
    await this.#exchange
    await this.#exchangeNow()
  }

  #exchangeNow(): Promise<void> {
    // A moment later, so that all who ask in this one share it.
    this.#exchange ??= Promise.resolve()
      .then(() => this.#tell())
      .catch((error: unknown) => {
        // No word from Redis, no permit: without it no lease could be taken either.
        this.#deps.log.warn({ code: 'endpoint.no-redis', err: error }, 'no permits: Redis refuses')
        this.#turnAway(this.#deps.clock.now() + STALE_MS)
      })
      .finally(() => {
        this.#exchange = undefined
        if (this.#waiters.length > 0) void this.#askAgain()
      })
    return this.#exchange
  }

  async #askAgain(): Promise<void> {
    await this.#deps.clock.wait(ASK_EVERY_MS, this.#closing.signal)
    if (this.#waiters.length > 0 && !this.#closing.signal.aborted) await this.#exchangeNow()
  }

  /** Tells what was seen, takes permits for those who wait. */
  async #tell(): Promise<void> {
    const { clock, skewMs } = this.#deps
    const report: Report = { ...this.#report, skewMs: skewMs() }
    this.#report = emptyReport()
    try {
      const { granted, until } = await this.#commit(report, clock)
      const left = this.#isOpen() && this.#isFresh(clock.now()) ? this.#permits : 0
      this.#permits = granted + left
      this.#fetchedAt = clock.now()
      this.#admit(until)
    } catch (error) {
      this.#report = joinedReports(report, this.#report)
      throw error
    }
  }

  async #commit(report: Report, clock: Clock): Promise<{ granted: number; until: number }> {
    let stored = this.#stored ?? (await this.#deps.store.read())
    for (;;) {
      const now = clock.now()
      const before = decodeEndpoint(stored) ?? (await this.#begin(now))
      const reported = afterReport(before, report, this.#deps.settings, now)
      const wanted = this.#waiters.length + Math.max(0, this.#used - this.#permits)
      const { state: taken, granted, until } = grant(reported, wanted, now)
      const { state, writes } = await this.#announce(before, taken, now)
      const after = encodeEndpoint(state)
      // Also if nothing changed: what is cached here may be old.
      const found = await this.#deps.store.change(stored, after, writes)
      if (found !== undefined) {
        stored = found
        continue
      }
      this.#stored = after
      this.#state = state
      this.#used = 0
      this.#logChange(before.breaker, state.breaker)
      this.#logRefusal(before.pace, state.pace, now)
      if (writes.entries.length > 0) await this.#wakeAlerts()
      return { granted, until }
    }
  }

  /** The alerts may have been acknowledged since this state was written: whoever would tell one looks how it stands. */
  async #announce(
    before: EndpointState,
    taken: EndpointState,
    now: number,
  ): Promise<ReturnType<typeof announceTroubles>> {
    const { announce, store } = this.#deps
    const said = announceTroubles(announce, before, taken, now)
    if (said.writes.changes.length === 0) return said
    return announceTroubles(announce, before, { ...taken, alerts: await store.openAlerts() }, now)
  }

  /** What was committed is committed: if nobody can be woken, the clock's next tick finds it. */
  async #wakeAlerts(): Promise<void> {
    await this.#deps.alerted().catch((error: unknown) => {
      this.#deps.log.warn({ code: 'endpoint.not-woken', err: error }, 'nobody could be told of a new alert')
    })
  }

  async #begin(now: number): Promise<EndpointState> {
    return { ...newState(this.#deps.settings, now), alerts: await this.#deps.store.openAlerts() }
  }

  #logChange(before: Breaker, after: Breaker): void {
    if (before.is === after.is) return
    const { cause, detail } = after.is === 'closed' ? before : after
    const level = after.is === 'open' ? 'error' : 'info'
    this.#deps.log[level]({ code: `endpoint.${after.is}`, cause, reason: detail }, `the token endpoint is ${after.is}`)
  }

  #logRefusal(before: Pace, { closedUntil, ceiling }: Pace, now: number): void {
    if (closedUntil <= Math.max(before.closedUntil, now)) return
    const facts = { waitMs: closedUntil - now, mostPerSecond: Math.round(ceiling * 10) / 10 }
    this.#deps.log.warn({ code: 'endpoint.429', ...facts }, 'the provider wants fewer token requests')
  }

  #admit(until: number): void {
    while (this.#permits > 0) {
      const waiter = this.#waiters.shift()
      if (waiter === undefined) return
      this.#permits--
      this.#used++
      waiter.admit({ is: 'admitted' })
    }
    const { breaker } = this.#state
    if (breaker.is === 'open' || until - this.#deps.clock.now() > PATIENCE_MS) this.#turnAway(until)
  }

  #turnAway(until: number): void {
    for (const { admit } of this.#waiters.splice(0)) admit({ is: 'closed', until })
  }
}
