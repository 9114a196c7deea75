import type { Store } from '../redis/connect.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import { type AlertWrites, accountStepKeys, stepJson } from '../redis/steps.ts'
import type { HistoryEntry } from './history.ts'
import { decodeReadings, encodeReadings, type Readings } from './readings.ts'

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
  pollFailures: number
  /** When a poll last found a number changed, ms; 0 = never. */
  changedAt: number
  /** Its turn as stored: why it is polled now; '' = none. */
  pollBecause: string
  /** Whether its metadata was never read: it was imported. */
  metadataDue: boolean
  /** Whether it was said already that a reported percentage disagrees. */
  disagreed: boolean
  accessToken: Buffer | null
  readings: Readings | undefined
  /** States of the account's alerts as stored, by series. */
  alertStates: Record<string, string>
}

export interface PollResult {
  polls: string
  at: number
  nextAt: number
  fields: Record<string, string>
  /** Undefined: nothing could be read. */
  readings: Readings | undefined
  history: HistoryEntry
  historyFrom: number
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
    const [fields, accessToken, readings, alertStates] = await Promise.all([
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
          'changedAt',
          'pollBecause',
        ],
      ),
      this.#store.hgetBuffer(keys.tokens, 'access'),
      this.#store.getBuffer(keys.readings),
      this.#store.hgetall(keys.alerts),
    ])
    const [state, hubDomain, expiresAt, obtainedAt, generation, polls, polledAt, pollFailures, disagreed, metadataDue] =
      fields
    const [changedAt, pollBecause] = fields.slice(10)
    if (state === null || state === undefined) return undefined
    if (state === 'uninstalling' || state === 'uninstalled' || state === 'reauthorize') return undefined
    return {
      state: state as AccountState,
      hubDomain: hubDomain ?? '',
      expiresAt: Number(expiresAt),
      obtainedAt: Number(obtainedAt),
      generation: generation ?? '',
      polls: polls ?? '0',
      polledAt: Number(polledAt ?? 0),
      pollFailures: Number(pollFailures ?? 0),
      changedAt: Number(changedAt ?? 0),
      pollBecause: pollBecause ?? '',
      metadataDue: metadataDue === '1',
      disagreed: disagreed === '1',
      accessToken,
      readings: readings === null ? undefined : decodeReadings(readings),
      alertStates,
    }
  }

  commit(hubId: number, result: PollResult): Promise<'committed' | 'gone' | 'lost'> {
    const noAlerts = result.alerts.changes.length === 0 && result.alerts.messages.length === 0
    return this.#store.commitPoll(
      ...accountStepKeys(this.#keys, hubId),
      ...[hubId, result.polls, Math.round(result.nextAt), stepJson(result.fields)],
      result.readings === undefined ? '' : encodeReadings(result.readings),
      ...[`${result.at}-*`, result.historyFrom, stepJson(result.history)],
      noAlerts ? '' : stepJson(result.alerts),
    )
  }
}
