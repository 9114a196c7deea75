import type { FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { OperationDeps } from '../operations/deps.ts'
import { fieldsOf } from '../operations/fields.ts'
import type { Call, Operation } from '../operations/operation.ts'
import { whoOf } from './access/who.ts'
import { check } from './query.ts'

/**
 * Runs an operation by what a page was asked for, or by its form: fields go by their names on the command line, and an empty text
 * is a choice that is not made.
 */
export async function runForPage<I extends z.ZodObject, V>(
  operation: Operation<I, V>,
  deps: OperationDeps,
  given: Readonly<Record<string, unknown>>,
  request: FastifyRequest,
): Promise<{ value: V; call: Call<I> }> {
  const entries = fieldsOf(operation.input).flatMap(({ name, meta }) => {
    const called = typeof meta['x-option'] === 'string' ? meta['x-option'] : name
    const value = given[called] ?? given[name]
    return value === undefined || value === '' ? [] : [[name, value]]
  })
  const call: Call<I> = {
    input: check(operation.input, Object.fromEntries(entries)),
    who: whoOf(request),
    now: deps.clock.now(),
    isForPeople: true,
    stop: deps.stop,
  }
  return { value: await operation.run(deps, call), call }
}
