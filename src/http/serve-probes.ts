import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../runtime/metrics.ts'
import type { HealthReport } from './health.ts'

export interface ProbesDeps {
  health: () => Promise<HealthReport>
  metrics: Metrics
}

/** For monitoring systems. None of it names an account. */
export function serveProbes(app: FastifyInstance, { health, metrics }: ProbesDeps): void {
  app.get('/healthz', async (_request, reply) => {
    const { alive, checks } = await health()
    return reply.code(alive ? 200 : 503).send({ alive, checks })
  })
  app.get('/readyz', async (_request, reply) => {
    const { ready, checks } = await health()
    return reply.code(ready ? 200 : 503).send({ ready, checks })
  })
  app.get('/metrics', async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  )
}
