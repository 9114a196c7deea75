import { UnreadableData } from '../redis/account-record.ts'
import type { Store } from '../redis/connect.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import type { Argument } from '../redis/scripts.ts'
import { table } from '../redis/steps.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import { parseAccess } from '../tokens/stored-access.ts'
import { encodeChange } from './history/change.ts'
import type { LastRefresh, LoadedAccount, NextPoll } from './poll.ts'
import type { PollState } from './poll-state.ts'
import { loadPollState, NEW_POLL_STATE, readPollState, writePollState } from './poll-state-text.ts'
import { encodeSamples, type Samples } from './samples.ts'

/** `gone`: not polled, since it is unknown, uninstalled or must be connected again. */
export type Loaded = LoadedAccount | 'gone' | Error

/** An account's next poll. */
export interface PlannedPoll {
  hubId: number
  /** State of its record. */
  accountState: AccountState
  hubDomain: string
  state: PollState
  /** ms */
  at: number
}

/** A poll to be committed. */
export interface PollToCommit extends Pick<NextPoll, 'state' | 'nextAt'>, Partial<Pick<NextPoll, 'freshAt' | 'more'>> {
  hubId: number
  /** The account's score while it is claimed: a poll that lost its claim changes nothing. */
  claim: number
}

/**
 * `stale`: an alert was changed meanwhile, and the account is due again at once; `lost`: another daemon has the claim.
 */
export type CommittedPoll = 'committed' | 'gone' | 'lost' | 'stale' | Error

export class PollStore {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** One account; undefined where it is not polled. */
  async loadOne(hubId: number): Promise<LoadedAccount | undefined> {
    const [loaded] = await this.load([hubId])
    if (loaded instanceof Error) throw loaded
    return loaded === 'gone' ? undefined : loaded
  }

  /** These accounts, in their order. It never rejects: an unreadable value is the trouble of its account. */
  async load(hubIds: readonly number[]): Promise<Loaded[]> {
    const loaded = chunksOf(hubIds, READ_TOGETHER).map((some) =>
      this.#loadTogether(some).catch((error: Error) => some.map(() => error)),
    )
    return (await Promise.all(loaded)).flat()
  }

  /** One plain command: of an account at rest it brings all that there is to know. */
  async #loadTogether(hubIds: readonly number[]): Promise<Loaded[]> {
    const names = hubIds.flatMap((hubId) => {
      const { poll, access, paused, forecast } = this.#keys.account(hubId)
      return [poll, access, paused, forecast]
    })
    const stored = await this.#store.mgetBuffer(...names)
    return Promise.all(
      hubIds.map((hubId, n) =>
        this.#complete(hubId, stored.slice(4 * n, 4 * n + 4)).catch((error: unknown) => error as Error),
      ),
    )
  }

  async #complete(
    hubId: number,
    [poll = null, access, paused, forecast]: (Buffer | null)[],
  ): Promise<LoadedAccount | 'gone'> {
    const state = poll === null ? NEW_POLL_STATE : readPollState(poll)
    if (state === undefined) throw new UnreadableData(`account ${hubId}: what its polls know can't be read`)
    const token = parseAccess(access)
    const loaded: LoadedAccount = {
      hubId,
      hubDomain: token?.hubDomain ?? '',
      access: token,
      state,
      forecasts: forecast?.toString() ?? '',
      pausedUntil: Number(paused?.toString() ?? 0) || 0,
      alertStates: {},
      record: undefined,
    }
    const isKnown = !state.isInterrupted && token !== undefined
    if (isKnown && !state.hasAlerts) return loaded
    const own = this.#keys.account(hubId)
    loaded.alertStates = await this.#store.hgetall(own.alerts)
    if (isKnown) return loaded
    const [[recordState, version, metadataDue, hubDomain]] = await Promise.all([
      this.#store.hmget(own.account, 'state', 'version', 'metadataDue', 'hubDomain'),
      // A key of another type would pass for a missing one.
      poll === null && this.#store.strlen(own.poll),
    ])
    if (recordState == null || NOT_POLLED.has(recordState)) return 'gone'
    loaded.hubDomain = hubDomain ?? ''
    loaded.record = {
      state: recordState as AccountState,
      version: version ?? '',
      metadataDue: metadataDue === '1',
    }
    return loaded
  }

  /** Undefined where the account is not polled. */
  async planned(hubId: number): Promise<PlannedPoll | undefined> {
    const { account } = this.#keys.account(hubId)
    const [at, [accountState, hubDomain], state] = await Promise.all([
      this.#store.zscore(this.#keys.due.poll, hubId),
      this.#store.hmget(account, 'state', 'hubDomain'),
      loadPollState(this.#store, this.#keys, hubId),
    ])
    if (at === null || accountState == null || state === undefined) return undefined
    return { hubId, accountState: accountState as AccountState, hubDomain: hubDomain ?? '', state, at: Number(at) }
  }

  /** State and version of an account; undefined: it is not known. */
  async record(hubId: number): Promise<{ state: string; version: string } | undefined> {
    const [state, version] = await this.#store.hmget(this.#keys.account(hubId).account, 'state', 'version')
    return state == null ? undefined : { state, version: version ?? '' }
  }

  /**
   * Moment of the last refresh of its tokens, ms (0 = never), and why the refreshes since then fail; undefined = they
   * don't.
   */
  async refreshes(hubId: number): Promise<LastRefresh> {
    const fields = ['refreshedAt', 'failureClass', 'failureReason'] as const
    const [at, failed, reason] = await this.#store.hmget(this.#keys.own(hubId), ...fields)
    return { at: Number(at ?? 0) || 0, failure: failed == null ? undefined : { class: failed, reason: reason ?? '' } }
  }

  /** No worker calls for this account, and for no other, before `until` (ms since 1970). */
  async pauseCalls(hubId: number, now: number, until: number): Promise<void> {
    const ms = Math.ceil(until - now)
    if (ms > 0) await this.#store.set(this.#keys.account(hubId).paused, Math.ceil(until), 'PX', ms)
  }

  /** Commits these polls in one step. Returns the outcome of each, in their order; it never rejects. */
  async commit(results: readonly PollToCommit[]): Promise<CommittedPoll[]> {
    if (results.length === 0) return []
    const keys = results.map(({ hubId }) => this.#keys.own(hubId))
    try {
      const answers = await this.#store.commitPolls(keys.length, ...keys, ...results.flatMap(argumentsOf))
      return results.map((_, n) => answers[n] as CommittedPoll)
    } catch (error) {
      return results.map(() => error as Error)
    }
  }
}

/** Redis does nothing else meanwhile: some 10 us for each account. */
const READ_TOGETHER = 50

const NOT_POLLED = new Set(['uninstalling', 'uninstalled', 'reauthorize'])

const NOTHING = ''

/** The same number of arguments for each, see `commitPolls` in poll.lua. */
function argumentsOf({ claim, nextAt, state, freshAt, more }: PollToCommit): Argument[] {
  const plain: Argument[] = [claim, Math.round(nextAt), freshAt ?? NOTHING, writePollState(state)]
  if (more === undefined) return [...plain, NOTHING, NOTHING, NOTHING]
  const { change, samples, ...others } = more
  // From this poll on: some of them may be older, and are kept no longer for that.
  const samplesMs = state.records && state.records.until - state.polledAt
  return [
    ...plain,
    table({ ...others, samplesMs }),
    change === undefined ? NOTHING : encodeChange(change),
    samplesText(samples),
  ]
}

function samplesText(samples: Samples | undefined): Argument {
  if (samples === undefined) return NOTHING
  return Object.keys(samples).length === 0 ? 'none' : encodeSamples(samples)
}
