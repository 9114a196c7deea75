import type { FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { Operation } from '../../operations/operation.ts'
import { runForPage } from '../run-for-page.ts'
import type { DoForm } from './page.ts'

/** A form that carries out an operation, which checks its fields and has the words of a fault; then the page to go to. */
export function operationForm<I extends z.ZodObject, V>(
  operation: Operation<I, V>,
  leadsTo: (value: V) => string,
): DoForm {
  return async (deps, request) => leadsTo((await runForPage(operation, deps, sentFields(request), request)).value)
}

/** The fields of a form, and those of its address. */
export function sentFields({ body, query, params }: FastifyRequest): Record<string, unknown> {
  return { ...(query as object), ...(body as object | undefined), ...(params as object) }
}
