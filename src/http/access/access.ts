import { ASSETS } from '../assets/serve-assets.ts'
import { type AdminToken, ownerOf, type Scope } from './admin-token.ts'

/** The routes that ask for nothing. Looked up by the route that was found, never by the text of the address. */
const OPEN_ROUTES: ReadonlySet<string> = new Set([
  '/install',
  '/oauth/callback',
  '/healthz',
  '/readyz',
  '/metrics',
  '/sign-in',
  // By a signed link.
  '/acknowledge',
  ...Object.keys(ASSETS),
])

/** An account's access token: more than a read, whatever the method. */
const TOKEN_ROUTE = '/api/v1/accounts/:hubId/token'

/** What a request is for: all but `open` and `page` are the API's. */
export type Area = 'open' | 'page' | 'read' | 'tokens' | 'write'

/** Whatever is not known to be open is protected, an address without a route too. */
export function areaOf(route: string | undefined, method: string, address: string): Area {
  if (route !== undefined && OPEN_ROUTES.has(route)) return 'open'
  if (route === TOKEN_ROUTE) return 'tokens'
  // By the route where there is one: an address may also be written out in full, host and all.
  if (!isApi(route ?? address)) return 'page'
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'read' : 'write'
}

export function isApi(address: string): boolean {
  return /^\/api([/?]|$)/.test(address)
}

export interface Credentials {
  /** Whether there is an admin token at all. */
  guarded: boolean
  /** What the token that was sent may do. */
  bearer: 'none' | 'wrong' | readonly Scope[]
  /** A session cookie that is good, of a token that may read. */
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
  /** Right, but not for this. */
  | 'missing-scope'
  /** A cookie comes along with whatever page makes the browser send a request: it changes nothing, it gets no token. */
  | 'bearer-only'
  | 'this-machine-only'
  | 'not-from-a-page'

/** What a token must be allowed to do. */
export function scopeFor(area: Exclude<Area, 'open'>): Scope {
  return area === 'page' ? 'read' : area
}

export function judgeAccess(area: Area, credentials: Credentials): Verdict {
  if (area === 'open') return 'allowed'
  return credentials.guarded ? judgeGuarded(area, credentials) : judgeUnguarded(area, credentials)
}

function judgeGuarded(area: Exclude<Area, 'open'>, { bearer, session }: Credentials): Verdict {
  if (typeof bearer === 'object') return bearer.includes(scopeFor(area)) ? 'allowed' : 'missing-scope'
  // A wrong token is told, even where a cookie would do: whoever sent it wants to know.
  if (area === 'page') return session && bearer === 'none' ? 'allowed' : 'sign-in'
  if (bearer === 'wrong' || !session) return 'unauthorized'
  return area === 'read' ? 'allowed' : 'bearer-only'
}

function judgeUnguarded(area: Area, { direct, fromPage }: Credentials): Verdict {
  if (!direct) return 'this-machine-only'
  return area !== 'read' && area !== 'page' && fromPage ? 'not-from-a-page' : 'allowed'
}

/** Whose token was sent. */
export function readBearer<T extends AdminToken>(
  authorization: string | undefined,
  tokens: readonly T[],
): 'none' | 'wrong' | T {
  if (authorization === undefined) return 'none'
  const [, token] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  return (token === undefined ? undefined : ownerOf(token, tokens)) ?? 'wrong'
}
