import type { Begun, BegunOr, CommittedPoll, PollResult } from '../src/limits/poll-store.ts'
import { reportsWithGaps } from '../src/limits/polling/poll-outcome.ts'
import { chunksOf } from '../src/runtime/chunks-of.ts'
import { asksFor, type Decided, decidePoll, NO_FACTS } from './decide-poll.ts'
import type { PollWork } from './job-deps.ts'
import { logPoll, type PollLine } from './poll-logs.ts'
import { type MadePoll, type PollRules, readPoll } from './read-poll.ts'
import { accountFailed } from './work-off.ts'

/** Accounts that are read together, and committed together: Redis does nothing else meanwhile, some 10 us for each. */
const TOGETHER = 50
/** Longest time between a poll and its commit, where others take their time. */
const LATEST_MS = 1_000

/** The poll of an account that waits for its commit, and the step that follows. */
interface Waiting {
  result: PollResult
  outcome: PolledOutcome
  lines: readonly PollLine[]
  done: (outcome: PolledOutcome) => void
}

/**
 * `blocked`: a scope is missing, and nothing could be read; `paused`: the provider's rate limit for the account is reached;
 */
export type PolledOutcome = 'committed' | 'failed' | 'blocked' | 'gone' | 'lost' | 'later' | 'paused'

/** The polls of a job: those that are claimed together begin together, and those that end at about the same time are committed together. */
export class PollChunk {
  readonly #deps: PollWork
  readonly #rules: PollRules
  /** Removed when it is used: with its numbers it is large. */
  readonly #begun = new Map<number, BegunOr>()
  readonly #beginning = new Map<number, Promise<void>>()
  #waiting: Waiting[] = []
  #committing: Promise<void> = Promise.resolve()

  constructor(deps: PollWork) {
    this.#deps = deps
    this.#rules = { ...deps, samples: deps.samples.settings, coverage: deps.coverage.settings }
  }

  /** Reads the states that polls of these accounts start from. */
  read(hubIds: readonly number[]): void {
    for (const some of chunksOf(hubIds, TOGETHER)) {
      const beginning = this.#deps.polls.begin(some).then((all) => {
        for (const [n, one] of some.entries()) this.#begun.set(one, all[n] ?? 'gone')
      })
      for (const one of some) this.#beginning.set(one, beginning)
    }
  }

  /** The state that the poll of an account starts from, once it is read. */
  async begin(hubId: number): Promise<Begun | undefined> {
    await this.#beginning.get(hubId)
    const begun = this.#begun.get(hubId)
    this.#begun.delete(hubId)
    this.#beginning.delete(hubId)
    if (begun instanceof Error) throw begun
    return begun === 'gone' ? undefined : begun
  }

  /** Decides a poll that was made, and has it committed with the next ones. */
  async decide(made: MadePoll): Promise<Decided> {
    const deps = this.#deps
    const rules = this.#rules
    const poll = readPoll(rules, made)
    if (poll.is === 'anew') deps.metrics.reportGaps.inc({}, reportsWithGaps(poll.read))
    const { hubId } = made
    const now = deps.clock.now()
    const needs = asksFor(rules, poll, now)
    const facts =
      needs.samples || needs.failing
        ? {
            samples: needs.samples ? await deps.samples.read(hubId) : {},
            refreshes: needs.failing ? await deps.polls.refreshes(hubId) : undefined,
            isFleetTrouble: needs.failing && (await deps.coverage.fleetSpeaks(now)),
          }
        : NO_FACTS
    return decidePoll(rules, poll, facts, now)
  }

  /** Commits it with those that wait already; `done` gets its outcome. */
  async commit(waiting: Waiting): Promise<void> {
    this.#waiting.push(waiting)
    if (this.#waiting.length >= TOGETHER) await this.flush()
  }

  /** Has those that wait committed in time, until the returned function is called. */
  keepCommitting(): () => void {
    return this.#deps.clock.every(LATEST_MS, () => this.flush())
  }

  /** Resolves once all are committed, also those that others have under way. */
  flush(): Promise<void> {
    const some = this.#waiting
    this.#waiting = []
    if (some.length > 0) {
      const before = this.#committing
      this.#committing = Promise.all([before, this.#commitAll(some)]).then(() => {})
    }
    return this.#committing
  }

  async #commitAll(some: readonly Waiting[]): Promise<void> {
    const answers = await this.#deps.polls.commit(some.map(({ result }) => result))
    let areAlerts = false
    for (const [n, one] of some.entries()) {
      const entries = one.result.more?.alerts.entries.length ?? 0
      areAlerts ||= answers[n] === 'committed' && entries > 0
      await this.#end(one, answers[n] ?? 'lost')
    }
    if (areAlerts) await this.#deps.queues.wake('alerts', this.#deps.clock.now())
  }

  async #end({ result, outcome, lines, done }: Waiting, committed: CommittedPoll): Promise<void> {
    if (committed instanceof Error) {
      done('lost')
      await accountFailed(this.#deps, 'poll', result.hubId, committed)
      return
    }
    if (committed === 'committed') logPoll(this.#deps.log, lines)
    done(committed === 'committed' ? outcome : committed === 'stale' ? 'lost' : committed)
  }
}
