import { gauge, sharedRead } from '../../runtime/gauge.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { HealthReport } from '../health.ts'

export interface HealthGaugeDeps {
  metrics: Metrics
  health: () => Promise<HealthReport>
}

/** The same as /healthz and /readyz say. */
export function registerHealthGauges({ metrics, health }: HealthGaugeDeps): void {
  const report = sharedRead(health)

  gauge(metrics, 'alive', 'Whether work moves on, as on /healthz: 1 or 0.', [], async () => [
    [{}, (await report()).alive ? 1 : 0],
  ])
  gauge(metrics, 'ready', 'Whether this daemon is worth asking, as on /readyz: 1 or 0.', [], async () => [
    [{}, (await report()).ready ? 1 : 0],
  ])
  gauge(
    metrics,
    'health_check_ok',
    'Whether one thing that health is judged by is as it should be: 1 or 0.',
    ['check'],
    async () => (await report()).checks.map(({ name, ok }) => [{ check: name }, ok ? 1 : 0]),
  )
}
