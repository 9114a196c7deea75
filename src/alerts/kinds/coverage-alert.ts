import { COVERAGE, type Coverage, type CoverageSettings, type CoverageTrouble } from '../../limits/coverage.ts'
import type { AlertWrites } from '../../redis/steps.ts'
import { countOf, formatCount, formatPercent } from '../../text/format-number.ts'
import type { FleetAlerts } from './fleet-alert.ts'

/** What is found of the fleet's readings, as a sweep sees it. */
export interface JudgedCoverage {
  coverage: Coverage
  trouble: CoverageTrouble | undefined
  /** What an account was told whose polls fail, if any fails. */
  reason: string | undefined
  /** State of the alert as stored, '' = none. */
  stored: string
}

/** One alert for the fleet when many accounts have no fresh reading, and when they have again. */
export function announceCoverage(
  announce: FleetAlerts,
  settings: CoverageSettings,
  { coverage, trouble, reason, stored }: JudgedCoverage,
  now: number,
): AlertWrites {
  const is = trouble === undefined ? 'over' : 'firing'
  const message = trouble === undefined ? describeOver(coverage) : describe(coverage, settings, trouble, reason)
  return announce.fleet(COVERAGE, is, stored, message, now)
}

function describe(
  { polled, stale, failing }: Coverage,
  { objective, freshnessMs }: CoverageSettings,
  trouble: CoverageTrouble,
  reason: string | undefined,
): string {
  const why = reason === undefined ? '' : ` (${reason})`
  const todo = 'plimsoll accounts list --stale names those without a fresh reading'
  if (trouble === 'failing') {
    return (
      `Polls of ${formatCount(failing)} of ${countOf(polled, 'account')} fail at once${why}. Each is tried again and ` +
      `again, and none gets an alert of its own meanwhile: see the provider's status page; ${todo}.`
    )
  }
  return (
    `${formatCount(stale)} of ${countOf(polled, 'account')} have had no reading for ${hours(freshnessMs)}: ` +
    `${formatPercent(((polled - stale) / polled) * 100)} are covered, ${formatPercent(objective * 100)} should be` +
    `${failing === 0 ? '' : `; polls of ${formatCount(failing)} fail${why}`}. plimsoll status says what ` +
    `is overdue and how the token endpoint fares; ${todo}.`
  )
}

function describeOver({ polled, stale }: Coverage): string {
  return `Limits are read as they should be: ${formatCount(polled - stale)} of ${countOf(polled, 'account')} have a fresh reading.`
}

function hours(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  return minutes < 120 ? `${minutes} min` : `${formatCount(Math.round(minutes / 60))} h`
}
