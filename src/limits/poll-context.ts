import { decodeGaps, type ReportGaps } from '../provider/read.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import { fromTable } from '../redis/steps.ts'
import { decodeFingerprints, type Fingerprints } from './fingerprints.ts'
import { type AccountForecasts, decodeForecasts } from './forecast/forecast-account.ts'
import { keptReadings } from './history/packed.ts'
import { type Taken, takenNow } from './polling/call-share.ts'
import { decodeTurn, type PollTurn } from './polling/poll-turn.ts'
import type { Readings } from './readings.ts'

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
  /** Why it is polled now, and when its regular turn is; undefined where none is stored. */
  turn: PollTurn | undefined
  /** Whether its metadata was never read: it was imported. */
  metadataDue: boolean
  /** Whether it was logged already that a reported percentage disagrees. */
  disagreed: boolean
  /** Object types that the last report named beyond what is kept of one account. */
  typesLeftOut: number
  /** What could not be read of the last reports. */
  readonly gaps: ReportGaps
  /** With automatic pairs: until when the provider is known to have no companion endpoints, ms; 0: it may have. */
  companionsAwayUntil: number
  /** With automatic pairs: one that was not read before had nothing at or near its limit. */
  pairsSeen: boolean
  accessToken: Buffer | null
  /** Unpacked when they are asked for: a poll that finds nothing changed needs none. */
  readonly readings: Readings | undefined
  /** The last one, however old. */
  readonly forecasts: AccountForecasts | undefined
  packed: PackedContext
  /** What the last poll saw, if it read everything. */
  seen: Fingerprints | undefined
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
}

/** As the step `beginPoll` packs it. */
interface Begun {
  fields: Partial<Record<string, string>>
  granted: number
  pausedUntil: number
  hasSamples: number
  /** Names and states in turns. */
  alerts: string[]
}

/**
 * A class for the sake of what is unpacked when it is asked for: accessors in a literal made each context an object of a
 * shape of its own, and every access to one of its fields slow.
 */
export class StoredContext implements PollContext {
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
  turn: PollTurn | undefined
  seen: Fingerprints | undefined
  typesLeftOut: number
  gaps: ReportGaps
  accessToken: Buffer | null
  packed: PackedContext
  taken: Taken | undefined
  alertStates: Record<string, string> = {}
  readonly #unpack: () => Readings | undefined
  #unpacked: { is: Readings | undefined } | undefined
  #foretold: { is: AccountForecasts | undefined } | undefined

  constructor(hubId: number, keys: Keys, answer: (Buffer | null)[], askedAt: number) {
    const [packed, accessToken = null, forecast, readings = null] = answer
    const { fields, granted, pausedUntil, hasSamples, alerts } = fromTable(packed as Buffer) as Begun
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
    this.pairsSeen = fields.pairsSeen === '1'
    this.pollFailingSince = number('pollFailingSince')
    this.pollBlockedSince = number('pollBlockedSince')
    this.changedAt = number('changedAt')
    this.turn = decodeTurn(fields.pollBecause)
    this.seen = decodeFingerprints(fields.seen ?? '')
    this.typesLeftOut = number('typesLeftOut')
    this.gaps = decodeGaps(fields.gaps ?? '')
    for (let n = 0; n < alerts.length; n += 2) this.alertStates[alerts[n] as string] = alerts[n + 1] as string
    this.accessToken = accessToken
    this.taken = takenNow(granted, pausedUntil, askedAt)
    this.#unpack = () => keptReadings(hubId, keys.account(hubId), readings)
    this.packed = { readings, forecasts: forecast?.toString() ?? '', hasSamples: hasSamples === 1 }
  }

  get readings() {
    this.#unpacked ??= { is: this.#unpack() }
    return this.#unpacked.is
  }

  get forecasts() {
    this.#foretold ??= { is: decodeForecasts(this.packed.forecasts) }
    return this.#foretold.is
  }
}
