import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** Seconds: from unnoticeable to the end of a token. */
const LATENESS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600]
const HEADROOM = [0, 1, 2.5, 5, 15, 30, 60, 120, 300, 600, 900, 1_800]
const CALL = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const SERVED = [0.005, 0.025, 0.1, 0.3, 1, 2.5, 10]
const DELAY = [1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400]

const REFRESH_OUTCOMES = ['refreshed', 'fresh', 'held', 'gone', 'lost', 'waiting', 'failed']
const GRANT_OUTCOMES = ['connected', 'later', 'given-up', 'gone']
const INSTALL_RESULTS = [
  ...(['connected', 'reconnected', 'refused', 'bad-state', 'no-code', 'waits', 'not-taken'] as const),
  ...(['rejected', 'failed', 'parked', 'unstored', 'other-account'] as const),
] as const
/**
 * Outcome of an install at its callback; `rejected`: the code, `parked`: its account is not known, `unstored`: Redis
 * took nothing, `other-account`: not the one its link was for, `failed`: any other answer of the provider,
 * `not-taken`: from the marketplace, which is not allowed or has another address to go back to.
 */
export type InstallResult = (typeof INSTALL_RESULTS)[number]
/** blocked: no scope lets it be read; unstored: Redis took nothing; paused: its rate limit is reached. */
const POLL_OUTCOMES = ['committed', 'failed', 'blocked', 'gone', 'lost', 'unstored', 'later', 'paused']

export type Metrics = ReturnType<typeof createMetrics>

/** Counters of this process, for Prometheus. No label ever names an account. */
export function createMetrics() {
  const registry = new Registry()
  // The lag of the event loop is measured by a timer: at the default of 10 ms it alone kept an idle daemon busy.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 })
  // Gauges with the name of a counter: `nodejs_active_resources{type}` and its like have the numbers.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`)
  const make = makersOf(registry)
  return {
    registry,
    ...tokenMetrics(make),
    ...accountMetrics(make),
    ...deliveryMetrics(make),
    ...callMetrics(make),
    ...daemonMetrics(make, registry),
  }
}

function makersOf(registry: Registry) {
  const registers = [registry]
  const counter = <T extends string>(name: string, help: string, labelNames: T[] = []) =>
    new Counter({ name: `plimsoll_${name}_total`, help, labelNames, registers })
  return {
    counter,
    /** All outcomes are there from the start, so that the first one of its kind is seen as a rise. */
    outcomes: (name: string, help: string, outcomes: readonly string[]) => {
      const counted = counter(name, help, ['outcome'])
      for (const outcome of outcomes) counted.inc({ outcome }, 0)
      return counted
    },
    histogram: <T extends string>(name: string, help: string, buckets: number[], labelNames: T[] = []) =>
      new Histogram({ name: `plimsoll_${name}_seconds`, help, buckets, labelNames, registers }),
  }
}

type Makers = ReturnType<typeof makersOf>

function tokenMetrics({ counter, outcomes, histogram }: Makers) {
  return {
    refreshes: outcomes('token_refreshes', 'Attempts to refresh an account, by outcome.', REFRESH_OUTCOMES),
    refreshLateness: histogram(
      'token_refresh_lateness',
      'From the moment that a refresh was due until its request was sent.',
      LATENESS,
    ),
    refreshHeadroom: histogram(
      'token_refresh_headroom',
      'Remaining lifetime of the access token at its refresh; 0: it had expired.',
      HEADROOM,
    ),
    tokensExpired: counter('tokens_expired', 'Refreshes that came after the access token had expired.'),
    /** A process that dies in between may lose them. */
    tokenStore: histogram(
      'token_store',
      "From the provider's answer until the new tokens were stored.",
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10, 60],
    ),
    /** to: name of the admin token that asked */
    tokensServed: counter('access_tokens_served', 'Access tokens handed out, by who asked.', ['to']),
  }
}

function accountMetrics({ counter, outcomes, histogram }: Makers) {
  return {
    polls: outcomes('limit_polls', 'Polls of the limits endpoints, by outcome.', POLL_OUTCOMES),
    reportGaps: counter('limit_report_gaps', 'Reports of which a part could not be read, and the rest was.'),
    pollLateness: histogram(
      'limit_poll_lateness',
      'Delay of a poll after its due time; 0: it was polled earlier.',
      LATENESS,
    ),
    installs: outcomes('installs', 'Callbacks of installs, by outcome.', INSTALL_RESULTS),
    parkedGrants: outcomes(
      'parked_grants',
      'Attempts to complete grants whose account is not known yet, by outcome.',
      GRANT_OUTCOMES,
    ),
    uninstalls: counter('uninstalls', 'Attempts to uninstall an account, by outcome.', ['outcome']),
    /** step: read, thin-out; outcome: replaced, unchanged, lost, failed */
    tended: counter('accounts_tended', 'Accounts whose history was tended, by step and outcome.', ['step', 'outcome']),
  }
}

function deliveryMetrics({ counter, histogram }: Makers) {
  return {
    alertsRelayed: counter('alerts_relayed', 'Alerts with news that a daemon has read.'),
    /** outcome: delivered, retry, dead */
    deliveries: counter('deliveries', 'Attempts to deliver, by receiver and outcome.', ['receiver', 'outcome']),
    deliveryDuration: histogram('delivery_attempt_duration', 'How long attempts to deliver took, by receiver.', CALL, [
      'receiver',
    ]),
    deliveryDelay: histogram('delivery_delay', 'From the making of a message until its receiver had it.', DELAY, [
      'receiver',
    ]),
    /** outcome: sent, failed */
    heartbeatPings: counter('heartbeat_pings', 'Heartbeats sent to the service outside, by outcome.', ['outcome']),
  }
}

function callMetrics({ counter, histogram }: Makers) {
  return {
    /** class: 2xx, 4xx, 429, 5xx, other, timeout, network */
    providerRequests: counter('provider_requests', 'Calls to the provider, by endpoint and class of the answer.', [
      ...(['endpoint', 'class'] as const),
    ]),
    providerLatency: histogram(
      'provider_request_duration',
      'How long calls to the provider took, by endpoint, those without an answer included.',
      CALL,
      ['endpoint'],
    ),
    signInFailures: counter('sign_in_failures', 'Attempts to sign in that failed.'),
    /** route: its pattern, never an address; status: 2xx, 3xx, 4xx, 5xx */
    httpRequests: counter('http_requests', 'Requests that were answered, by pattern of the route and status class.', [
      ...(['method', 'route', 'status'] as const),
    ]),
    httpLatency: histogram('http_request_duration', 'How long answers took, by pattern of the route.', SERVED, [
      'route',
    ]),
  }
}

function daemonMetrics({ counter, histogram }: Makers, registry: Registry) {
  const startedAt = unset('plimsoll_daemon_start_timestamp_seconds', 'Start time of this daemon.', registry)
  const reloaded = unset(
    'plimsoll_config_last_reload_successful',
    'Config file accepted at the last reload: 1 or 0.',
    registry,
  )
  const reloadedAt = unset(
    'plimsoll_config_last_reload_success_timestamp_seconds',
    'When the config file was last taken over.',
    registry,
  )
  return {
    sweeps: counter('sweeps', 'Sweeps that finished, by kind.', ['kind']),
    sweepDuration: histogram('sweep_duration', 'How long sweeps took, by kind.', CALL, ['kind']),
    /** At work since then, ms. */
    started: (at: number) => startedAt.set(at / 1_000),
    /** The config file was read, ms; not ok: it was refused, and the old one stays in force. */
    configReload: (ok: boolean, at: number) => {
      reloaded.set(ok ? 1 : 0)
      if (ok) reloadedAt.set(at / 1_000)
    },
  }
}

/** Absent until it is set: a daemon that starts still has refused no config. */
function unset(name: string, help: string, registry: Registry): Gauge {
  const gauge = new Gauge({ name, help, registers: [registry] })
  gauge.remove()
  return gauge
}
