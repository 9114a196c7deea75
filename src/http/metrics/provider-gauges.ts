import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { gauge, sharedRead } from '../../runtime/gauge.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { readPollBudget } from '../../views/poll-budget.ts'
import { readTokenEndpoint } from '../../views/token-endpoint.ts'

export interface ProviderGaugeDeps {
  metrics: Metrics
  store: Store
  keys: Keys
}

const BREAKER = { closed: 0, 'half-open': 0.5, open: 1 }

/** What all daemons know together of the provider, and what is left of the calls to it. */
export function registerProviderGauges({ metrics, store, keys }: ProviderGaugeDeps): void {
  const endpoint = sharedRead(() => readTokenEndpoint(store, keys))
  const budget = sharedRead(() => readPollBudget(store, keys))

  gauge(
    metrics,
    'breaker_open',
    'Whether refreshes are stopped but for probes: 1 open, 0.5 half-open, 0 closed.',
    [],
    async () => [[{}, BREAKER[(await endpoint())?.breaker ?? 'closed']]],
  )
  gauge(
    metrics,
    'token_requests_allowed',
    'Token requests a second that the provider is believed to allow.',
    [],
    async () => [[{}, (await endpoint())?.requestsPerSecond ?? Number.NaN]],
  )
  gauge(metrics, 'clock_skew_seconds', "How far the provider's clock is ahead of ours.", [], async () => [
    [{}, ((await endpoint())?.clockSkewMs ?? Number.NaN) / 1_000],
  ])
  gauge(
    metrics,
    'poll_budget_calls',
    'Calls to the limits endpoints that may be made right now; NaN where they have no budget.',
    [],
    async () => [[{}, (await budget())?.calls ?? Number.NaN]],
  )
  gauge(
    metrics,
    'poll_budget_short',
    'Whether regular polls wait because limits.callsPerHour is too small: 1 or 0.',
    [],
    async () => [[{}, (await budget())?.short ? 1 : 0]],
  )
}
