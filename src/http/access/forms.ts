import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isSameText } from '../../runtime/secret.ts'
import { type Html, html } from '../../text/html.ts'
import { Problem } from '../problem.ts'

/** The field in which a form carries its token. */
const FORM_TOKEN = 'csrf'

/** What each form of a page begins with. */
export function formTokenField(token: string): Html {
  return html`<input type="hidden" name="${FORM_TOKEN}" value="${token}">`
}

/** The token of the forms on the page of a reader who may change something. */
export function tokenOfWriter({ mayWrite, formToken }: FastifyRequest): string | undefined {
  return mayWrite ? formToken : undefined
}

/** Forms are read within `scope` only: everywhere else a body is JSON or nothing. */
export function readForms(scope: FastifyInstance): void {
  scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, formFields(new URLSearchParams(String(body))))
  })
}

/** A list where a field was given more than once. */
function formFields(form: URLSearchParams): Record<string, string | string[]> {
  const names = [...new Set(form.keys())]
  return Object.fromEntries(names.map((name) => [name, oneOrAll(form.getAll(name))]))
}

function oneOrAll([first = '', ...others]: string[]): string | string[] {
  return others.length === 0 ? first : [first, ...others]
}

/** Forms of the pages: each must come from a page of ours that was made for its sender. */
export function acceptOwnForms(scope: FastifyInstance, publicUrl: string): void {
  readForms(scope)
  scope.addHook('preHandler', async (request) => {
    if (request.method === 'GET' || request.method === 'HEAD') return
    refuseFormsFromElsewhere(request, publicUrl)
    const { [FORM_TOKEN]: given } = (request.body ?? {}) as Record<string, unknown>
    if (!isSameText(given, request.formToken)) throw notOurs()
  })
}

export function refuseFormsFromElsewhere({ headers }: FastifyRequest, publicUrl: string): void {
  const { 'sec-fetch-site': site, origin, host } = headers
  if (!isFromOurPage({ site: typeof site === 'string' ? site : undefined, origin, host, publicUrl })) throw notOurs()
}

function notOurs(): Problem {
  return new Problem(
    403,
    'This was not sent from a page of Plimsoll that you have open, or you have signed in anew since. Nothing was changed. Load the page again, and try once more.',
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
 * Whether a form was sent from a page of this very server. A neighbouring port or host counts as the same site, cookie
 * and all, so only the same origin will do. Browsers send Sec-Fetch-Site to https and to this machine, Origin always;
 * a client with neither is no browser that a stranger's page could use.
 */
export function isFromOurPage({ site, origin, host, publicUrl }: FormOrigin): boolean {
  if (site !== undefined) return site === 'same-origin'
  if (origin === undefined) return true
  const given = URL.parse(origin)
  // Behind a proxy the Host may be another one than the address that people know.
  return given !== null && (given.origin === new URL(publicUrl).origin || given.host === host)
}
