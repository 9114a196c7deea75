import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Metrics } from '../../runtime/metrics.ts'

/** Methods that have a route. Of others a client may invent any number. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** By the pattern of its route: addresses have account numbers in them, and no end. */
export function countRequest(metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const route = request.routeOptions.url ?? 'none'
  const method = METHODS.has(request.method) ? request.method : 'other'
  metrics.httpRequests.inc({ method, route, status: `${Math.floor(reply.statusCode / 100)}xx` })
  metrics.httpLatency.observe({ route }, reply.elapsedTime / 1_000)
}
