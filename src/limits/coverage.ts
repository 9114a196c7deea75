import type { Store } from '../redis/connect.ts'
import { hubIdsIn, type Keys } from '../redis/keys.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { loadPollState } from './poll-state-text.ts'

/** How far the readings of the fleet can be relied on. */
export interface Coverage {
  /** Live accounts that are polled and whose scopes let at least a part be read. */
  polled: number
  /** Accounts of these whose newest reading is too old. */
  stale: number
  /** Accounts whose last poll failed, wholly or in part; `failingForLong`: for a minute or longer. */
  failing: number
  failingForLong: number
  /** Accounts whose scopes let nothing be read: no reading of them is expected. */
  notWatched: number
}

export interface CoverageSettings {
  /** Share of the polled accounts that must have a fresh reading, 0 to 1. */
  objective: number
  /** Age from which a reading is stale, ms; of an account that is polled less often than most see `staleAfter`. */
  freshnessMs: number
}

/** An account that is polled once a day or less often must not be stale before its turn comes. */
const LEAST_TURNS = 2

/** Age from which a reading of an account is stale, ms; `everyMs` is the longest period between two polls of it. */
export function staleAfter({ freshnessMs }: Pick<CoverageSettings, 'freshnessMs'>, everyMs: number): number {
  return Math.max(freshnessMs, LEAST_TURNS * everyMs)
}

/** Field of the alert about too many accounts without a fresh reading. */
export const COVERAGE = 'coverage'
/** Field of the alert about the provider's outage, which polls that fail are a part of. */
export const PROVIDER = 'provider'

export type CoverageTrouble = 'failing' | 'stale'

/** A poll that failed just now may work a few seconds later: that is not yet the fleet's trouble. */
const FAILING_FOR_LONG_MS = 60_000

/** Fewer accounts have alerts of their own. */
const LEAST_ACCOUNTS = 3
/** Share of the polled accounts that fail at once. */
const MANY = 0.2
/** An alert is resolved when no more than this part is left of what began it. */
const LEFT = 0.5

/**
 * The trouble with all accounts' readings, if any, and the numbers that show it. `isAlerted`: its alert is open. A
 * trouble ends only when half of it is left, so that the alert does not come and go with single accounts.
 */
export function judgeCoverage(
  { polled, stale, failingForLong }: Coverage,
  { objective }: CoverageSettings,
  isAlerted: boolean,
): CoverageTrouble | undefined {
  const part = isAlerted ? LEFT : 1
  // In whole accounts above a share: compared as counts, since 1 - 0.95 is not quite 0.05.
  const isMany = (accounts: number, share: number) =>
    accounts >= LEAST_ACCOUNTS * part && accounts > polled * share * part + 1e-9
  if (isMany(failingForLong, MANY)) return 'failing'
  return isMany(stale, 1 - objective) ? 'stale' : undefined
}

/** True where so many polls fail that one alert for all accounts replaces those of each. */
export function looksLikeFleet(coverage: Coverage, settings: CoverageSettings): boolean {
  return judgeCoverage({ ...coverage, failingForLong: coverage.failing }, settings, false) !== undefined
}

/** 0 to 1; null where no account is polled. */
export function coverageShare({ polled, stale }: Coverage): number | null {
  return polled === 0 ? null : (polled - stale) / polled
}

/** How far a fleet that was imported has been read: so many of all that came with it. */
export interface NewFleet {
  read: number
  total: number
}

/** The score of an account that has its first reading, as the steps on an account write it. */
const READ = 0

/** Which accounts have a fresh reading, from the indexes that each poll keeps; nothing is read account by account. */
export class CoverageStore {
  readonly settings: CoverageSettings
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys, settings: CoverageSettings) {
    this.settings = settings
    this.#store = store
    this.#keys = keys
  }

  async read(now: number): Promise<Coverage> {
    const { due, fresh, pollFailing } = this.#keys
    const [polled, stale, failing, failingForLong, planned] = await Promise.all([
      this.#store.zcard(fresh),
      this.#store.zcount(fresh, '-inf', `(${now - this.settings.freshnessMs}`),
      this.#store.zcard(pollFailing),
      this.#store.zcount(pollFailing, '-inf', now - FAILING_FOR_LONG_MS),
      this.#store.zcard(due.poll),
    ])
    // An account may come or go between two of the counts.
    return { polled, stale, failing, failingForLong, notWatched: Math.max(0, planned - polled) }
  }

  /** hubIds of the accounts whose newest reading is too old, the oldest first. */
  async staleAccounts(now: number, most: number): Promise<number[]> {
    const before = `(${now - this.settings.freshnessMs}`
    return hubIdsIn(await this.#store.zrangebyscore(this.#keys.fresh, '-inf', before, 'LIMIT', 0, most))
  }

  /** The account whose newest reading is the oldest; undefined: none is polled. */
  async stalest(): Promise<number | undefined> {
    return hubIdsIn(await this.#store.zrange(this.#keys.fresh, '0', '0'))[0]
  }

  /** The reason of the account whose polls began to fail last: a good example, where many fail. */
  async newestReason(): Promise<string | undefined> {
    const [last] = hubIdsIn(await this.#store.zrange(this.#keys.pollFailing, '-1', '-1'))
    if (last === undefined) return undefined
    const kept = await loadPollState(this.#store, this.#keys, last)
    return kept?.failing?.reason
  }

  /** True where the fleet's alert covers an account that fails: it is open, or would be next. */
  async fleetSpeaks(now: number): Promise<boolean> {
    const open = await this.#store.hmget(this.#keys.account(NO_ACCOUNT).alerts, PROVIDER, COVERAGE)
    return open.some((stored) => stored !== null) || looksLikeFleet(await this.read(now), this.settings)
  }

  /**
   * Forgets a new fleet once all of it was read: the next one is counted by itself. An account that was imported a
   * moment ago waits still, and stays.
   */
  async forgetReadFleet(): Promise<void> {
    if ((await readNewFleet(this.#store, this.#keys)) !== undefined) return
    await this.#store.zremrangebyscore(this.#keys.firstReadings, '-inf', READ)
  }
}

/**
 * Imported accounts that have their first reading, of all that were imported; undefined: none is waited for. An account
 * that must be connected again, or is uninstalled, is no longer waited for.
 */
export async function readNewFleet(store: Store, keys: Keys): Promise<NewFleet | undefined> {
  const [read, total] = await Promise.all([
    store.zcount(keys.firstReadings, '-inf', READ),
    store.zcard(keys.firstReadings),
  ])
  return read === total ? undefined : { read, total }
}
