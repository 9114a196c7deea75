import type { FastifyInstance } from 'fastify'
import type { OwnFinding } from '../checks/check.ts'
import { sharedRead } from '../runtime/gauge.ts'
import { Problem } from './problem.ts'
import type { WebDeps } from './web-deps.ts'

type ProbeParts = Pick<WebDeps, 'health' | 'metrics'>

/** For monitoring systems. Without a token none of it names an account or a receiver. */
export function serveProbes(app: FastifyInstance, deps: ProbeParts): void {
  app.register((scope, _options, done) => {
    answerAsWrittenOnly(scope)
    addProbes(scope, deps)
    done()
  })
}

/**
 * Proxies keep strangers from those that ask for no token, by their addresses: one that is written otherwise and means the
 * same, such as `/healthz/`, must not lead around that.
 */
function answerAsWrittenOnly(scope: FastifyInstance): void {
  scope.addHook('onRequest', async ({ url, routeOptions }) => {
    const [path] = url.split('?', 1)
    if (path !== routeOptions.url) throw new Problem(404, 'There is nothing at this address.')
  })
}

function addProbes(scope: FastifyInstance, { health, metrics }: ProbeParts): void {
  // A crowd of callers costs no more than one.
  const report = sharedRead(health)
  const scrape = sharedRead(() => metrics.registry.metrics())
  scope.get('/healthz', async ({ mayRead }, reply) => {
    const { alive, findings } = await report()
    return reply.code(alive ? 200 : 503).send({ alive, checks: shown(findings, mayRead) })
  })
  scope.get('/readyz', async ({ mayRead }, reply) => {
    const { ready, findings } = await report()
    return reply.code(ready ? 200 : 503).send({ ready, checks: shown(findings, mayRead) })
  })
  scope.get('/metrics', async (_request, reply) => reply.type(metrics.registry.contentType).send(await scrape()))
}

/** A detail may name an account or a receiver, or quote Redis. */
function shown(findings: readonly OwnFinding[], mayRead: boolean) {
  return findings.map(({ name, level, says }) => ({ name, ok: level === 'ok', ...(mayRead && { detail: says }) }))
}
