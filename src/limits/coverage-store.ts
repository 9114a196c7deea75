import type { Store } from '../redis/connect.ts'
import { everyPartition, type Keys } from '../redis/keys.ts'
import { type AlertWrites, accountStepKeys, NOBODY, stepJson } from '../redis/steps.ts'
import { COVERAGE, type Coverage, type CoverageSettings, FAILING_FOR_LONG_MS, looksLikeFleet } from './coverage.ts'

/** How far a fleet that was imported has been read: so many of all that came with it. */
export interface NewFleet {
  read: number
  total: number
}

/** The score of an account that has its first reading, as the steps on an account write it. */
const READ = 0

/** Where one account fails thousands may: they share an answer for so long. */
const SPEAKS_FOR_MS = 5_000

/** Which accounts have a fresh reading, from the indexes that each poll keeps; nothing is read account by account. */
export class CoverageStore {
  readonly settings: CoverageSettings
  readonly #store: Store
  readonly #keys: Keys
  #speaks: { at: number; answer: Promise<boolean> } | undefined

  constructor(store: Store, keys: Keys, settings: CoverageSettings) {
    this.settings = settings
    this.#store = store
    this.#keys = keys
  }

  async read(now: number): Promise<Coverage> {
    const counts = await everyPartition(this.#keys, ({ due, fresh, pollFailing }) =>
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
    const parts = await everyPartition(this.#keys, ({ fresh }) =>
      this.#store.zrangebyscore(fresh, '-inf', `(${now - this.settings.freshnessMs}`),
    )
    return parts
      .flat()
      .map(Number)
      .sort((a, b) => a - b)
  }

  /** The reason of the account whose polls began to fail last: a good example, where many fail. */
  async newestReason(): Promise<string | undefined> {
    const newest = await everyPartition(this.#keys, ({ pollFailing }) =>
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

  /** `stale`: another daemon changed the alert since it was read. */
  changeAlert(writes: AlertWrites): Promise<'changed' | 'stale'> {
    return this.#store.changeAlerts(...accountStepKeys(this.#keys, NOBODY), NOBODY, stepJson(writes))
  }

  /** Of a fleet that was read as a whole: the next one is counted by itself. One that came a moment ago waits still, and stays. */
  async forgetReadFleet(): Promise<void> {
    if ((await readNewFleet(this.#store, this.#keys)) !== undefined) return
    await everyPartition(this.#keys, ({ firstReadings }) => this.#store.zremrangebyscore(firstReadings, '-inf', READ))
  }
}

/**
 * Of the accounts that were imported those that have their first reading; undefined: none is waited for. One that must be
 * connected again, or is uninstalled, is no longer waited for.
 */
export async function readNewFleet(store: Store, keys: Keys): Promise<NewFleet | undefined> {
  const counts = await everyPartition(keys, ({ firstReadings }) =>
    Promise.all([store.zcount(firstReadings, '-inf', READ), store.zcard(firstReadings)]),
  )
  const read = counts.reduce((sum, [count]) => sum + count, 0)
  const total = counts.reduce((sum, [, count]) => sum + count, 0)
  return read === total ? undefined : { read, total }
}
