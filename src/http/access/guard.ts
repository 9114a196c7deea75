import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../runtime/clock.ts'
import { html } from '../../text/html.ts'
import { plainPage, sendPage } from '../pages/page.ts'
import type { Guard } from '../pages/sign-in/serve-sign-in.ts'
import { Problem } from '../problem.ts'
import { redisAway } from '../redis-away.ts'
import { areaOf, isApi, judgeAccess, readBearer, scopeFor, type Verdict } from './access.ts'
import { type Scope, THIS_MACHINE } from './admin-token.ts'
import { localPath } from './local-path.ts'
import { isDirectFromThisMachine } from './loopback.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** By a session cookie: there is something to sign out of. */
    signedIn: boolean
    /** The name of the admin token that asks, or of whoever needs none. */
    caller: string
    /** Whether who asks may change something, were it not for the cookie. */
    mayWrite: boolean
    /** What a form on a page for whoever asks carries. */
    formToken: string
  }
}

/** Stands in front of every request, those without a route included. Returns the reply where the request ends here. */
export async function guardRequest(
  { known, sessions, forms }: Guard,
  clock: Clock,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  const area = areaOf(request.routeOptions.url, request.method, request.url)
  if (area === 'open') return undefined
  // Forms are sent from these pages: without it browsers keep quiet about whose page it was.
  if (area === 'page' || area === 'action') reply.header('referrer-policy', 'same-origin')
  const { headers } = request
  const { bearer, tokens, guarded, complete } = await readToken(known, headers.authorization)
  const session = sessions.ownerOf(headers.cookie, tokens, clock.now())
  const owner = typeof bearer === 'object' ? bearer : session
  if (typeof bearer === 'object') known.used(bearer)
  request.signedIn = session !== undefined
  request.caller = owner?.name ?? THIS_MACHINE
  request.mayWrite = !guarded || owner?.scopes.includes('write') === true
  request.formToken =
    session === undefined ? forms.ofCaller(request.caller) : forms.ofSession(sessions.textOf(headers.cookie))

  const verdict = judgeAccess(area, {
    guarded,
    bearer: typeof bearer === 'object' ? bearer.scopes : bearer,
    session: session?.scopes ?? 'none',
    direct: isDirect(request),
    fromPage: isFromPage(request),
  })
  // Somebody may well have a token that can't be looked up for now.
  if (verdict !== 'allowed' && !complete) throw redisAway()
  if (verdict === 'missing-scope') throw missingScope(request.caller, scopeFor(area))
  return refuse(verdict, request, reply)
}

async function readToken(known: Guard['known'], authorization: string | undefined) {
  const list = await known.current()
  const bearer = readBearer(authorization, list.tokens)
  if (bearer !== 'wrong') return { ...list, bearer }
  const newest = await known.newest()
  return { ...newest, bearer: readBearer(authorization, newest.tokens) }
}

function isDirect({ socket, raw, headers }: FastifyRequest): boolean {
  return isDirectFromThisMachine({ remoteAddress: socket.remoteAddress, httpVersion: raw.httpVersion, headers })
}

/** A plain GET of a page comes without an Origin, but a browser says whose page it was; `none` is its own user. */
function isFromPage({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  return headers.origin !== undefined || (site !== undefined && site !== 'none')
}

function missingScope(name: string, scope: Scope): Problem {
  return new Problem(403, `This needs an admin token with the scope ${scope}, which ${name} does not have.`, {
    'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
  })
}

function refuse(
  verdict: Exclude<Verdict, 'missing-scope'>,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined {
  switch (verdict) {
    case 'allowed':
      return undefined
    case 'sign-in':
      return askToSignIn(request, reply)
    case 'unauthorized':
      throw new Problem(401, 'Send an admin token: "Authorization: Bearer ...".', { 'www-authenticate': 'Bearer' })
    case 'bearer-only':
      throw new Problem(403, 'A session is not enough for this: send an admin token as Bearer.')
    case 'this-machine-only':
      throw new Problem(
        403,
        'Without an admin token this answers only requests that come directly from the same machine. ' +
          'Set http.adminToken in the configuration, or make one: plimsoll admin-tokens add.',
      )
    case 'not-from-a-page':
      throw new Problem(403, 'Without an admin token a page in a browser can change nothing and gets no token.')
  }
}

function askToSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (request.method !== 'GET' && request.method !== 'HEAD') return reply.redirect('/sign-in', 303)
  if (request.headers['sec-fetch-site'] === 'cross-site' && !isApi(request.url)) return comeAgain(request, reply)
  return reply.redirect(`/sign-in?next=${encodeURIComponent(request.url)}`, 302)
}

/**
 * A link in a mail is followed from another site, so a strict cookie stays at home though somebody is signed in. Our
 * own page asking for the same address brings it along.
 */
function comeAgain(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const address = localPath(request.url)
  const body = html`<p><a href="${address}">Go on</a></p>`
  return sendPage(reply, 200, plainPage({ title: 'One moment', goOnTo: address, body }))
}
