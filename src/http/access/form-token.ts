import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { type Html, html } from '../../text/html.ts'

/** The field in which a form carries its token. */
export const FORM_TOKEN = 'csrf'

/**
 * What proves that a form was ours: a stranger's page can make a browser send one, cookie and all, but it can't read what
 * ours carry. Nothing is kept of it.
 */
export interface FormTokens {
  /** Good for as long as the session is, at every daemon of the installation, and for no other session. */
  ofSession(session: string): string
}

/** `key` is asked each time: the encryption key may be another one after a SIGHUP. */
export function createFormTokens(key: () => Buffer): FormTokens {
  return { ofSession: (session) => createHmac('sha256', key()).update(`form:${session}`).digest('base64url') }
}

/** The token of the forms on the caller's page. */
export function formToken(request: FastifyRequest): string {
  return request.formToken
}

/** What each form of a page begins with. */
export function formTokenField(token: string): Html {
  return html`<input type="hidden" name="${FORM_TOKEN}" value="${token}">`
}

export function isSameToken(given: unknown, expected: string): boolean {
  if (typeof given !== 'string' || expected === '') return false
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
