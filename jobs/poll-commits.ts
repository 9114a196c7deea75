import type { Claimed } from '../src/accounts/due-sets.ts'
import type { NextPoll } from '../src/limits/poll.ts'
import type { CommittedPoll } from '../src/limits/poll-store.ts'
import type { PollWork } from './job-deps.ts'
import { accountFailed } from './work-off.ts'

/** Polls that are committed together: Redis does nothing else meanwhile, some 10 us for each. */
const TOGETHER = 50
/** Longest time between a poll and its commit, where others take their time. */
const LATEST_MS = 1_000

/** An account that could not be processed is polled again this soon: its claim is as long as all calls of a poll may take. */
const AFTER_FAILURE_MS = 15_000

/**
 * `blocked`: a scope is missing, and nothing could be read; `paused`: the provider's rate limit for the account is reached;
 * `unstored`: it was read, and Redis took nothing of it; `lost`: another worker has it.
 */
export type PolledOutcome = 'committed' | 'failed' | 'blocked' | 'gone' | 'lost' | 'unstored' | 'later' | 'paused'

/** A poll that waits for its commit. */
type Waiting = Claimed & { next: NextPoll }

/** Polls that end at about the same time are committed together. */
export class PollCommits {
  /** Called with the outcome of each poll, once it is committed. */
  readonly ended: (outcome: PolledOutcome) => void
  readonly #deps: PollWork
  #waiting: Waiting[] = []
  #committing: Promise<void> = Promise.resolve()

  constructor(deps: PollWork, ended: (outcome: PolledOutcome) => void) {
    this.#deps = deps
    this.ended = ended
  }

  async add(waiting: Waiting): Promise<void> {
    this.#waiting.push(waiting)
    if (this.#waiting.length >= TOGETHER) await this.flush()
  }

  /** Has those that wait committed in time, until the returned function is called. */
  keepCommitting(): () => void {
    return this.#deps.clock.every(LATEST_MS, () => this.flush())
  }

  /** Resolves once all are committed, also those that are under way. */
  flush(): Promise<void> {
    const some = this.#waiting
    this.#waiting = []
    if (some.length > 0) {
      const before = this.#committing
      this.#committing = Promise.all([before, this.#commit(some)]).then(() => {})
    }
    return this.#committing
  }

  async #commit(some: readonly Waiting[]): Promise<void> {
    const { polls, queues, clock } = this.#deps
    const answers = await polls.commit(some.map(({ next, ...claimed }) => ({ ...next, ...claimed })))
    let areAlerts = false
    for (const [n, one] of some.entries()) {
      const committed = answers[n] ?? 'lost'
      areAlerts ||= committed === 'committed' && (one.next.more?.alerts.entries.length ?? 0) > 0
      await this.#end(one, committed)
    }
    if (areAlerts) await queues.wake('alerts', clock.now())
  }

  async #end({ next, ...claimed }: Waiting, committed: CommittedPoll): Promise<void> {
    if (committed instanceof Error) await pollFailed(this.#deps, claimed, committed)
    if (committed === 'committed') {
      for (const [level, fields, text] of next.lines) this.#deps.log[level](fields, text)
    }
    const isUnstored = committed instanceof Error || committed === 'stale'
    this.ended(isUnstored ? 'unstored' : committed === 'committed' ? next.outcome : committed)
  }
}

/** A claimed account that could not be processed. Where Redis does not answer, its claim ends by itself. */
export async function pollFailed(deps: PollWork, claimed: Claimed, error: unknown): Promise<void> {
  await accountFailed(deps, 'poll', claimed.hubId, error)
  await deps.due.move('poll', claimed, deps.clock.now() + AFTER_FAILURE_MS).catch(() => undefined)
}
