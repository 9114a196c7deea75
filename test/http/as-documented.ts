import { problemsOf } from '../../src/http/api/operation-route.ts'
import { ProblemShape } from '../../src/http/problem-shape.ts'
import { OPERATIONS } from '../../src/operations/all-operations.ts'
import type { Operation } from '../../src/operations/operation.ts'
import { faultsOf } from '../support/json-schemas.ts'
import type { Answer } from './open-server.ts'

/** What no operation answers: the address leads nowhere, or not by this method, or could not be read. */
const BESIDE_OPERATIONS = [400, 401, 403, 404, 405, 503]

/** The answer itself, if it is one of those that the document of the API tells of; every test's is looked at. */
export function asDocumented(method: string, path: string, answer: Answer): Answer {
  if (!path.startsWith('/api/') || method === 'HEAD') return answer
  const leading = OPERATIONS.filter((one) => one.method === method && leadsTo(one, path))
  // A word of an address goes before the account that it might name.
  const operation = leading.find((one) => !one.path.includes('{')) ?? leading[0]
  const faults = answer.status < 400 ? faultsOfSuccess(operation, method, answer) : faultsOfProblem(operation, answer)
  if (path.startsWith('/api/v1/openapi.json') || faults.length === 0) return answer
  throw new Error(`${method} ${path} answered ${answer.status}: ${faults.join('; ')}`)
}

function leadsTo({ path }: Operation, address: string): boolean {
  const pattern = path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/?]+')
  return new RegExp(`^/api/v1${pattern}/?(\\?|$)`).test(address)
}

function faultsOfSuccess(operation: Operation | undefined, method: string, answer: Answer): string[] {
  const { status, headers, json } = answer
  if (method === 'OPTIONS') return status === 204 ? [] : ['a status that OPTIONS does not have']
  if (operation?.answers[status] === undefined) return ['a status that the document does not have']
  const type = headers['content-type'] ?? ''
  if (operation.types?.includes(type) || type.startsWith('application/vnd.plimsoll')) return []
  return type.startsWith('application/json') ? faultsOf(operation.output, json) : [`of the type ${type}`]
}

function faultsOfProblem(operation: Operation | undefined, { status, headers, json, text }: Answer): string[] {
  const known = operation === undefined ? BESIDE_OPERATIONS : problemsOf(operation)
  // What can't be read never comes to an operation.
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

/** For tests that go through all operations: the address of an example, below /api/v1. */
export function exampleAddress({ path, example = {} }: Operation): string {
  const { params = {}, query = {} } = example
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? `no example of ${name}`)
  return `/api/v1${filled}${Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query)}`}`
}
