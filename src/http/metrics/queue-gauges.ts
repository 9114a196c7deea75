import type { Clock } from '../../runtime/clock.ts'
import { gauge, sharedRead } from '../../runtime/gauge.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { QueueDepth } from '../../views/queue-depth.ts'

export interface QueueGaugeDeps {
  metrics: Metrics
  queueDepths: () => Promise<QueueDepth[]>
  clock: Clock
}

const STATES = ['waiting', 'active', 'delayed', 'failed'] as const

export function registerQueueGauges({ metrics, queueDepths, clock }: QueueGaugeDeps): void {
  const depths = sharedRead(queueDepths)

  gauge(metrics, 'queue_jobs', 'Jobs in a queue, by state.', ['queue', 'state'], async () =>
    (await depths()).flatMap((depth) =>
      STATES.map((state): [{ queue: string; state: string }, number] => [{ queue: depth.queue, state }, depth[state]]),
    ),
  )
  gauge(
    metrics,
    'queue_oldest_waiting_seconds',
    'For how long the next job of a queue has waited to be taken up; 0 where none waits.',
    ['queue'],
    async () =>
      (await depths()).map(({ queue, oldestWaitingAt }) => [
        { queue },
        oldestWaitingAt === null ? 0 : Math.max(0, clock.now() - oldestWaitingAt) / 1_000,
      ]),
  )
}
