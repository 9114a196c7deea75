import { UnreadableRecord } from '../redis/account-record.ts'
import type { Store } from '../redis/connect.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import type { Argument } from '../redis/scripts.ts'
import { type AlertWrites, table } from '../redis/steps.ts'
import { parseAccess, type StoredAccess } from '../tokens/stored-access.ts'
import { unpackReadings } from './history/packed-readings.ts'
import type { PollPlan } from './polling/plan-poll.ts'
import { shortTurn } from './polling/poll-turn.ts'
import type { Readings } from './readings.ts'
import { encodeSamples, type Samples } from './samples.ts'
import { decodeWatch, encodeWatch, type StoredWatch } from './watch/packed-watch.ts'
import { readWatch } from './watch/read-watch.ts'
import { NEW_WATCH, type Watch } from './watch/watch.ts'

/** The state of an account that a poll starts from. */
export interface Begun {
  hubId: number
  hubDomain: string
  /** Undefined: it has none, or none that can be read. */
  access: StoredAccess | undefined
  watch: Watch
  /**
   * The account has no readings yet, or something ended its polling since: the last poll's fingerprints, and its
   * alerts, count no more.
   */
  isInterrupted: boolean
  readings: PackedReadings
  /** Stored forecasts; '' = there are none. */
  forecasts: string
  /** Until when no call is made for the account, ms; 0 = there is no pause. */
  pausedUntil: number
  /** States of the account's alerts as stored, by series; none are read of an account whose watch says that it has none. */
  alertStates: Record<string, string>
  /** Fields of its record; not read for an account that was polled just before. */
  record: { state: AccountState; version: string; metadataDue: boolean } | undefined
}

/** The last numbers of an account, unpacked once they are asked for: a poll that finds nothing changed needs none. */
export class PackedReadings {
  readonly packed: Buffer | undefined
  readonly #hubId: number
  readonly #keys: Keys
  #unpacked: { is: Readings | undefined } | undefined

  constructor(hubId: number, keys: Keys, packed: Buffer | undefined) {
    this.packed = packed
    this.#hubId = hubId
    this.#keys = keys
  }

  /** @throws UnreadableKey */
  unpacked(): Readings | undefined {
    this.#unpacked ??= { is: unpackReadings(this.#hubId, this.#keys.account(this.#hubId), this.packed) }
    return this.#unpacked.is
  }
}

/** The answer of one command about an account. */
interface Stored {
  hubId: number
  kept: StoredWatch | undefined
  access: StoredAccess | undefined
  paused: Buffer | null | undefined
  forecast: Buffer | null | undefined
}

/** `gone`: not polled, since it is unknown, uninstalled or must be connected again. */
export type BegunOr = Begun | 'gone' | Error

/** An account's next poll. */
export interface PlannedPoll extends StoredWatch {
  hubId: number
  state: AccountState
  hubDomain: string
  /** ms */
  at: number
}

export interface LastRefresh {
  at: number
  failure: { class: string; reason: string } | undefined
}

/** Results of a poll, to be committed. */
export interface PollResult {
  hubId: number
  /** The account's score while it is claimed: a poll that lost its claim changes nothing. */
  claim: number
  nextAt: number
  watch: Watch
  /** Packed. */
  readings: Buffer | undefined
  /** The interruption of its polls lasts: this was none. */
  isInterrupted?: boolean
  /** Moment from which the account counts as read, ms; undefined: nothing was read. */
  freshAt?: number | undefined
  /** Undefined: it left all else as it was. */
  more?: PollChanges | undefined
}

/** Writes that only some polls have. */
export interface PollChanges {
  alerts: AlertWrites
  /** For the history. Undefined: nothing changed. */
  record?: string | undefined
  /** Undefined: they stay as they are; they expire at `watch.records.until`. */
  samples?: Samples | 'kept for longer' | undefined
  /** How near its nearest limit is. Undefined: unchanged. */
  nearness?: number | 'none' | undefined
  /** Moment since which its polls fail, ms; `over`: they work again. Undefined: unchanged. */
  failingSince?: number | 'over' | undefined
  /** No scope lets anything be read: it is no gap in what is read. */
  isBlocked?: true | undefined
  /** The account waited for its first reading. */
  isFirst?: true | undefined
  /** Moment until which its tokens are left alone, ms. */
  parkedUntil?: number | undefined
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

  /** One account, as `begin`; undefined where it is not polled. */
  async read(hubId: number): Promise<Begun | undefined> {
    const [begun] = await this.begin([hubId])
    if (begun instanceof Error) throw begun
    return begun === 'gone' ? undefined : begun
  }

  /**
   * The states that polls of these accounts start from, in their order. It never rejects: an unreadable value is the
   * trouble of its account.
   */
  async begin(hubIds: readonly number[]): Promise<BegunOr[]> {
    if (hubIds.length === 0) return []
    return this.#beginTogether(hubIds).catch((error: Error) => hubIds.map(() => error))
  }

  /** One plain command: of an account at rest it brings all that there is to know. */
  async #beginTogether(hubIds: readonly number[]): Promise<BegunOr[]> {
    const names = hubIds.flatMap((hubId) => {
      const { watch, access, paused, forecast } = this.#keys.account(hubId)
      return [watch, access, paused, forecast]
    })
    const stored = await this.#store.mgetBuffer(...names)
    return Promise.all(
      hubIds.map(async (hubId, n): Promise<BegunOr> => {
        try {
          const [watch = null, access, paused, forecast] = stored.slice(4 * n, 4 * n + 4)
          const kept = watch === null ? undefined : this.#decode(hubId, watch)
          return await this.#complete({ hubId, kept, access: parseAccess(access), paused, forecast })
        } catch (error) {
          return error as Error
        }
      }),
    )
  }

  async #complete({ hubId, kept, access, paused, forecast }: Stored): Promise<Begun | 'gone'> {
    const begun: Begun = {
      hubId,
      hubDomain: access?.hubDomain ?? '',
      access,
      watch: kept?.watch ?? NEW_WATCH,
      isInterrupted: kept?.isInterrupted ?? true,
      readings: new PackedReadings(hubId, this.#keys, kept?.readings),
      forecasts: forecast?.toString() ?? '',
      pausedUntil: Number(paused?.toString() ?? 0) || 0,
      alertStates: {},
      record: undefined,
    }
    const isKnown = !begun.isInterrupted && access !== undefined
    if (isKnown && !begun.watch.hasAlerts) return begun
    const own = this.#keys.account(hubId)
    begun.alertStates = await this.#store.hgetall(own.alerts)
    if (isKnown) return begun
    const [[state, version, metadataDue, hubDomain]] = await Promise.all([
      this.#store.hmget(own.account, 'state', 'version', 'metadataDue', 'hubDomain'),
      // A key of another type would pass for a missing one.
      kept === undefined && this.#store.strlen(own.watch),
    ])
    if (state == null || NOT_POLLED.has(state)) return 'gone'
    begun.hubDomain = hubDomain ?? ''
    begun.record = { state: state as AccountState, version: version ?? '', metadataDue: metadataDue === '1' }
    return begun
  }

  #decode(hubId: number, stored: Buffer): StoredWatch {
    try {
      return decodeWatch(stored)
    } catch (error) {
      throw new UnreadableRecord(`account ${hubId}: its watch can't be read, ${(error as Error).message}`)
    }
  }

  /**
   * The account's next poll, and the watch that a plan needs. Undefined where it is not polled, or its watch is
   * unreadable: its next poll puts that aside.
   */
  async planned(hubId: number): Promise<PlannedPoll | undefined> {
    const { account } = this.#keys.account(hubId)
    const [at, [state, hubDomain], kept] = await Promise.all([
      this.#store.zscore(this.#keys.due.poll, hubId),
      this.#store.hmget(account, 'state', 'hubDomain'),
      readWatch(this.#store, this.#keys, hubId),
    ])
    if (at === null || state == null || kept === undefined || kept === 'unreadable') return undefined
    return { ...kept, hubId, state: state as AccountState, hubDomain: hubDomain ?? '', at: Number(at) }
  }

  /** Gives an account another turn, unless it was polled, or claimed, since its plan was read. */
  async move(planned: PlannedPoll, { at, ...turn }: PollPlan): Promise<CommittedPoll> {
    const watch = { ...planned.watch, turn: shortTurn(turn) }
    const { hubId, readings, isInterrupted } = planned
    const [committed] = await this.commit([
      { hubId, claim: planned.at, nextAt: Math.round(at), watch, readings, isInterrupted },
    ])
    return committed ?? 'lost'
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
    const { account } = this.#keys.account(hubId)
    const [at, failed, reason] = await this.#store.hmget(account, ...fields)
    return { at: Number(at ?? 0) || 0, failure: failed == null ? undefined : { class: failed, reason: reason ?? '' } }
  }

  /** No worker calls for this account, and for no other, before `until` (ms since 1970); never shorter than it is. */
  async pauseCalls(hubId: number, now: number, until: number): Promise<void> {
    await this.#store.pauseCalls(this.#keys.account(hubId).paused, now, Math.ceil(until))
  }

  /** Commits these polls in one step. Returns the outcome of each, in their order; it never rejects. */
  async commit(results: readonly PollResult[]): Promise<CommittedPoll[]> {
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

const NOT_POLLED = new Set(['uninstalling', 'uninstalled', 'reauthorize'])

const NO_BYTES = ''

/** The same number of arguments for each, see `commitPolls` in poll.lua. */
function argumentsOf({ claim, nextAt, watch, readings, isInterrupted, freshAt, more }: PollResult): Argument[] {
  const plain: Argument[] = [
    claim,
    Math.round(nextAt),
    freshAt ?? NO_BYTES,
    encodeWatch(watch, readings, isInterrupted),
  ]
  if (more === undefined) return [...plain, NO_BYTES, NO_BYTES, NO_BYTES]
  const { record = NO_BYTES, samples, ...others } = more
  // From this poll on: some of them may be older, and are kept no longer for that.
  const samplesMs = watch.records && watch.records.until - watch.polledAt
  return [...plain, table({ ...others, samplesMs }), record, packedSamples(samples)]
}

function packedSamples(samples: PollChanges['samples']): Argument {
  if (samples === undefined) return NO_BYTES
  if (typeof samples === 'string') return 'longer'
  return Object.keys(samples).length === 0 ? 'none' : encodeSamples(samples)
}
