import type { Config } from '../../config/schema.ts'
import { type CoverageSettings, staleAfter } from '../limits/coverage.ts'

export function coverageSettings({ limits }: Config): CoverageSettings {
  return { objective: limits.coverage, freshnessMs: staleAfter({ freshnessMs: limits.freshness }, limits.every) }
}
