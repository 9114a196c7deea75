import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ApiDeps } from './api-deps.ts'
import type { Answer, AnswerShapes, Route } from './route.ts'

/** Makes each declaration answer. */
export function registerRoutes(app: FastifyInstance, deps: ApiDeps, routes: readonly Route[]): void {
  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path.replace(/\{(\w+)\}/g, ':$1'),
      // HEAD would hand a token out to nobody.
      exposeHeadRoute: route.method === 'GET' && route.scope !== 'tokens',
      handler: async (request, reply) => send(reply, await route.answer(deps, request)),
    })
  }
}

function send(reply: FastifyReply, answer: Answer<AnswerShapes>): FastifyReply {
  reply.code(answer.status)
  if (answer.location !== undefined) reply.header('location', answer.location)
  if ('json' in answer) return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer.json))
  const { type, fileName, text } = answer.lines
  return reply.type(type).header('content-disposition', `attachment; filename="${fileName}"`).send(text)
}
