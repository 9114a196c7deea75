import type { FastifyInstance, RouteOptions } from 'fastify'
import { Problem } from './problem.ts'

/** What a server is asked with in practice; the rest ends as 404. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Collects the routes as they are made. The function it returns adds, for each address, the 405 for other methods. */
export function refuseOtherMethods(app: FastifyInstance): () => void {
  const known = new Map<string, Set<string>>()
  const note = ({ url, method }: RouteOptions) => {
    const methods = known.get(url) ?? new Set()
    for (const one of [method].flat()) methods.add(one)
    known.set(url, methods)
  }
  app.addHook('onRoute', note)
  return () => {
    for (const [url, methods] of [...known]) {
      const allow = [...methods].join(', ')
      const others = METHODS.filter((method) => !methods.has(method))
      app.route({
        method: others,
        url,
        // Refused before the body is looked at: what is wrong is the method.
        onRequest: () => Promise.reject(new Problem(405, `Only ${allow} works here.`, { allow })),
        handler: () => undefined,
      })
    }
  }
}
