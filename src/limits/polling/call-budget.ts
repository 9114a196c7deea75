import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import {
  admitPolls,
  decodeBudget,
  encodeBudget,
  newBudget,
  type PollBudget,
  type PollRequest,
  refill,
  roomFor,
  type Shortage,
  sayShort,
  settle,
} from './poll-budget.ts'
import type { PollBudgetStore } from './poll-budget-store.ts'

export interface CallBudgetDeps {
  budget: PollBudgetStore
  callsPerHour: number
  clock: Clock
  log: Logger
}

interface Waiter {
  request: PollRequest
  answer(admitted: boolean): void
  fail(error: unknown): void
}

/**
 * This daemon's door to the fleet's call budget. All who ask while an exchange is under way share the next one: a poll
 * costs no round trip of its own, and the urgent among them come first. What polls turned out to take is told along.
 */
export class CallBudget {
  readonly #deps: CallBudgetDeps
  /** As this daemon last saw it. */
  #stored: string | undefined
  #waiters: Waiter[] = []
  /** Calls that were made beyond those that were asked for, and not told yet. */
  #unsettled = 0
  #exchange: Promise<void> | undefined

  constructor(deps: CallBudgetDeps) {
    this.#deps = deps
  }

  /** Whether a poll may be made now. */
  admits(request: PollRequest): Promise<boolean> {
    return new Promise((answer, fail) => {
      this.#waiters.push({ request, answer, fail })
      this.#exchangeSoon()
    })
  }

  /**
   * A poll took so many calls more than it was let through with; below 0: fewer. Told at once: while the budget looks
   * used up no sweep brings anybody who would ask, and a command that polled is about to end.
   */
  settle(calls: number): void {
    if (calls === 0) return
    this.#unsettled += calls
    this.#exchangeSoon()
  }

  /** How many polls are worth taking up now; `until` is when to look again where that is none. */
  async room(): Promise<{ polls: number; until: number }> {
    const { clock, callsPerHour, budget } = this.#deps
    const stored = await budget.read()
    const now = clock.now()
    return roomFor(refill(decodeBudget(stored) ?? newBudget(now), callsPerHour, now), callsPerHour, now)
  }

  #exchangeSoon(): void {
    // A moment later, so that all who ask in this one share it.
    this.#exchange ??= Promise.resolve()
      .then(() => this.#serve(this.#waiters.splice(0)))
      .then((isTold) => {
        this.#exchange = undefined
        // What could not be told waits for the next who asks: trying again by itself it would never rest.
        if (this.#waiters.length > 0 || (isTold && this.#unsettled !== 0)) this.#exchangeSoon()
      })
  }

  /** Whether Redis has it. */
  async #serve(waiters: readonly Waiter[]): Promise<boolean> {
    const unsettled = this.#unsettled
    this.#unsettled = 0
    try {
      const admitted = await this.#commit(waiters, unsettled)
      for (const [index, { answer }] of waiters.entries()) answer(admitted[index] === true)
      return true
    } catch (error) {
      // No word from Redis, no call: without it no poll could be committed either.
      this.#unsettled += unsettled
      for (const { fail } of waiters) fail(error)
      return false
    }
  }

  async #commit(waiters: readonly Waiter[], unsettled: number): Promise<boolean[]> {
    const { clock, callsPerHour, budget: store } = this.#deps
    const requests = waiters.map(({ request }) => request)
    let stored = this.#stored ?? (await store.read())
    for (;;) {
      const now = clock.now()
      const before = refill(settle(decodeBudget(stored) ?? newBudget(now), unsettled), callsPerHour, now)
      const { budget: served, admitted } = admitPolls(before, requests, callsPerHour, now)
      const { budget, say } = sayShort(served, now)
      const after = encodeBudget(budget)
      const found = await store.change(stored, after)
      if (found === undefined) {
        this.#stored = after
        if (say !== undefined) this.#logShort(say, budget)
        return admitted
      }
      stored = found
    }
  }

  #logShort({ polls, latestMs }: Shortage, { meanCalls }: PollBudget): void {
    const { log, callsPerHour } = this.#deps
    const facts = { callsPerHour, polls, latestMs, callsPerPoll: Math.round(meanCalls * 10) / 10 }
    log.warn(
      { code: 'poll.budget', ...facts },
      'limits.callsPerHour has no room for the regular turns of all accounts: the oldest are polled first, the rest later',
    )
  }
}
