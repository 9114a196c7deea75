import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../runtime/clock.ts'
import { html } from '../text/html.ts'
import { areaOf, type Credentials, isApi, judgeAccess, judgeBearer, type Verdict } from './access.ts'
import { isDirectFromThisMachine } from './loopback.ts'
import { plainPage, sendPage } from './page.ts'
import { Problem } from './problem.ts'
import type { Guard } from './serve-sign-in.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** By a session cookie: there is something to sign out of. */
    signedIn: boolean
  }
}

/** Stands in front of every request, those without a route included. Returns the reply where the request ends here. */
export function guardRequest(
  guard: Guard | undefined,
  clock: Clock,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined {
  const credentials = credentialsOf(guard, request, clock.now())
  request.signedIn = credentials.session
  const area = areaOf(request.routeOptions.url, request.method, request.url)
  return refuse(judgeAccess(area, credentials), request, reply)
}

function credentialsOf(guard: Guard | undefined, request: FastifyRequest, now: number): Credentials {
  const { headers, raw } = request
  const facts = { fromPage: headers.origin !== undefined }
  if (guard === undefined) {
    const { remoteAddress } = request.socket
    const direct = isDirectFromThisMachine({ remoteAddress, httpVersion: raw.httpVersion, headers })
    return { ...facts, guarded: false, bearer: 'none', session: false, direct }
  }
  const bearer = judgeBearer(headers.authorization, guard.adminToken)
  return { ...facts, guarded: true, bearer, session: guard.sessions.isGood(headers.cookie, now), direct: false }
}

function refuse(verdict: Verdict, request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined {
  switch (verdict) {
    case 'allowed':
      return undefined
    case 'sign-in':
      return askToSignIn(request, reply)
    case 'unauthorized':
      throw new Problem(401, 'Send the admin token: "Authorization: Bearer ...".', { 'www-authenticate': 'Bearer' })
    case 'bearer-only':
      throw new Problem(403, 'A session is not enough to change something: send the admin token as Bearer.')
    case 'this-machine-only':
      throw new Problem(
        403,
        'Without an admin token this answers only requests that come directly from the same machine. ' +
          'Set http.adminToken in the configuration.',
      )
    case 'not-from-a-page':
      throw new Problem(403, 'Without an admin token nothing can be changed from a page in a browser.')
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
  const { pathname, search } = new URL(request.url, 'http://here.invalid')
  const address = pathname.startsWith('//') ? '/' : pathname + search
  const body = html`<p><a href="${address}">Go on</a></p>`
  return sendPage(reply, 200, plainPage({ title: 'One moment', goOnTo: address, body }))
}
