import packageJson from '../../../package.json' with { type: 'json' }
import type { DueSets } from '../../accounts/due-sets.ts'
import type { Registry } from '../../accounts/registry.ts'
import type { CoverageStore } from '../../limits/coverage.ts'
import type { DueKind } from '../../redis/keys.ts'
import type { Clock } from '../../runtime/clock.ts'
import { gauge, sharedRead } from '../../runtime/gauge.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { type FindAlertsDeps, surveyAlerts } from '../../views/find-alerts.ts'
import { readCoverage } from '../../views/fleet-health.ts'

export interface FleetGaugeDeps extends FindAlertsDeps {
  registry: Registry
  metrics: Metrics
  due: DueSets
  coverage: CoverageStore
  clock: Clock
}

const DUE_KINDS: readonly DueKind[] = ['refresh', 'poll', 'uninstall']

/** Accounts, their tokens and readings, their alerts. */
export function registerFleetGauges(deps: FleetGaugeDeps): void {
  const { metrics, registry, due, coverage, clock } = deps
  const { version } = packageJson
  const covered = sharedRead(() => readCoverage(coverage, clock.now()))

  gauge(metrics, 'build_info', 'Always 1; the label names the running version.', ['version'], async () => [
    [{ version }, 1],
  ])
  gauge(metrics, 'accounts', 'Accounts, by state.', ['state'], async () =>
    Object.entries(await registry.countByState()).map(([state, count]) => [{ state }, count]),
  )
  gauge(metrics, 'due', 'Accounts that are due and not taken up yet, by kind of work.', ['kind'], async () => {
    const now = clock.now()
    return Promise.all(DUE_KINDS.map(async (kind) => [{ kind }, await due.countDue(kind, now)] as const)).then(
      (counts) => counts.map(([labels, count]) => [labels, count]),
    )
  })
  gauge(
    metrics,
    'token_nearest_expiry_seconds',
    'Until the first of the access tokens that are kept alive expires; below 0: it has.',
    [],
    async () => {
      const now = clock.now()
      const at = await due.nearestExpiry(now)
      return [[{}, at === undefined ? undefined : (at - now) / 1_000]]
    },
  )
  gauge(
    metrics,
    'limits_coverage_ratio',
    'Share of the polled accounts whose newest reading is fresh.',
    [],
    async () => [[{}, (await covered()).share ?? Number.NaN]],
  )
  gauge(
    metrics,
    'limits_coverage_objective_ratio',
    'What that share should be: limits.coverage in the config.',
    [],
    async () => [[{}, coverage.settings.objective]],
  )
  gauge(metrics, 'accounts_stale', 'Polled accounts whose newest reading is too old.', [], async () => [
    [{}, (await covered()).stale],
  ])
  gauge(
    metrics,
    'accounts_poll_failing',
    'Polled accounts whose last poll failed, wholly or in part.',
    [],
    async () => [[{}, (await covered()).failing]],
  )
  gauge(metrics, 'alerts_open', 'Alerts that are open, by level.', ['level'], async () =>
    Object.entries((await surveyAlerts(deps)).counts).map(([level, count]) => [{ level }, count]),
  )
}
