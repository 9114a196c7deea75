import { pollJudge } from '../src/alerts/evaluation/judge-poll.ts'
import { nextPoll } from '../src/limits/next-poll.ts'
import type { LoadedAccount, MadePoll, NextPoll, PollFacts, PollRules } from '../src/limits/poll.ts'
import type { CommittedPoll, Loaded } from '../src/limits/poll-store.ts'
import { chunksOf } from '../src/runtime/chunks-of.ts'
import type { PollWork } from './job-deps.ts'
import { accountFailed } from './work-off.ts'

/** Accounts that are read together, and committed together: Redis does nothing else meanwhile, some 10 us for each. */
const TOGETHER = 50
/** Longest time between a poll and its commit, where others take their time. */
const LATEST_MS = 1_000

/** The poll of an account that waits for its commit, and the step that follows. */
interface Waiting {
  hubId: number
  claim: number
  next: NextPoll
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
  readonly #loaded = new Map<number, Loaded>()
  readonly #loading = new Map<number, Promise<void>>()
  #waiting: Waiting[] = []
  #committing: Promise<void> = Promise.resolve()

  constructor(deps: PollWork) {
    this.#deps = deps
    const { alertAfter, samples, coverage } = deps
    const settings = { samples: samples.settings, coverage: coverage.settings }
    this.#rules = { alertAfter, ...settings, judge: pollJudge(deps) }
  }

  /** Reads these accounts. */
  read(hubIds: readonly number[]): void {
    for (const some of chunksOf(hubIds, TOGETHER)) {
      const loading = this.#deps.polls.load(some).then((all) => {
        for (const [n, one] of some.entries()) this.#loaded.set(one, all[n] ?? 'gone')
      })
      for (const one of some) this.#loading.set(one, loading)
    }
  }

  /** An account as its poll starts from it, once it is read. */
  async load(hubId: number): Promise<LoadedAccount | undefined> {
    await this.#loading.get(hubId)
    const loaded = this.#loaded.get(hubId)
    this.#loaded.delete(hubId)
    this.#loading.delete(hubId)
    if (loaded instanceof Error) throw loaded
    return loaded === 'gone' ? undefined : loaded
  }

  /** Decides a poll that was made. */
  async decide(made: MadePoll): Promise<NextPoll> {
    const { clock, metrics } = this.#deps
    let next = nextPoll(made, this.#rules, clock.now())
    if (next === 'asks for facts') {
      const facts = await this.#facts(made.account.hubId)
      next = nextPoll({ ...made, facts }, this.#rules, clock.now())
    }
    if (next === 'asks for facts') throw new Error('a poll asks for facts that it was given')
    metrics.reportGaps.inc({}, next.gaps)
    return next
  }

  async #facts(hubId: number): Promise<PollFacts> {
    const { samples, polls, coverage, clock } = this.#deps
    const [kept, refreshes, isFleetTrouble] = await Promise.all([
      samples.read(hubId),
      polls.refreshes(hubId),
      coverage.fleetSpeaks(clock.now()),
    ])
    return { samples: kept, refreshes, isFleetTrouble }
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
    const answers = await this.#deps.polls.commit(some.map(({ hubId, claim, next }) => ({ ...next, hubId, claim })))
    let areAlerts = false
    for (const [n, one] of some.entries()) {
      const entries = one.next.more?.alerts.entries.length ?? 0
      areAlerts ||= answers[n] === 'committed' && entries > 0
      await this.#end(one, answers[n] ?? 'lost')
    }
    if (areAlerts) await this.#deps.queues.wake('alerts', this.#deps.clock.now())
  }

  async #end({ hubId, next, done }: Waiting, committed: CommittedPoll): Promise<void> {
    if (committed instanceof Error) {
      done('lost')
      await accountFailed(this.#deps, 'poll', hubId, committed)
      return
    }
    if (committed === 'committed') {
      for (const [level, fields, text] of next.lines) this.#deps.log[level](fields, text)
    }
    done(committed === 'committed' ? next.outcome : committed === 'stale' ? 'lost' : committed)
  }
}
