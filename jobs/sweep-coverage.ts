import { announceCoverage } from '../src/alerts/kinds/fleet-alert.ts'
import { judgeCoverage } from '../src/limits/coverage.ts'
import type { JobDeps } from './job-deps.ts'

type SweepCoverageDeps = Pick<JobDeps, 'coverage' | 'announceFleet' | 'queues' | 'clock' | 'log'>

/** Counts the accounts with a fresh reading: too few are one alert for all. The clock brings the next sweep. */
export async function sweepCoverage({
  coverage,
  announceFleet,
  queues,
  clock,
  log,
}: SweepCoverageDeps): Promise<undefined> {
  const now = clock.now()
  await coverage.forgetReadFleet()
  const [found, stored] = await Promise.all([coverage.read(now), coverage.alertState()])
  const trouble = judgeCoverage(found, coverage.settings, stored !== '')
  if (trouble === undefined && stored === '') return
  const reason = trouble === undefined ? undefined : await coverage.newestReason()
  const writes = announceCoverage(announceFleet, coverage.settings, { coverage: found, trouble, reason, stored }, now)
  // Of two daemons that sweep at once, the second finds the alert open.
  if (writes.changes.length === 0 || (await coverage.changeAlert(writes)) === 'stale') return
  if (trouble === undefined)
    log.info({ code: 'coverage.recovered', ...found }, 'the fleet is read as it should be again')
  else log.error({ code: `coverage.${trouble}`, ...found, reason }, 'the fleet is not read as it should be')
  await queues.wake('alerts', now)
}
