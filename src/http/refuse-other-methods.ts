import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { isApi } from './access/access.ts'
import { Problem } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The route that its address leads to, be it with another method than this request's. */
    readonly route: string | undefined
  }
}

/** Which methods each route takes, collected as they are made. */
export type KnownRoutes = ReadonlyMap<string, ReadonlySet<string>>

/** Gives each request its route. */
export function knowRoutes(app: FastifyInstance): KnownRoutes {
  const known = new Map<string, Set<string>>()
  const patterns = new Map<string, RegExp>()
  app.addHook('onRoute', ({ url, method }: RouteOptions) => {
    const methods = known.get(url) ?? new Set()
    for (const one of [method].flat()) methods.add(one)
    known.set(url, methods)
    if (/[:*]/.test(url)) patterns.set(url, patternOf(url))
  })
  app.decorateRequest('route', {
    getter(this: FastifyRequest) {
      if (this.routeOptions.url !== undefined) return this.routeOptions.url
      const path = readPath(this.url)
      return known.has(path) ? path : [...patterns].find(([, pattern]) => pattern.test(path))?.[0]
    },
  })
  return known
}

/**
 * Ends a request whose address takes other methods, before its body is read; addresses of the API list theirs on OPTIONS. To
 * make a route for each method that an address does not take would be most of the work of starting a server.
 */
export function refuseOtherMethods(
  known: KnownRoutes,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined {
  const { route, method } = request
  const methods = route === undefined || request.routeOptions.url !== undefined ? undefined : known.get(route)
  if (route === undefined || methods === undefined || methods.has(method)) return undefined
  const told = isApi(route) ? [...methods, 'OPTIONS'] : [...methods]
  const allow = told.join(', ')
  if (told.includes(method)) return reply.code(204).header('allow', allow).send()
  throw new Problem(405, `Only ${allow} works here.`, { allow })
}

/** Path of an address, as the router reads it, with escapes or in full; nothing is ever served by it. */
function readPath(address: string): string {
  const path = address.replace(/^[a-z]+:\/\/[^/]*/i, '').replace(/[?#].*$/s, '')
  const plain = path.length > 1 ? path.replace(/\/$/, '') : path
  try {
    return decodeURI(plain)
  } catch {
    // The router answers that it can't be read.
    return ''
  }
}

function patternOf(route: string): RegExp {
  const parts = route.split('/').map((part) => {
    if (part === '*') return '.*'
    return part.startsWith(':') ? '[^/]{1,100}' : part.replace(/[.+()]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('/')}$`, 's')
}
