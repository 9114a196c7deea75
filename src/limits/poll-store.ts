import { accountSteps } from '../redis/account-steps.ts'
import type { Store } from '../redis/connect.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import { type AlertWrites, accountStepKeys, stepJson } from '../redis/steps.ts'
import type { Change } from './history/change.ts'
import { packPoll } from './history/pack-poll.ts'
import { TIME_PLACE } from './history/packed-numbers.ts'
import { encodeSamples } from './history/packed-samples.ts'
import type { Slots } from './history/standing.ts'
import { type PollContext, StoredContext } from './poll-context.ts'
import type { AskedCalls } from './polling/call-share.ts'
import type { PollPlan } from './polling/plan-poll.ts'
import { decodeTurn, encodeTurn, type PollTurn } from './polling/poll-turn.ts'
import type { Readings } from './readings.ts'
import type { Samples } from './samples.ts'
import { encodeSeen, type Seen } from './seen.ts'

/** An account's next poll. */
export interface PlannedPoll {
  state: AccountState
  hubDomain: string
  polls: string
  /** ms */
  at: number
  turn: PollTurn | undefined
}

/** The records that were shown; or those that are kept, all of them read anew at a moment. */
type KeptAnew = { keepMs: number } & ({ shown: Samples } | { sameAt: number })

export interface PollResult {
  polls: string
  /** As the poll read them. */
  slots: Slots
  nextAt: number
  /** '' takes one away. */
  fields: Record<string, string>
  /** Undefined: nothing could be read. */
  readings: Readings | undefined
  /** The names in the readings, packed, where they are known to be those from before. */
  packedTexts?: Buffer | undefined
  /** When the account counts as read, ms; undefined: nothing was. */
  freshAt?: number | undefined
  /** How near its nearest limit is; null: it is near none. Undefined: as it was. */
  nearness?: number | null | undefined
  /** From the readings before to `readings`. */
  change: Change | undefined
  /** The records, and how long they are kept from now on, ms. Undefined: they stay as they are. */
  samples: KeptAnew | undefined
  alerts: AlertWrites
  /** Undefined: nothing that the next poll could go by. */
  seen?: Seen | undefined
}

/** A poll that found all as it was: nothing but its moment is new. */
export interface QuietResult extends Pick<PollResult, 'polls' | 'nextAt' | 'freshAt' | 'nearness'> {
  /** When it was, ms. */
  at: number
  pollBecause: string
  seen: Seen
  /** How long the records are kept from now on, ms; 0: there are none. */
  keepSamplesMs: number
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
    const answer = await accountSteps(this.#store).beginPoll(this.#keys.own(hubId), asking.join(' '))
    return answer.length === 0 ? undefined : new StoredContext(hubId, this.#keys, answer, asking[0])
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
    const { polls, nextAt, readings, slots, change, packedTexts, seen, freshAt = '', alerts } = result
    const { polledAt: at = '', pollBecause = '', ...fields } = result.fields
    const packed = readings === undefined ? undefined : packPoll(readings, slots, change, packedTexts)
    const nearness = result.nearness === null ? 'far' : (result.nearness ?? '')
    const kept = samplesArguments(result.samples)
    const lines = [
      hubId,
      polls,
      Math.round(nextAt),
      at,
      freshAt,
      nearness,
      '',
      kept.keep,
      encodeSeen(seen),
      pollBecause,
    ]
    const isNothing = alerts.changes.length === 0 && alerts.entries.length === 0
    return accountSteps(this.#store).commitPoll(
      this.#keys.own(hubId),
      ...[lines.join('\n'), kept.moment, Object.keys(fields).length === 0 ? '' : stepJson(fields)],
      ...[packed?.readings ?? '', packed?.record ?? '', isNothing ? '' : stepJson(alerts), kept.samples],
    )
  }

  commitQuiet(hubId: number, result: QuietResult): Promise<'committed' | 'gone' | 'lost'> {
    const { polls, at, nextAt, pollBecause, seen, keepSamplesMs, freshAt = '', nearness } = result
    const keep = keepSamplesMs === 0 ? '' : keepSamplesMs
    // It is in the ranking, or it is not: only where it is, others may have taken it out.
    const near = nearness ?? ''
    const lines = [hubId, polls, Math.round(nextAt), at, freshAt, near, 'still', keep, encodeSeen(seen), pollBecause]
    return accountSteps(this.#store).commitPoll(
      this.#keys.own(hubId),
      ...[lines.join('\n'), timeBytes(at), '', '', '', '', ''],
    )
  }
}

const NO_CALLS: AskedCalls = [0, 0, 0, 0]

/** The samples ('' = as they are), the moment of those that stay, and how long they are kept ('' = as long as before, 0 = not at all). */
function samplesArguments(samples: PollResult['samples']): {
  samples: Buffer | ''
  moment: Buffer | ''
  keep: number | ''
} {
  if (samples === undefined) return { samples: '', moment: '', keep: '' }
  const { keepMs: keep } = samples
  if ('sameAt' in samples) return { samples: '', moment: timeBytes(samples.sameAt), keep }
  if (Object.keys(samples.shown).length === 0) return { samples: '', moment: '', keep: 0 }
  return { samples: encodeSamples(samples.shown), moment: '', keep }
}

function timeBytes(at: number): Buffer {
  const bytes = Buffer.allocUnsafe(TIME_PLACE.bytes)
  bytes.writeUIntBE(at, 0, TIME_PLACE.bytes)
  return bytes
}
