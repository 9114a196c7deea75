import type { Config } from '../../config/schema.ts'
import type { CoverageSettings } from '../limits/coverage.ts'

/** An account that is polled once a day or less often must not be stale before its turn comes. */
const LEAST_TURNS = 2

export function coverageSettings({ limits }: Config): CoverageSettings {
  const longest = Math.max(limits.every, ...limits.accounts.map(({ every }) => every ?? 0))
  return { objective: limits.coverage, freshnessMs: Math.max(limits.freshness, LEAST_TURNS * longest) }
}
