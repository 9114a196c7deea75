import { accountSteps } from '../redis/account-steps.ts'
import type { Store } from '../redis/connect.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import { type AlertWrites, accountStepKeys, stepJson } from '../redis/steps.ts'
import { type AccountForecasts, decodeForecasts } from './forecast/account-forecasts.ts'
import type { Change } from './history/change.ts'
import { keptNumbers, keptReadings } from './history/kept-readings.ts'
import { type PackedPoll, packPoll } from './history/pack-poll.ts'
import { TIME_PLACE } from './history/packed-numbers.ts'
import type { KeptNumbers, KeptReadings, KnownNames } from './history/packed-readings.ts'
import { encodeSamples } from './history/packed-samples.ts'
import type { Slots } from './history/standing.ts'
import { type AskedCalls, type Taken, takenNow } from './polling/call-share.ts'
import type { PollPlan } from './polling/plan-poll.ts'
import { decodeTurn, encodeTurn, type PollTurn } from './polling/poll-turn.ts'
import type { Readings } from './readings.ts'
import type { Samples } from './samples.ts'
import { decodeSeen, encodeSeen, type Seen } from './seen.ts'

/** An account's next poll. */
export interface PlannedPoll {
  state: AccountState
  hubDomain: string
  polls: string
  /** ms */
  at: number
  turn: PollTurn | undefined
}

/** What a poll starts from. */
export interface PollContext {
  state: AccountState
  hubDomain: string
  expiresAt: number
  obtainedAt: number
  generation: string
  /** Number of the last poll that was committed: the next one is refused if it has moved on. */
  polls: string
  polledAt: number
  /** In a row, and since when (ms, 0 = the last one worked). */
  pollFailures: number
  pollFailingSince: number
  /** Since when a scope is missing, ms; 0 = none is. */
  pollBlockedSince: number
  /** When a poll last found a number changed, ms; 0 = never. */
  changedAt: number
  /** Its turn as stored: why it is polled now; '' = none. */
  pollBecause: string
  /** Whether its metadata was never read: it was imported. */
  metadataDue: boolean
  /** Whether it was said already that a reported percentage disagrees. */
  disagreed: boolean
  /** With automatic pairs: until when the provider is known to have no companion endpoints, ms; 0: it may have. */
  companionsAwayUntil: number
  /** With automatic pairs: one that was not read before had nothing at or near its limit. */
  pairsSeen: boolean
  accessToken: Buffer | null
  /** Unpacked when they are asked for: a poll that finds nothing changed needs none. */
  readonly readings: Readings | undefined
  /** As told last, however old. */
  readonly forecasts: AccountForecasts | undefined
  /** By what the history's records name the series of the readings. */
  readonly slots: Slots
  packed: PackedContext
  /** What the last poll saw, if it read everything. */
  seen: Seen | undefined
  /** Calls that were taken from the account's share for this poll. */
  taken: Taken | undefined
  /** States of the account's alerts as stored, by series. */
  alertStates: Record<string, string>
}

/** Of what a poll starts from, what is packed. */
export interface PackedContext {
  readings: Buffer | null
  forecasts: string
  /** Whether records are kept. */
  hasSamples: boolean
  /** The readings, whose names are those of `names`. */
  readingsNamedAs(names: Readings): KeptReadings | undefined
  /** Their numbers, whose names are known. */
  numbersNamedAs(names: KnownNames): KeptNumbers | undefined
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

/** A poll of an account at rest that found some numbers moved, or records changed. */
export interface MovedResult
  extends Pick<PollResult, 'polls' | 'nextAt' | 'fields' | 'freshAt' | 'nearness' | 'alerts' | 'samples'> {
  /** When it was, ms. */
  at: number
  pollBecause: string
  seen: Seen
  packed: PackedPoll
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
    return answer.length === 0 ? undefined : new StoredContext(hubId, this.#keys, answer)
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

  commit(hubId: number, result: PollResult): Promise<'committed' | 'gone' | 'lost'> {
    const { readings, slots, change, packedTexts, fields } = result
    const { polledAt = '', pollBecause = '', ...others } = fields
    const packed = readings === undefined ? undefined : packPoll(readings, slots, change, packedTexts)
    return this.#commit(hubId, { ...result, packed, at: polledAt, pollBecause, fields: others })
  }

  commitMoved(hubId: number, result: MovedResult): Promise<'committed' | 'gone' | 'lost'> {
    return this.#commit(hubId, result)
  }

  #commit(
    hubId: number,
    result: Pick<PollResult, 'polls' | 'nextAt' | 'fields' | 'freshAt' | 'nearness' | 'alerts' | 'samples' | 'seen'> & {
      at: number | string
      pollBecause: string
      packed: PackedPoll | undefined
    },
  ): Promise<'committed' | 'gone' | 'lost'> {
    const { polls, nextAt, fields, seen, freshAt = '', alerts, at, pollBecause, packed } = result
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

/** As begin-poll.lua reads them. */
const FIELDS = [
  ...['state', 'expiresAt', 'obtainedAt', 'metadataDue', 'hubDomain', 'generation', 'polls', 'polledAt'],
  ...['pollFailures', 'disagreed', 'companionsAwayUntil', 'pairsSeen', 'pollFailingSince', 'pollBlockedSince'],
  ...['changedAt', 'pollBecause', 'seen'],
]

/** Behind the fields, the token, the forecast and the readings. */
const FIRST_ALERT = 4

const NO_CALLS: AskedCalls = [0, 0, 0, 0]

/**
 * A class for the sake of what is unpacked when it is asked for: accessors in a literal made each context an object of a
 * shape of its own, and every look at one of its fields, wherever a poll makes one, a slow one.
 */
class StoredContext implements PollContext {
  state: AccountState
  expiresAt: number
  obtainedAt: number
  metadataDue: boolean
  hubDomain: string
  generation: string
  polls: string
  polledAt: number
  pollFailures: number
  disagreed: boolean
  companionsAwayUntil: number
  pairsSeen: boolean
  pollFailingSince: number
  pollBlockedSince: number
  changedAt: number
  pollBecause: string
  seen: Seen | undefined
  accessToken: Buffer | null
  packed: PackedContext
  taken: Taken | undefined
  alertStates: Record<string, string> = {}
  readonly #unpacked: () => KeptReadings | undefined
  #foretold: { is: AccountForecasts | undefined } | undefined

  constructor(hubId: number, keys: Keys, answer: (Buffer | null)[]) {
    const [lines, accessToken = null, forecast, readings = null] = answer
    const texts = String(lines).split('\n')
    const text = (place: number) => texts[place] ?? ''
    const number = (place: number) => Number(texts[place])
    this.state = text(0) as AccountState
    this.expiresAt = number(1)
    this.obtainedAt = number(2)
    this.metadataDue = text(3) === '1'
    this.hubDomain = text(4)
    this.generation = text(5)
    this.polls = text(6) || '0'
    this.polledAt = number(7)
    this.pollFailures = number(8)
    this.disagreed = text(9) === '1'
    this.companionsAwayUntil = number(10)
    this.pairsSeen = text(11) === '1'
    this.pollFailingSince = number(12)
    this.pollBlockedSince = number(13)
    this.changedAt = number(14)
    this.pollBecause = text(15)
    this.seen = decodeSeen(text(16))
    this.accessToken = accessToken
    const taken = FIELDS.length
    this.taken = takenNow(number(taken), number(taken + 1))
    let kept: KeptReadings | undefined
    const readingsNamedAs = (names?: Readings) => {
      kept ??= keptReadings(hubId, keys.account(hubId), readings, names)
      return kept
    }
    this.#unpacked = readingsNamedAs
    const hasSamples = number(taken + 2) === 1
    this.packed = {
      ...{ readings, forecasts: forecast?.toString() ?? '', hasSamples, readingsNamedAs },
      numbersNamedAs: (names) => keptNumbers(hubId, keys.account(hubId), readings, names),
    }
    for (let place = FIRST_ALERT; place < answer.length; place += 2) {
      this.alertStates[String(answer[place])] = String(answer[place + 1])
    }
  }

  get readings() {
    return this.#unpacked()?.readings
  }

  get slots() {
    return this.#unpacked()?.slots ?? new Map()
  }

  get forecasts() {
    this.#foretold ??= { is: decodeForecasts(this.packed.forecasts) }
    return this.#foretold.is
  }
}

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
