import { problemsOf } from '../../src/http/api/openapi.ts'
import type { ApiRoute } from '../../src/http/api/route.ts'
import { API_ROUTES } from '../../src/http/api/serve-api.ts'
import { ProblemShape } from '../../src/http/problem-shape.ts'
import { faultsOf } from '../support/json-schemas.ts'
import type { Answer } from './open-server.ts'

/** What no route answers: the address leads nowhere, or not by this method, or could not be read. */
const BESIDE_ROUTES = [400, 401, 403, 404, 405, 503]

/** The answer itself, if it is one of those that the document of the API tells of; every test's is looked at. */
export function asDocumented(method: string, path: string, answer: Answer): Answer {
  if (!/^\/api([/?]|$)/.test(path) || method === 'HEAD') return answer
  const route = API_ROUTES.find((one) => one.method === method && leadsTo(one, path))
  const faults = answer.status < 400 ? faultsOfSuccess(route, method, answer) : faultsOfProblem(route, answer)
  if (faults.length > 0) throw new Error(`${method} ${path} answered ${answer.status}: ${faults.join('; ')}`)
  return answer
}

function leadsTo({ path }: ApiRoute, address: string): boolean {
  const pattern = path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/?]+')
  return new RegExp(`^/api/v1${pattern}/?(\\?|$)`).test(address)
}

function faultsOfSuccess(route: ApiRoute | undefined, method: string, { status, headers, json }: Answer): string[] {
  if (method === 'OPTIONS') return status === 204 ? [] : ['a status that OPTIONS does not have']
  const shape = route?.answers[status]
  if (shape === undefined) return ['a status that the document does not have']
  const type = headers['content-type'] ?? ''
  if (shape.lines?.includes(type)) return []
  return type.startsWith('application/json') ? faultsOf(shape.json, json) : [`of the type ${type}`]
}

function faultsOfProblem(route: ApiRoute | undefined, { status, headers, json, text }: Answer): string[] {
  const known = route === undefined ? BESIDE_ROUTES : problemsOf(route)
  // What can't be read never comes to a route.
  const isKnown = known.includes(status) || status === 400
  return [
    ...(isKnown ? [] : ['a status that the document does not have']),
    ...(headers['content-type']?.startsWith('application/problem+json')
      ? []
      : [`of the type ${headers['content-type']}`]),
    ...faultsOf(ProblemShape, json),
    ...(json?.status === status ? [] : ['another status within']),
    ...(/\bat .*\.ts:\d|node_modules/.test(text) ? ['a stack'] : []),
  ]
}
