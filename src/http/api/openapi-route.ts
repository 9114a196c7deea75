import { AnyObjectShape } from '../../views/shapes/installation.ts'
import { openApiDocument } from './openapi.ts'
import { ok, type Route, route, TAKES_NOTHING } from './route.ts'

/** Tells of the given routes, and of itself. */
export function openApiRoute(routes: readonly Route[]): Route {
  const self: Route = route({
    ...TAKES_NOTHING,
    ...{ id: 'showDocument', method: 'GET', path: '/openapi.json', scope: 'read' },
    summary: 'This document',
    answers: { 200: { description: 'OpenAPI 3.1.', json: AnyObjectShape } },
    ...{ problems: [], example: {} },
    answer: async ({ publicUrl }) => ok(openApiDocument([...routes, self], publicUrl)),
  })
  return self
}
