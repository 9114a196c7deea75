import { accountSteps } from '../redis/account-steps.ts'
import type { Store } from '../redis/connect.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import { type AlertWrites, accountStepKeys, stepJson } from '../redis/steps.ts'
import { type AccountForecasts, decodeForecasts } from './forecast/account-forecasts.ts'
import type { Change } from './history/change.ts'
import { keptReadings } from './history/kept-readings.ts'
import { packPoll } from './history/pack-poll.ts'
import { encodeSamples } from './history/packed-samples.ts'
import type { Slots } from './history/standing.ts'
import type { PollPlan } from './polling/plan-poll.ts'
import { decodeTurn, encodeTurn, type PollTurn } from './polling/poll-turn.ts'
import type { Readings } from './readings.ts'
import type { Samples } from './samples.ts'

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
  readings: Readings | undefined
  /** As told last, however old. */
  forecasts: AccountForecasts | undefined
  /** By what the history's records name the series of the readings. */
  slots: Slots
  /** States of the account's alerts as stored, by series. */
  alertStates: Record<string, string>
}

export interface PollResult {
  polls: string
  /** As the poll read them. */
  slots: Slots
  nextAt: number
  fields: Record<string, string>
  /** Undefined: nothing could be read. */
  readings: Readings | undefined
  /** When the account counts as read, ms; undefined: nothing was. */
  freshAt?: number | undefined
  /** How near its nearest limit is; null: it is near none. Undefined: as it was. */
  nearness?: number | null | undefined
  /** From the readings before to `readings`. */
  change: Change | undefined
  /** The records that were shown, and how long they are kept from now on, ms. Undefined: they stay as they are. */
  samples: { shown: Samples; keepMs: number } | undefined
  alerts: AlertWrites
}

export class PollStore {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** Undefined for an account that is not to be polled: unknown, uninstalled, to be authorised again. */
  async read(hubId: number): Promise<PollContext | undefined> {
    const keys = this.#keys.account(hubId)
    const [fields, accessToken, readings, alertStates, forecasts] = await Promise.all([
      this.#store.hmget(
        keys.account,
        ...[
          'state',
          'hubDomain',
          'expiresAt',
          'obtainedAt',
          'generation',
          'polls',
          'polledAt',
          'pollFailures',
          'disagreed',
          'metadataDue',
          'companionsAwayUntil',
          'pairsSeen',
          'pollFailingSince',
          'pollBlockedSince',
          'changedAt',
          'pollBecause',
        ],
      ),
      this.#store.hgetBuffer(keys.tokens, 'access'),
      this.#store.getBuffer(keys.readings),
      this.#store.hgetall(keys.alerts),
      this.#store.get(keys.forecast),
    ])
    const [state, hubDomain, expiresAt, obtainedAt, generation, polls, polledAt, pollFailures, ...more] = fields
    const [disagreed, metadataDue, companionsAwayUntil, pairsSeen, ...others] = more
    const [pollFailingSince, pollBlockedSince, changedAt, pollBecause] = others
    if (state === null || state === undefined) return undefined
    if (state === 'uninstalling' || state === 'uninstalled' || state === 'reauthorize') return undefined
    const kept = keptReadings(hubId, keys, readings)
    return {
      state: state as AccountState,
      hubDomain: hubDomain ?? '',
      expiresAt: Number(expiresAt),
      obtainedAt: Number(obtainedAt),
      generation: generation ?? '',
      polls: polls ?? '0',
      polledAt: Number(polledAt ?? 0),
      pollFailures: Number(pollFailures ?? 0),
      pollFailingSince: Number(pollFailingSince ?? 0),
      pollBlockedSince: Number(pollBlockedSince ?? 0),
      changedAt: Number(changedAt ?? 0),
      pollBecause: pollBecause ?? '',
      metadataDue: metadataDue === '1',
      disagreed: disagreed === '1',
      companionsAwayUntil: Number(companionsAwayUntil ?? 0),
      pairsSeen: pairsSeen === '1',
      accessToken,
      readings: kept?.readings,
      slots: kept?.slots ?? new Map(),
      alertStates,
      forecasts: decodeForecasts(forecasts),
    }
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
    const noAlerts = result.alerts.changes.length === 0 && result.alerts.entries.length === 0
    return accountSteps(this.#store).commitPoll(
      this.#keys.account(hubId).account,
      ...[hubId, result.polls, Math.round(result.nextAt), stepJson(result.fields)],
      ...readingsArguments(result),
      noAlerts ? '' : stepJson(result.alerts),
      ...samplesArguments(result.samples),
      ...[result.freshAt ?? '', result.nearness === null ? 'far' : (result.nearness ?? '')],
    )
  }
}

/** The readings ('' = as they are) and the record of what changed ('' = nothing). */
function readingsArguments({ readings, slots, change }: PollResult): [Buffer | '', Buffer | ''] {
  if (readings === undefined) return ['', '']
  const packed = packPoll(readings, slots, change)
  return [packed.readings, packed.record ?? '']
}

/** The samples ('' = as they are) and how long they are kept (0 = not at all). */
function samplesArguments(samples: PollResult['samples']): [Buffer | '', number] {
  if (samples === undefined) return ['', 1]
  const { shown, keepMs } = samples
  return Object.keys(shown).length === 0 ? ['', 0] : [encodeSamples(shown), keepMs]
}
