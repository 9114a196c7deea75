import type { FastifyInstance, RouteOptions } from 'fastify'
import { isApi } from './access/access.ts'
import { Problem } from './problem.ts'

/** What a server is asked with in practice; the rest ends as 404. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export interface KnownRoutes {
  /** Which methods each address takes. */
  readonly known: ReadonlyMap<string, ReadonlySet<string>>
  /** Adds, for each address, the 405 for other methods; addresses of the API list theirs on OPTIONS. */
  addRefusals(): void
}

/** Collects the routes as they are made. */
export function refuseOtherMethods(app: FastifyInstance): KnownRoutes {
  const known = new Map<string, Set<string>>()
  let isComplete = false
  app.addHook('onRoute', ({ url, method }: RouteOptions) => {
    if (isComplete) return
    const methods = known.get(url) ?? new Set()
    for (const one of [method].flat()) methods.add(one)
    known.set(url, methods)
  })
  const addRefusals = () => {
    isComplete = true
    for (const [url, methods] of known) refuseOthers(app, url, methods)
  }
  return { known, addRefusals }
}

function refuseOthers(app: FastifyInstance, url: string, taken: ReadonlySet<string>): void {
  const told = isApi(url) ? [...taken, 'OPTIONS'] : [...taken]
  const allow = told.join(', ')
  if (isApi(url)) app.options(url, (_request, reply) => reply.code(204).header('allow', allow).send())
  app.route({
    method: METHODS.filter((method) => !told.includes(method)),
    url,
    // Refused before the body is read: the method is wrong.
    onRequest: () => Promise.reject(new Problem(405, `Only ${allow} works here.`, { allow })),
    handler: () => undefined,
  })
}
