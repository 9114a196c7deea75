import type { Store } from '../redis/connect.ts'
import { type Keys, PARTITIONS, type PartitionKeys } from '../redis/keys.ts'
import { type AlertWrites, accountStepKeys, NOBODY, stepJson } from '../redis/steps.ts'
import { COVERAGE, type Coverage, type CoverageSettings, FAILING_FOR_LONG_MS, looksLikeFleet } from './coverage.ts'
import { FirstReadings } from './first-readings.ts'

/** Where one account fails thousands may: they share an answer for so long. */
const SPEAKS_FOR_MS = 5_000

/** Which accounts have a fresh reading, from the indexes that each poll keeps; nothing is read account by account. */
export class CoverageStore {
  readonly settings: CoverageSettings
  readonly firstReadings: FirstReadings
  readonly #store: Store
  readonly #keys: Keys
  #speaks: { at: number; answer: Promise<boolean> } | undefined

  constructor(store: Store, keys: Keys, settings: CoverageSettings) {
    this.settings = settings
    this.firstReadings = new FirstReadings(store, keys)
    this.#store = store
    this.#keys = keys
  }

  async read(now: number): Promise<Coverage> {
    const counts = await this.#everyPartition(({ due, fresh, pollFailing }) =>
      Promise.all([
        this.#store.zcard(fresh),
        this.#store.zcount(fresh, '-inf', `(${now - this.settings.freshnessMs}`),
        this.#store.zcard(pollFailing),
        this.#store.zcount(pollFailing, '-inf', now - FAILING_FOR_LONG_MS),
        this.#store.zcard(due.poll),
      ]),
    )
    const sum = (n: 0 | 1 | 2 | 3 | 4) => counts.reduce((total, count) => total + count[n], 0)
    return {
      ...{ polled: sum(0), stale: sum(1), failing: sum(2), failingForLong: sum(3) },
      // An account may come or go between two of the counts.
      notWatched: Math.max(0, sum(4) - sum(0)),
    }
  }

  /** hubIds of the accounts whose newest reading is too old, in order. */
  async staleAccounts(now: number): Promise<number[]> {
    const parts = await this.#everyPartition(({ fresh }) =>
      this.#store.zrangebyscore(fresh, '-inf', `(${now - this.settings.freshnessMs}`),
    )
    return parts
      .flat()
      .map(Number)
      .sort((a, b) => a - b)
  }

  /** What the account whose polls began to fail last was told: as good a reason as any, where many fail. */
  async newestReason(): Promise<string | undefined> {
    const newest = await this.#everyPartition(({ pollFailing }) =>
      this.#store.zrange(pollFailing, '-1', '-1', 'WITHSCORES'),
    )
    const [last] = newest.filter(([hubId]) => hubId !== undefined).sort(([, a], [, b]) => Number(b) - Number(a))
    if (last === undefined) return undefined
    return (await this.#store.hget(this.#keys.account(Number(last[0])).account, 'pollFailureReason')) ?? undefined
  }

  /** Whether the fleet's alert speaks for an account that fails: it is open, or would be next. */
  fleetSpeaks(now: number): Promise<boolean> {
    const asked = this.#speaks
    if (asked !== undefined && now >= asked.at && now - asked.at < SPEAKS_FOR_MS) return asked.answer
    const answer = this.#askWhoSpeaks(now)
    this.#speaks = { at: now, answer }
    answer.catch(() => {
      this.#speaks = undefined
    })
    return answer
  }

  async #askWhoSpeaks(now: number): Promise<boolean> {
    return (await this.alertState()) !== '' || looksLikeFleet(await this.read(now), this.settings)
  }

  /** State of the fleet's alert about it as stored, '' = none. */
  async alertState(): Promise<string> {
    return (await this.#store.hget(this.#keys.account(NOBODY).alerts, COVERAGE)) ?? ''
  }

  /** `stale`: somebody else changed the alert since it was read. */
  changeAlert(writes: AlertWrites): Promise<'changed' | 'stale'> {
    return this.#store.changeAlerts(...accountStepKeys(this.#keys, NOBODY), NOBODY, stepJson(writes))
  }

  #everyPartition<T>(ask: (partition: PartitionKeys) => Promise<T>): Promise<T[]> {
    return Promise.all(Array.from({ length: PARTITIONS }, (_, number) => ask(this.#keys.partition(number))))
  }
}
