import { readFileSync } from 'node:fs'
import type { DueSets } from '../../accounts/due-sets.ts'
import type { Deliveries } from '../../delivery/deliveries.ts'
import type { ReceiverStore } from '../../delivery/receiver-store.ts'
import { HeartbeatStore } from '../../heartbeat/heartbeat-store.ts'
import type { CoverageStore } from '../../limits/coverage-store.ts'
import type { DueKind } from '../../redis/keys.ts'
import type { Clock } from '../../runtime/clock.ts'
import { gauge, type Metrics } from '../../runtime/metrics.ts'
import { readCoverage } from '../../views/coverage-status.ts'
import { readHeartbeat } from '../../views/heartbeat-status.ts'
import { readOutboxBalance } from '../../views/outbox-balance.ts'
import { readPollBudget } from '../../views/poll-budget.ts'
import { isBroken, receiverStatus } from '../../views/receiver-status.ts'
import { type SurveyDeps, surveyAlerts } from '../../views/survey-alerts.ts'
import { readTokenEndpoint } from '../../views/token-endpoint.ts'

export interface GaugeDeps extends SurveyDeps {
  metrics: Metrics
  due: DueSets
  coverage: CoverageStore
  deliveries: Deliveries
  receiverStore: ReceiverStore
  clock: Clock
}

const OUTBOX_HELP = {
  opened: 'Transitions of alerts that were committed and not withheld.',
  delivered: 'Of these, those that every receiver has.',
  pending: 'Of these, those that a receiver still waits for.',
  dead: 'Of these, those whose delivery was given up for a receiver.',
}

const DUE_KINDS: readonly DueKind[] = ['refresh', 'poll', 'uninstall']

/** How the fleet stands, read from Redis whenever somebody asks. No label names an account. */
export function registerGauges(deps: GaugeDeps): void {
  const { metrics, registry, due, deliveries, coverage, clock } = deps
  const version = packageVersion()
  // One scrape asks for all gauges at the same time.
  const endpoint = sharedRead(() => readTokenEndpoint(deps.store, deps.keys))
  const covered = sharedRead(() => readCoverage(coverage, clock.now()))

  gauge(metrics, 'build_info', 'Always 1; the label says which version runs.', ['version'], async (info) => {
    info.set({ version }, 1)
  })
  gauge(metrics, 'accounts', 'Accounts, by state.', ['state'], async (accounts) => {
    for (const [state, count] of Object.entries(await registry.countByState())) accounts.set({ state }, count)
  })
  gauge(
    metrics,
    'limits_coverage_ratio',
    'Share of the polled accounts whose newest reading is fresh.',
    [],
    async (ratio) => {
      ratio.set((await covered()).share ?? Number.NaN)
    },
  )
  gauge(metrics, 'accounts_stale', 'Polled accounts whose newest reading is too old.', [], async (stale) => {
    stale.set((await covered()).stale)
  })
  gauge(metrics, 'alerts_open', 'Alerts that are open, by level.', ['level'], async (alerts) => {
    const { counts } = await surveyAlerts(deps)
    for (const [level, count] of Object.entries(counts)) alerts.set({ level }, count)
  })
  gauge(metrics, 'deliveries_pending', 'Deliveries that wait for an attempt.', [], async (pending) => {
    pending.set(await deliveries.countPending())
  })
  const balance = sharedRead(() => readOutboxBalance(deps, clock.now()))
  for (const part of ['opened', 'delivered', 'pending', 'dead'] as const) {
    gauge(metrics, `outbox_${part}`, OUTBOX_HELP[part], [], async (transitions) => {
      transitions.set((await balance())[part])
    })
  }
  gauge(metrics, 'outbox_balanced', 'Whether opened = delivered + pending + dead: 1 or 0.', [], async (balanced) => {
    balanced.set((await balance()).balanced ? 1 : 0)
  })
  gauge(
    metrics,
    'outbox_oldest_pending_seconds',
    'Age of the oldest transition that a receiver waits for, held back or not; 0 where there is none.',
    [],
    async (age) => {
      const { oldestPendingAt } = await balance()
      age.set(oldestPendingAt === null ? 0 : Math.max(0, clock.now() - oldestPendingAt) / 1_000)
    },
  )
  gauge(
    metrics,
    'receiver_failing',
    'Whether every attempt since the last delivery failed, or the receiver is switched off: 1 or 0.',
    ['receiver'],
    async (failing) => {
      for (const health of await deps.receiverStore.read())
        failing.set({ receiver: health.receiver }, isBroken(receiverStatus(health)) ? 1 : 0)
    },
  )
  gauge(
    metrics,
    'breaker_open',
    'Whether refreshes are stopped but for probes: 1 open, 0.5 half-open, 0 closed.',
    [],
    async (open) => {
      open.set({ closed: 0, 'half-open': 0.5, open: 1 }[(await endpoint())?.breaker ?? 'closed'])
    },
  )
  gauge(
    metrics,
    'token_requests_allowed',
    'Token requests a second that the provider is believed to allow.',
    [],
    async (rate) => {
      rate.set((await endpoint())?.requestsPerSecond ?? Number.NaN)
    },
  )
  gauge(metrics, 'clock_skew_seconds', "How far the provider's clock is ahead of ours.", [], async (skew) => {
    skew.set(((await endpoint())?.clockSkewMs ?? Number.NaN) / 1_000)
  })
  const budget = sharedRead(() => readPollBudget(deps.store, deps.keys))
  gauge(
    metrics,
    'poll_budget_calls',
    'Calls to the limits endpoints that may be made right now.',
    [],
    async (calls) => {
      calls.set((await budget())?.calls ?? Number.NaN)
    },
  )
  gauge(
    metrics,
    'poll_budget_short',
    'Whether regular polls wait because limits.callsPerHour is too small: 1 or 0.',
    [],
    async (short) => {
      short.set((await budget())?.short ? 1 : 0)
    },
  )
  gauge(
    metrics,
    'heartbeat_ok',
    'Whether heartbeats come, and the last one said that all is within bounds: 1 or 0.',
    [],
    async (ok) => {
      const last = await readHeartbeat(new HeartbeatStore(deps.store, deps.keys), clock.now())
      ok.set(last === null ? Number.NaN : Number(last.ok && !last.late))
    },
  )
  gauge(metrics, 'due', 'Accounts that are due and not taken up yet, by kind of work.', ['kind'], async (overdue) => {
    const now = clock.now()
    const counts = await Promise.all(DUE_KINDS.map((kind) => due.countDue(kind, now)))
    for (const [n, kind] of DUE_KINDS.entries()) overdue.set({ kind }, counts[n] ?? 0)
  })
}

/** Who asks while a read is under way gets what it brings. */
function sharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined
  return () => {
    underWay ??= read().finally(() => {
      underWay = undefined
    })
    return underWay
  }
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
