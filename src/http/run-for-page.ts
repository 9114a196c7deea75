import type { FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { OperationDeps } from '../operations/deps.ts'
import { fieldsOf } from '../operations/fields.ts'
import type { Call, Operation } from '../operations/operation.ts'
import { whoOf } from './access/who.ts'
import { check } from './query.ts'
import { hubIdNamed } from './search-accounts.ts'

/**
 * Runs an operation by the query or the form of a page: fields go by their own names, or by those on the command line. An empty
 * text is a choice that is not made.
 */
export async function runForPage<I extends z.ZodObject, V>(
  operation: Operation<I, V>,
  deps: OperationDeps,
  given: Readonly<Record<string, unknown>>,
  request: FastifyRequest,
  who = whoOf(request),
): Promise<{ value: V; call: Call<I> }> {
  const input: Record<string, unknown> = {}
  for (const { name, isRequired, meta } of fieldsOf(operation.input)) {
    const called = typeof meta['x-option'] === 'string' ? meta['x-option'] : name
    const value = given[name] ?? given[called]
    if (value === undefined || (value === '' && !isRequired)) continue
    input[name] = meta['x-account'] && typeof value === 'string' ? await hubIdNamed(value, deps) : value
  }
  const call: Call<I> = {
    input: check(operation.input, input),
    who,
    now: deps.clock.now(),
    isForPeople: true,
    stop: deps.stop,
  }
  return { value: await operation.run(deps, call), call }
}
