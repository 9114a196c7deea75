import { decodeBucketUse, type KeptBucketUse } from '../provider/bucket-use.ts'
import { decodeNotAvailable } from '../provider/not-available.ts'
import { decodeGaps, type ReportGaps } from '../provider/read.ts'
import { UnreadableRecord, unreadableFields } from '../redis/account-record.ts'
import { accountSteps } from '../redis/account-steps.ts'
import type { Store } from '../redis/connect.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import { unlessOfOtherType } from '../redis/other-type.ts'
import { type AlertWrites, fromTable, table } from '../redis/steps.ts'
import { parseAccess } from '../tokens/stored-access.ts'
import { decodeFingerprints, encodeFingerprints, type Fingerprints } from './fingerprints.ts'
import { type AccountForecasts, decodeForecasts } from './forecast/forecast-account.ts'
import { TIME_PLACE } from './history/packed-bytes.ts'
import { keptReadings } from './history/packed-readings.ts'
import { type AskedCalls, type Taken, takenNow } from './polling/call-share.ts'
import type { PollPlan } from './polling/plan-poll.ts'
import { decodeTurn, encodeTurn, type PollTurn } from './polling/poll-turn.ts'
import type { Readings } from './readings.ts'
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

export interface KnownRefreshes {
  at: number
  failure: { class: string; reason: string } | undefined
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
    return new PollContext(hubId, this.#keys, answer, asking[0])
  }

  /** When the account is polled next, and what a plan of its own needs to know; undefined where it is not polled. */
  async planned(hubId: number): Promise<PlannedPoll | undefined> {
    const { account } = this.#keys.account(hubId)
    const { due } = this.#keys.partition(this.#keys.partitionOf(hubId))
    const [at, [state, hubDomain, polls, pollBecause]] = await Promise.all([
      this.#store.zscore(due.poll, hubId),
      unlessOfOtherType(this.#store.hmget(account, 'state', 'hubDomain', 'polls', 'pollBecause'), []),
    ])
    if (at === null || state == null) return undefined
    const turn = decodeTurn(pollBecause ?? '')
    return { state: state as AccountState, hubDomain: hubDomain ?? '', polls: polls ?? '0', at: Number(at), turn }
  }

  /** When its tokens were last refreshed, ms (0 = never), and why the refreshes since then fail; undefined = they don't. */
  async refreshes(hubId: number): Promise<KnownRefreshes> {
    const fields = ['refreshedAt', 'failureClass', 'failureReason'] as const
    const { account } = this.#keys.account(hubId)
    const [at, failed, reason] = await unlessOfOtherType(this.#store.hmget(account, ...fields), [])
    return { at: Number(at ?? 0) || 0, failure: failed == null ? undefined : { class: failed, reason: reason ?? '' } }
  }

  /** Gives an account another turn; `polls` is the number of its last poll as read: one made since has planned anew. */
  move(hubId: number, polls: string, { at, ...turn }: PollPlan): Promise<'moved' | 'gone' | 'lost'> {
    return this.#store.movePoll(this.#keys.own(hubId), ...[hubId, polls, Math.round(at), encodeTurn(turn)])
  }

  /** The same until a moment, whatever its turn: a claim that lasts longer, or is handed back. */
  hold(hubId: number, polls: string, until: number): Promise<'moved' | 'gone' | 'lost'> {
    return this.#store.movePoll(this.#keys.own(hubId), ...[hubId, polls, Math.round(until), ''])
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

/** Of what a poll starts from, what is packed. */
export interface PackedContext {
  readings: Buffer | null
  forecasts: string
  /** Whether records are kept. */
  hasSamples: boolean
}

/** As begin-poll.lua packs it. */
interface Begun {
  fields: Partial<Record<string, string>>
  granted: number
  pausedUntil: number
  hasSamples: number
  /** Names and states in turns. */
  alerts: string[]
}

/**
 * What a poll starts from. A class for the sake of what is unpacked when it is asked for: accessors in a literal made each
 * context an object of a shape of its own, and every access to one of its fields slow.
 */
export class PollContext {
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
  /** Why it is polled now, and when its regular turn is; undefined where none is stored. */
  turn: PollTurn | undefined
  /** Whether its metadata was never read: it was imported. */
  metadataDue: boolean
  /** Whether it was logged already that a reported percentage disagrees. */
  disagreed: boolean
  /** Object types that the last report named beyond what is kept of one account. */
  typesLeftOut: number
  /** What could not be read of the last reports. */
  gaps: ReportGaps
  /** Reports that its plan, or its scopes, lack: until when they are not asked for, ms. */
  notAvailable: Record<string, number>
  /** With automatic pairs: until when the provider is known to have no companion endpoints, ms; 0: it may have. */
  companionsAwayUntil: number
  /** With automatic pairs: one that was not read before had nothing at or near its limit. */
  pairsSeen: boolean
  /** What is left of its bucket of calls. */
  bucket: KeptBucketUse | undefined
  accessToken: Buffer | null
  packed: PackedContext
  /** What the last poll saw, if it read everything. */
  seen: Fingerprints | undefined
  /** Calls that were taken from the account's share for this poll. */
  taken: Taken | undefined
  /** States of the account's alerts as stored, by series. */
  alertStates: Record<string, string> = {}
  readonly #unpack: () => Readings | undefined
  #unpacked: { is: Readings | undefined } | undefined
  #foretold: { is: AccountForecasts | undefined } | undefined

  constructor(hubId: number, keys: Keys, answer: (Buffer | null)[], askedAt: number) {
    const [packed, access, forecast, readings = null] = answer
    const { fields, granted, pausedUntil, hasSamples, alerts } = fromTable(packed as Buffer) as Begun
    const unreadable = unreadableFields(fields)
    if (unreadable.length > 0)
      throw new UnreadableRecord(`account ${hubId}: its record has unreadable ${unreadable.join(', ')}`)
    const number = (name: string) => Number(fields[name] ?? 0)
    this.state = fields.state as AccountState
    this.expiresAt = number('expiresAt')
    this.obtainedAt = number('obtainedAt')
    this.metadataDue = fields.metadataDue === '1'
    this.hubDomain = fields.hubDomain ?? ''
    this.generation = fields.generation ?? ''
    this.polls = fields.polls ?? '0'
    this.polledAt = number('polledAt')
    this.pollFailures = number('pollFailures')
    this.disagreed = fields.disagreed === '1'
    this.companionsAwayUntil = number('companionsAwayUntil')
    this.notAvailable = decodeNotAvailable(fields.notAvailable ?? '')
    this.pairsSeen = fields.pairsSeen === '1'
    this.pollFailingSince = number('pollFailingSince')
    this.pollBlockedSince = number('pollBlockedSince')
    this.changedAt = number('changedAt')
    this.turn = decodeTurn(fields.pollBecause)
    this.seen = decodeFingerprints(fields.seen ?? '')
    this.typesLeftOut = number('typesLeftOut')
    this.gaps = decodeGaps(fields.gaps ?? '')
    this.bucket = decodeBucketUse(fields.bucket ?? '')
    for (let n = 0; n < alerts.length; n += 2) this.alertStates[alerts[n] as string] = alerts[n + 1] as string
    this.accessToken = parseAccess(access)?.sealed ?? null
    this.taken = takenNow(granted, pausedUntil, askedAt)
    this.#unpack = () => keptReadings(hubId, keys.account(hubId), readings)
    this.packed = { readings, forecasts: forecast?.toString() ?? '', hasSamples: hasSamples === 1 }
  }

  /** Unpacked when they are asked for: a poll that finds nothing changed needs none. */
  get readings(): Readings | undefined {
    this.#unpacked ??= { is: this.#unpack() }
    return this.#unpacked.is
  }

  /** The last one, however old. */
  get forecasts(): AccountForecasts | undefined {
    this.#foretold ??= { is: decodeForecasts(this.packed.forecasts) }
    return this.#foretold.is
  }
}
