import type { SharedText } from '../../redis/shared-text.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { SharedRun } from '../../runtime/shared-run.ts'
import {
  admitPolls,
  decodeBudget,
  type PollBudget,
  type PollRequest,
  refill,
  roomFor,
  type Shortage,
} from './poll-budget.ts'

export interface CallBudgetDeps {
  text: SharedText
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
 * This daemon's door to the call budget of all accounts. All who ask while an exchange is under way share the next one: a
 * poll costs no round trip of its own, and the urgent among them come first. What polls really took is sent along.
 */
export class CallBudget {
  readonly #deps: CallBudgetDeps
  #waiters: Waiter[] = []
  /** Calls that were made beyond those that were asked for, and not reported yet. */
  #unsettled = 0
  #isAway = false
  readonly #exchange: SharedRun

  constructor(deps: CallBudgetDeps) {
    this.#deps = deps
    this.#exchange = new SharedRun({
      work: () => this.#serve(this.#waiters.splice(0)),
      // What could not be reported waits for the next request: without one it would be tried for ever.
      done: () => {
        if (this.#waiters.length > 0 || (this.#unsettled !== 0 && !this.#isAway)) void this.#exchange.now()
      },
      clock: deps.clock,
    })
  }

  /** Whether a poll may be made now. */
  admits(request: PollRequest): Promise<boolean> {
    return new Promise((answer, fail) => {
      this.#waiters.push({ request, answer, fail })
      void this.#exchange.now()
    })
  }

  /**
   * A poll took so many calls more than it was let through with; below 0: fewer. Reported at once: while the budget seems
   * used up no sweep brings a poll that would report it, and a command that polled is about to end.
   */
  settle(calls: number): void {
    if (calls === 0) return
    this.#unsettled += calls
    void this.#exchange.now()
  }

  /** How many polls are worth taking up now; `until` is when to ask again where that is none. */
  async room(): Promise<{ polls: number; until: number }> {
    const stored = await this.#deps.text.read()
    const now = this.#deps.clock.now()
    return roomFor(this.#filled(stored, 0, now), this.#deps.callsPerHour, now)
  }

  async #serve(waiters: readonly Waiter[]): Promise<void> {
    const { text, callsPerHour, clock } = this.#deps
    const unsettled = this.#unsettled
    this.#unsettled = 0
    try {
      const requests = waiters.map(({ request }) => request)
      const { admitted, say, budget } = await text.change((stored) => {
        const now = clock.now()
        const served = admitPolls(this.#filled(stored, unsettled, now), requests, callsPerHour, now)
        return { after: JSON.stringify(served.budget), result: served }
      })
      this.#isAway = false
      if (say !== null) this.#logShort(say, budget)
      for (const [index, { answer }] of waiters.entries()) answer(admitted[index] === true)
    } catch (error) {
      // No word from Redis, no call: without it no poll could be committed either.
      this.#isAway = true
      this.#unsettled += unsettled
      for (const { fail } of waiters) fail(error)
    }
  }

  #filled(stored: string, unsettled: number, now: number): PollBudget {
    const budget = decodeBudget(stored, now)
    return refill({ ...budget, level: budget.level - unsettled }, this.#deps.callsPerHour, now)
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
