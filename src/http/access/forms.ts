import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isSameText } from '../../runtime/secret.ts'
import { type Html, html } from '../../text/html.ts'
import { Problem } from '../problem.ts'

/** The field in which a form carries its token. */
const FORM_TOKEN = 'csrf'

/** The first field of each form of a page. */
export function formTokenField(token: string): Html {
  return html`<input type="hidden" name="${FORM_TOKEN}" value="${token}">`
}

/** The token of the forms on the page of a reader who may change something. */
export function tokenOfWriter({ mayWrite, formToken }: FastifyRequest): string | undefined {
  return mayWrite ? formToken : undefined
}

/** The route of a form that asks for no token. */
export const OPEN_FORM = { bodyLimit: 4 * 1024 }
/** The fields of such a form, and of one that has a box for each alert of a page. */
export const FEW_FIELDS = 20
const MANY_FIELDS = 5_000

/** Forms are read within `scope` only: everywhere else a body is JSON or nothing. */
export function readForms(scope: FastifyInstance, most: number): void {
  scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    const fields = formFields(String(body), most)
    if (fields === undefined) done(new Problem(413, 'The form has too many fields.'))
    else done(null, fields)
  })
}

/**
 * Fields of a form, in one pass over any input: a list where a field was given more than once; undefined: more fields than
 * `most`.
 */
function formFields(body: string, most: number): Record<string, string | string[]> | undefined {
  const form = new URLSearchParams(body)
  if (form.size > most) return undefined
  const fields = new Map<string, string | string[]>()
  for (const [name, value] of form) {
    const before = fields.get(name)
    if (before === undefined) fields.set(name, value)
    else if (typeof before === 'string') fields.set(name, [before, value])
    else before.push(value)
  }
  return Object.fromEntries(fields)
}

/** Forms of the pages: each must come from a page of ours that was made for its sender. */
export function acceptOwnForms(scope: FastifyInstance, publicUrl: string): void {
  readForms(scope, MANY_FIELDS)
  refuseFormsFromElsewhere(scope, publicUrl)
  scope.addHook('preHandler', async (request) => {
    const { [FORM_TOKEN]: given } = (request.body ?? {}) as Record<string, unknown>
    if (isSent(request) && !isSameText(given, request.formToken)) throw notOurs()
  })
}

/** Before anything of their body is read. */
export function refuseFormsFromElsewhere(scope: FastifyInstance, publicUrl: string): void {
  scope.addHook('onRequest', async (request) => {
    if (isSent(request)) refuseFromElsewhere(request, publicUrl)
  })
}

function isSent({ method }: FastifyRequest): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

function refuseFromElsewhere(request: FastifyRequest, publicUrl: string): void {
  if (!isFromOurPage(originOf(request, publicUrl))) throw notOurs()
}

export function originOf({ headers }: FastifyRequest, publicUrl: string): FormOrigin {
  const { 'sec-fetch-site': site, origin, host } = headers
  return { site: typeof site === 'string' ? site : undefined, origin, host, publicUrl }
}

function notOurs(): Problem {
  return new Problem(
    403,
    'This form was not sent from an open page of Plimsoll, or you have signed in again since. Nothing was changed. Reload the page and try again.',
  )
}

/** The browser's headers about the origin of a form. */
interface FormOrigin {
  /** The header Sec-Fetch-Site. */
  site: string | undefined
  /** The header Origin. */
  origin: string | undefined
  /** The header Host. */
  host: string | undefined
  publicUrl: string
}

/**
 * True where a form was sent from a page of this very server. A neighboring port or host counts as the same site, cookie and
 * all, so only the same origin will do. Browsers send Sec-Fetch-Site to https and to this machine, Origin always; a client with
 * neither is no browser that a stranger's page could use.
 */
export function isFromOurPage({ site, origin, host, publicUrl }: FormOrigin): boolean {
  if (site !== undefined) return site === 'same-origin'
  if (origin === undefined) return true
  const given = URL.parse(origin)
  // Behind a proxy the Host may be another one than the address that people know.
  return given !== null && (given.origin === new URL(publicUrl).origin || given.host === host)
}
