import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** Counters of this process, for Prometheus. No label ever names an account. */
export interface Metrics {
  readonly registry: Registry
  /** outcome: refreshed, fresh, held, gone, lost, waiting, failed */
  readonly refreshes: Counter<'outcome'>
  /** Refreshes that came after the token had expired. */
  readonly tokensExpired: Counter
  /** From a provider's answer until its tokens were stored: a process that dies in between may lose them. */
  readonly tokenStore: Histogram
  /** to: name of the admin token that asked */
  readonly tokensServed: Counter<'to'>
  /** outcome: committed, failed, blocked (no scope lets it be read), gone, lost, later, paused (its rate limit is reached), no-room (the call budget had none) */
  readonly polls: Counter<'outcome'>
  readonly sweeps: Counter<'kind'>
  readonly alertsRelayed: Counter
  /** outcome: delivered, retry, dead */
  readonly deliveries: Counter<'receiver' | 'outcome'>
  /** outcome: sent, failed */
  readonly heartbeatPings: Counter<'outcome'>
  readonly uninstalls: Counter<'outcome'>
  /** step: read, thin-out; outcome: replaced, unchanged, lost, failed */
  readonly tended: Counter<'step' | 'outcome'>
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const counter = <T extends string>(name: string, help: string, labelNames: T[] = []) =>
    new Counter({ name: `plimsoll_${name}_total`, help, labelNames, registers: [registry] })
  return {
    registry,
    refreshes: counter('token_refreshes', 'Attempts to refresh an account, by outcome.', ['outcome']),
    tokensExpired: counter('tokens_expired', 'Refreshes that came after the access token had expired.'),
    tokenStore: new Histogram({
      name: 'plimsoll_token_store_seconds',
      help: "From the provider's answer until the new tokens were stored.",
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10, 60],
      registers: [registry],
    }),
    tokensServed: counter('access_tokens_served', 'Access tokens handed out, by who asked.', ['to']),
    polls: counter('limit_polls', 'Polls of the limits endpoints, by outcome.', ['outcome']),
    sweeps: counter('sweeps', 'Sweeps that finished, by kind.', ['kind']),
    alertsRelayed: counter('alerts_relayed', 'Alerts taken from the outbox into groups.'),
    deliveries: counter('deliveries', 'Attempts to deliver, by receiver and outcome.', ['receiver', 'outcome']),
    heartbeatPings: counter('heartbeat_pings', 'Heartbeats told to the service outside, by outcome.', ['outcome']),
    uninstalls: counter('uninstalls', 'Attempts to uninstall an account, by outcome.', ['outcome']),
    tended: counter('accounts_tended', 'Accounts whose history was tended, by step and outcome.', ['step', 'outcome']),
  }
}

/** A gauge whose value is read when somebody asks; one that can't be read shows no value. */
export function gauge<T extends string>(
  metrics: Metrics,
  name: string,
  help: string,
  labelNames: T[],
  read: (gauge: Gauge<T>) => Promise<void>,
): void {
  new Gauge({
    name: `plimsoll_${name}`,
    help,
    labelNames,
    registers: [metrics.registry],
    async collect() {
      this.reset()
      await read(this).catch(() => (labelNames.length === 0 ? this.remove() : this.reset()))
    },
  })
}
