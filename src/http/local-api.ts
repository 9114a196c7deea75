import fastify, { type FastifyInstance } from 'fastify'
import type { Who } from '../audit/audited.ts'
import type { OperationDeps } from '../operations/deps.ts'
import type { Logger } from '../runtime/logger.ts'
import { answerError } from './answer-error.ts'
import { apiOf } from './api/serve-api.ts'
import { acceptJsonOnly, decorateRequests } from './server.ts'

/** The API without a server, for a command where no daemon runs: its requests are injected, and are the user's own. */
export async function openInjectedApi(deps: OperationDeps & { log: Logger }, who: Who): Promise<FastifyInstance> {
  const app = fastify({ logger: false, routerOptions: { ignoreTrailingSlash: true, maxParamLength: 300 } })
  decorateRequests(app)
  app.addHook('onRequest', async (request) => {
    request.caller = who.name
    request.via = who.via
  })
  acceptJsonOnly(app)
  app.setErrorHandler((error, request, reply) =>
    answerError({ ...deps, brand: { name: 'Plimsoll' } }, error, request, reply),
  )
  app.register(apiOf(deps), { prefix: '/api/v1' })
  await app.ready()
  return app
}
