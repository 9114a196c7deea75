/** How far the readings of the fleet can be relied on. */
export interface Coverage {
  /** Live accounts that are polled and whose scopes let at least a part be read. */
  polled: number
  /** Of these, those whose newest reading is too old. */
  stale: number
  /** Those whose last poll failed, wholly or in part; and for a minute or longer. */
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

/** What the fleet as a whole can suffer from where limits are read; the field of its alert. */
export const COVERAGE = 'coverage'

export type CoverageTrouble = 'failing' | 'stale'

/** A poll that failed just now may work a few seconds later: that is not yet the fleet's trouble. */
export const FAILING_FOR_LONG_MS = 60_000

/** Fewer accounts have alerts of their own. */
const LEAST_ACCOUNTS = 3
/** Share of the polled accounts that fail at once. */
const MANY = 0.2
/** An alert is resolved when no more than this part is left of what began it. */
const LEFT = 0.5

/**
 * Whether the fleet as a whole is not read as it should be, and by what one sees it. `isTold`: its alert is open. What
 * began is over only when half of it is, so that an alert does not come and go with single accounts.
 */
export function judgeCoverage(
  { polled, stale, failingForLong }: Coverage,
  { objective }: CoverageSettings,
  isTold: boolean,
): CoverageTrouble | undefined {
  const part = isTold ? LEFT : 1
  // In whole accounts above a share: compared as counts, since 1 - 0.95 is not quite 0.05.
  const isMany = (accounts: number, share: number) =>
    accounts >= LEAST_ACCOUNTS * part && accounts > polled * share * part + 1e-9
  if (isMany(failingForLong, MANY)) return 'failing'
  return isMany(stale, 1 - objective) ? 'stale' : undefined
}

/** Whether so many polls fail by now that one alert for all accounts replaces those of each. */
export function looksLikeFleet(coverage: Coverage, settings: CoverageSettings): boolean {
  return judgeCoverage({ ...coverage, failingForLong: coverage.failing }, settings, false) !== undefined
}

/** 0 to 1; null where no account is polled. */
export function coverageShare({ polled, stale }: Coverage): number | null {
  return polled === 0 ? null : (polled - stale) / polled
}
