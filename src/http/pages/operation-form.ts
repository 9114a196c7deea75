import type { FastifyRequest } from 'fastify'
import type * as z from 'zod'
import { sentence } from '../../operations/fields.ts'
import type { Operation } from '../../operations/operation.ts'
import { html } from '../../text/html.ts'
import { Problem } from '../problem.ts'
import { runForPage } from '../run-for-page.ts'
import type { DoForm, OperatorPage } from './page.ts'

/** A form that carries out an operation, which checks its fields and has the words of a fault; then the page to go to. */
export function operationForm<I extends z.ZodObject, V>(
  operation: Operation<I, V>,
  leadsTo: (value: V) => string,
): DoForm {
  return async (deps, request) => {
    const { value } = await runForPage(operation, deps, sentFields(request), request)
    const failed = operation.fails?.(value)
    if (failed !== undefined) throw new Problem(502, sentence(failed))
    return leadsTo(value)
  }
}

/** The operation's words for what it did not do, with the way back. */
export function notDone(request: FastifyRequest, { status, detail }: Problem): OperatorPage {
  const back = request.url.replace(/\/[^/?]+(?=\?|$)/, '')
  const body = html`<p class="verdict critical" role="alert">${detail}</p>
<p><a href="${back}">Back</a></p>`
  return { title: 'Not done', status, body }
}

/** The fields of a form, and those of its address. */
export function sentFields({ body, query, params }: FastifyRequest): Record<string, unknown> {
  return { ...(query as object), ...(body as object | undefined), ...(params as object) }
}
