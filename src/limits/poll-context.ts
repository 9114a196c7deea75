import { decodeGaps, type ReportGaps } from '../provider/report-gaps.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import { type AccountForecasts, decodeForecasts } from './forecast/account-forecasts.ts'
import { keptReadings } from './history/kept-readings.ts'
import { type Taken, takenNow } from './polling/call-share.ts'
import type { Readings } from './readings.ts'
import { decodeSeen, type Seen } from './seen.ts'

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
  /** As told last, however old. */
  readonly forecasts: AccountForecasts | undefined
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
}

/** The account's fields, in the order of begin-poll.lua; what it adds stands behind them. */
const FIELDS = 19

/** Behind the fields, the token, the forecast and the readings. */
const FIRST_ALERT = 4

/**
 * A class for the sake of what is unpacked when it is asked for: accessors in a literal made each context an object of a
 * shape of its own, and every look at one of its fields, wherever a poll makes one, a slow one.
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
  pollBecause: string
  seen: Seen | undefined
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
    this.typesLeftOut = number(17)
    this.gaps = decodeGaps(text(18))
    this.accessToken = accessToken
    this.taken = takenNow(number(FIELDS), number(FIELDS + 1), askedAt)
    this.#unpack = () => keptReadings(hubId, keys.account(hubId), readings)
    this.packed = { readings, forecasts: forecast?.toString() ?? '', hasSamples: number(FIELDS + 2) === 1 }
    for (let place = FIRST_ALERT; place < answer.length; place += 2) {
      this.alertStates[String(answer[place])] = String(answer[place + 1])
    }
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
