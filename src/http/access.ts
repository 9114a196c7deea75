import { createHash, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../runtime/secret.ts'

/** The routes that ask for nothing. Looked up by the route that was found, never by the text of the address. */
const OPEN_ROUTES: ReadonlySet<string> = new Set([
  '/install',
  '/oauth/callback',
  '/healthz',
  '/readyz',
  '/metrics',
  '/sign-in',
  '/assets/plimsoll.css',
  '/assets/mark.svg',
])

/** What a request is for: `read` and `write` are the API's. */
export type Area = 'open' | 'page' | 'read' | 'write'

/** Whatever is not known to be open is protected, an address without a route too. */
export function areaOf(route: string | undefined, method: string, address: string): Area {
  if (route !== undefined && OPEN_ROUTES.has(route)) return 'open'
  if (!isApi(address)) return 'page'
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write'
}

export function isApi(address: string): boolean {
  return /^\/api([/?]|$)/.test(address)
}

export interface Credentials {
  /** Whether there is an admin token at all. */
  guarded: boolean
  bearer: 'none' | 'right' | 'wrong'
  /** A session cookie that is good. */
  session: boolean
  /** Somebody on this machine, not through a proxy. */
  direct: boolean
  /** A page of a browser sent this: the Origin header is there. */
  fromPage: boolean
}

export type Verdict =
  | 'allowed'
  | 'sign-in'
  | 'unauthorized'
  /** A cookie comes along with whatever page makes the browser send a request, so it changes nothing. */
  | 'bearer-only'
  | 'this-machine-only'
  | 'not-from-a-page'

export function judgeAccess(area: Area, credentials: Credentials): Verdict {
  if (area === 'open') return 'allowed'
  return credentials.guarded ? judgeGuarded(area, credentials) : judgeUnguarded(area, credentials)
}

function judgeGuarded(area: Area, { bearer, session }: Credentials): Verdict {
  if (bearer === 'right') return 'allowed'
  // A wrong token is told, even where a cookie would do: whoever sent it wants to know.
  if (area === 'page') return session && bearer === 'none' ? 'allowed' : 'sign-in'
  if (bearer === 'wrong' || !session) return 'unauthorized'
  return area === 'read' ? 'allowed' : 'bearer-only'
}

function judgeUnguarded(area: Area, { direct, fromPage }: Credentials): Verdict {
  if (!direct) return 'this-machine-only'
  return area === 'write' && fromPage ? 'not-from-a-page' : 'allowed'
}

export function judgeBearer(authorization: string | undefined, adminToken: Secret): Credentials['bearer'] {
  if (authorization === undefined) return 'none'
  const [, token] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  return token !== undefined && isAdminToken(token, adminToken) ? 'right' : 'wrong'
}

/** In constant time, whatever the lengths: both sides are hashed first. */
export function isAdminToken(given: string, adminToken: Secret): boolean {
  return timingSafeEqual(sha256(given), sha256(adminToken.reveal()))
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
