import { accountSteps } from '../redis/account-steps.ts'
import type { Store } from '../redis/connect.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import { type AlertWrites, accountStepKeys, table } from '../redis/steps.ts'
import { encodeFingerprints, type Fingerprints } from './fingerprints.ts'
import { TIME_PLACE } from './history/packed.ts'
import { type PollContext, StoredContext } from './poll-context.ts'
import type { AskedCalls } from './polling/call-share.ts'
import type { PollPlan } from './polling/plan-poll.ts'
import { decodeTurn, encodeTurn, type PollTurn } from './polling/poll-turn.ts'
import { encodeSamples, type Samples } from './samples.ts'

/** An account's next poll. */
export interface PlannedPoll {
  state: AccountState
  hubDomain: string
  polls: string
  /** ms */
  at: number
  turn: PollTurn | undefined
}

/** What a poll found. `unchanged` is all as it was, but read anew at `polledAt`. */
export interface PollResult {
  /** Number of the last poll as read. */
  polls: string
  nextAt: number
  /** '' takes one away. */
  fields: Record<string, string>
  /** Packed, see `packPoll`. Undefined: nothing could be read. */
  readings: Buffer | 'unchanged' | undefined
  /** For the history. Undefined: nothing changed. */
  record?: Buffer | undefined
  /** When the account counts as read, ms; undefined: nothing was. */
  freshAt?: number | undefined
  /** How near its nearest limit is. Undefined: as it was. */
  nearness?: number | 'none' | undefined
  /** The records, and how long they are kept from now on, ms. Undefined: they stay as they are. */
  samples?: { shown: Samples | 'unchanged'; keepMs: number } | undefined
  alerts: AlertWrites
  /** Undefined: nothing that the next poll could go by. */
  seen?: Fingerprints | 'unchanged' | undefined
}

export class PollStore {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** Undefined for an account that is not to be polled: unknown, uninstalled, to be authorised again. */
  read(hubId: number): Promise<PollContext | undefined> {
    return this.begin(hubId, NO_CALLS)
  }

  /** As `read`; `asking` are the calls that it makes at once, taken from its share where it can be polled. */
  async begin(hubId: number, asking: AskedCalls): Promise<PollContext | undefined> {
    const answer = await accountSteps(this.#store).beginPoll(this.#keys.own(hubId), ...asking)
    if (answer.length === 0) return undefined
    return new StoredContext(hubId, this.#keys, answer, asking[0])
  }

  /** When the account is polled next, and what a plan of its own needs to know; undefined where it is not polled. */
  async planned(hubId: number): Promise<PlannedPoll | undefined> {
    const { account } = this.#keys.account(hubId)
    const { due } = this.#keys.partition(this.#keys.partitionOf(hubId))
    const [at, [state, hubDomain, polls, pollBecause]] = await Promise.all([
      this.#store.zscore(due.poll, hubId),
      this.#store.hmget(account, 'state', 'hubDomain', 'polls', 'pollBecause'),
    ])
    if (at === null || state == null) return undefined
    const turn = decodeTurn(pollBecause ?? '')
    return { state: state as AccountState, hubDomain: hubDomain ?? '', polls: polls ?? '0', at: Number(at), turn }
  }

  /** Gives an account another turn; `polls` is the number of its last poll as read: one made since has planned anew. */
  move(hubId: number, polls: string, { at, ...turn }: PollPlan): Promise<'moved' | 'gone' | 'lost'> {
    const keys = accountStepKeys(this.#keys, hubId)
    return this.#store.movePoll(...keys, ...[hubId, polls, Math.round(at), encodeTurn(turn)])
  }

  /** The same until a moment, whatever its turn: a claim that lasts longer, or is handed back. */
  hold(hubId: number, polls: string, until: number): Promise<'moved' | 'gone' | 'lost'> {
    return this.#store.movePoll(...accountStepKeys(this.#keys, hubId), ...[hubId, polls, Math.round(until), ''])
  }

  commit(hubId: number, result: PollResult): Promise<'committed' | 'gone' | 'lost'> {
    const { readings = '', record = '', samples, seen, nextAt, ...others } = result
    const found = table({
      ...others,
      hubId,
      nextAt: Math.round(nextAt),
      seen: seen === 'unchanged' ? undefined : encodeFingerprints(seen),
      keepSamplesMs: samples?.keepMs,
    })
    const moment = timeBytes(Number(result.fields.polledAt ?? 0))
    return accountSteps(this.#store).commitPoll(
      ...([
        this.#keys.own(hubId),
        found,
        moment,
        readings,
        record,
        samples === undefined ? '' : packedSamples(samples.shown),
      ] as const),
    )
  }
}

const NO_CALLS: AskedCalls = [0, 0, 0, 0]

function packedSamples(shown: Samples | 'unchanged'): Buffer | 'unchanged' | 'none' {
  if (shown === 'unchanged') return shown
  return Object.keys(shown).length === 0 ? 'none' : encodeSamples(shown)
}

function timeBytes(at: number): Buffer {
  const bytes = Buffer.allocUnsafe(TIME_PLACE.bytes)
  bytes.writeUIntBE(at, 0, TIME_PLACE.bytes)
  return bytes
}
