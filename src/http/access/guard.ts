import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Via } from '../../audit/audited.ts'
import type { Clock } from '../../runtime/clock.ts'
import { html } from '../../text/html.ts'
import { plainPage, sendPage } from '../pages/page.ts'
import { type Guard, localPath, signInPage } from '../pages/sign-in.ts'
import { Problem } from '../problem.ts'
import { redisAway } from '../redis-away.ts'
import { areaOf, judgeAccess, readBearer, scopesFor, type Verdict } from './access.ts'
import { isFromOurPage, originOf } from './forms.ts'
import type { NeededScope, Scope } from './scopes.ts'
import { endedAs } from './session.ts'
import { groupsOf, type Person, type RefusedClaim } from './trusted-person.ts'
import { whoOf } from './who.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that an operation of the API needs. */
    scope?: NeededScope
    /** The body is a file, which arrives as fast as it is taken. */
    takesFile?: boolean
  }
  interface FastifyRequest {
    /** By a session cookie: the page has a button to sign out. */
    signedIn: boolean
    /** The name of the admin token in the request, or of the person whom a trusted proxy named. */
    caller: string
    /** How it was let in. */
    via: Via
    mayRead: boolean
    /** True where the caller's scopes include `write`: over the API a session still may not. */
    mayWrite: boolean
    mayAudit: boolean
    /** The token of forms on the pages of this session. */
    formToken: string
  }
}

/** The user who runs a command on the daemon's own machine: believed with the token that only that user can read. */
const USER_HEADER = 'plimsoll-user'
const LONGEST_USER = 100

/** A header has no letters but those of Latin-1. */
function userIn(header: string): string {
  try {
    return decodeURIComponent(header).slice(0, LONGEST_USER)
  } catch {
    return header.slice(0, LONGEST_USER)
  }
}

function viaOf(bearer: unknown, { person, isLocal }: { person: Person | undefined; isLocal: boolean }): Via {
  if (isLocal) return 'command'
  if (typeof bearer === 'object') return 'token'
  return person === undefined ? 'session' : 'proxy'
}

/** Guards every request, those without a route included. Returns the reply where the request ends here. */
export async function guardRequest(
  { known, sessions, noteRefusal, personOf, trusted, audit, openMetrics, publicUrl }: Guard,
  clock: Clock,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  const { headers, route, method, url: address } = request
  const { scope } = request.routeOptions.config
  const area = areaOf({ route, method, address, scope }, openMetrics)
  const claim = personOf({ peer: request.socket.remoteAddress, headers, rawHeaders: request.raw.rawHeaders })
  if (claim.is === 'refused') noteRefusal('person', request, claim.why)
  const person = claim.is === 'person' ? claim.person : undefined
  const showsNothing = headers.authorization === undefined && headers.cookie === undefined && person === undefined
  if (area === 'open' || (area === 'probe' && showsNothing)) return undefined
  // Forms are sent from these pages: without this header browsers keep quiet about the page of origin.
  if (area === 'page' || area === 'audit-page' || area === 'action') reply.header('referrer-policy', 'same-origin')
  const { bearer, tokens, ended, complete } = await readToken(known, authorizationOf(headers, person))
  const cookie = person === undefined ? sessions.textOf(headers.cookie) : ''
  // While the ended sessions are not known, none is good.
  const isOver = cookie === '' || !complete || ended.has(endedAs(cookie))
  const session = isOver ? undefined : sessions.ownerOf(headers.cookie, tokens, clock.now())
  const owner = typeof bearer === 'object' ? bearer : (person ?? session)
  if (typeof bearer === 'object') known.used(bearer)
  request.signedIn = session !== undefined
  const user = bearer === known.local && known.local !== undefined ? headers[USER_HEADER] : undefined
  request.caller = typeof user === 'string' ? userIn(user) : (owner?.name ?? '')
  request.via = viaOf(bearer, { person, isLocal: user !== undefined })
  request.mayRead = owner?.scopes.includes('read') === true
  request.mayWrite = owner?.scopes.includes('write') === true
  request.mayAudit = owner?.scopes.includes('audit') === true
  request.formToken =
    person !== undefined
      ? sessions.formTokenOfPerson(person.name)
      : session === undefined
        ? ''
        : sessions.formTokenOf(cookie)
  // A proxy signs people in for itself: here the first request of a day is one.
  if (owner !== undefined && owner === person)
    void audit.noteFirstOfDay({ action: 'sign-in.done', who: whoOf(request) })
  if (area === 'probe') return undefined

  const verdict = judgeAccess(area, {
    bearer: typeof bearer === 'object' ? bearer.scopes : bearer,
    session: session?.scopes ?? 'none',
    person: person?.scopes ?? 'none',
    isFromHere: isFromOurPage(originOf(request, publicUrl)),
  })
  // The token may well be good, and can't be checked for now.
  const isShown = bearer !== 'none' || cookie !== ''
  if (verdict !== 'allowed' && isShown && !complete) throw redisAway()
  if (bearer === 'wrong') noteRefusal('bearer', request)
  if (verdict === 'missing-scope') {
    throw missingScope(request.caller, scopesFor(area), owner === person ? groupsOf(trusted, person) : undefined)
  }
  if (verdict !== 'allowed' && claim.is === 'refused') refuseElsewhere(claim.why, publicUrl)
  return refuse(verdict, request, reply)
}

/** A proxy that asks for a password itself hands on the header with it: beside a person only a token of ours counts. */
function authorizationOf({ authorization }: FastifyRequest['headers'], person: Person | undefined): string | undefined {
  return person === undefined || /^bearer /i.test(authorization ?? '') ? authorization : undefined
}

async function readToken(known: Guard['known'], authorization: string | undefined) {
  const list = await known.current()
  const bearer = readBearer(authorization, list.tokens)
  if (bearer !== 'wrong') return { ...list, bearer }
  const newest = await known.newest()
  return { ...newest, bearer: readBearer(authorization, newest.tokens) }
}

/** The proxy has signed a person in, so a page that asks for an admin token would lead nowhere. */
function refuseElsewhere(why: RefusedClaim, publicUrl: string): void {
  if (why === 'for another host than http.publicUrl') {
    throw new Problem(
      403,
      `Single sign-on works at ${publicUrl} (http.publicUrl) only, and this request was for another host. Open that address. If you ` +
        'did, the proxy must pass on the header Host unchanged.',
    )
  }
  if (why === 'from a page of another site') {
    throw new Problem(403, `This request came from a page of another site. Single sign-on works at ${publicUrl} only.`)
  }
}

/** `groups`: of a person, which came and which are known. */
function missingScope(name: string, scopes: readonly Scope[], groups: string | undefined): Problem {
  const scope = scopes.join(', ')
  const why =
    groups === undefined
      ? `This needs an admin token with the scope ${scope}, which ${name} does not have.`
      : `This needs the scope ${scope}, which no group of ${name} has here (http.trustedGroups).${groups}`
  return new Problem(403, why, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scopes.join(' ')}"` })
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
      throw new Problem(401, 'Send an admin token: "Authorization: Bearer ...".', ASK_FOR_BEARER)
    case 'bearer-only':
      throw new Problem(403, 'A session is not enough for this: send an admin token as Bearer.')
    case 'from-elsewhere':
      throw new Problem(
        403,
        'This was sent from a page of another site. Send it from a program, or with an admin token as Bearer.',
      )
  }
}

const ASK_FOR_BEARER = { 'www-authenticate': 'Bearer' }

/** The sign-in page is at the address that was asked for, and leads there. */
function askToSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.headers(ASK_FOR_BEARER)
  const looks = request.method === 'GET' || request.method === 'HEAD'
  if (!looks) return sendPage(reply, 401, signInPage('/'))
  if (request.headers['sec-fetch-site'] === 'cross-site') return comeAgain(request, reply)
  return sendPage(reply, 401, signInPage(localPath(request.url)))
}

/**
 * A link in a mail is followed from another site, so the browser does not send a strict cookie although the operator is signed in. Our
 * own page asking for the same address brings it along.
 */
function comeAgain(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const address = localPath(request.url)
  const body = html`<p><a href="${address}">Go on</a></p>`
  return sendPage(reply, 401, plainPage({ title: 'One moment', goOnTo: address, body }))
}
