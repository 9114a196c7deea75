import { ASSETS } from '../assets/serve-assets.ts'
import { BRAND_LOGO, BRAND_STYLE } from '../brand.ts'
import { type AdminToken, ownerOf } from './admin-tokens.ts'
import { type NeededScope, SCOPES, type Scope } from './scopes.ts'

/** Routes of customers: the pages there, and their errors, are written for them. */
const OF_CUSTOMERS: ReadonlySet<string> = new Set(['/install', '/oauth/callback'])

const ASSET_ROUTES: ReadonlySet<string> = new Set([...Object.keys(ASSETS), BRAND_LOGO, BRAND_STYLE])

/** The routes that ask for no token: `/acknowledge` is a signed link. Matched by the route that was found, never by the text of the address. */
const OPEN_ROUTES: ReadonlySet<string> = new Set([...OF_CUSTOMERS, '/sign-in', '/acknowledge', ...ASSET_ROUTES])

/** Open too, with less in the answer: details may name accounts and receivers. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

const METRICS = '/metrics'

/** Answered even before the data and the keys are checked. */
export const NEEDS_NO_DATA: ReadonlySet<string> = new Set([...ASSET_ROUTES, ...PROBES, METRICS])

/** The audit names people and addresses: more than a read. */
const AUDIT_PAGE = '/audit'

/** A form of a page that needs no `write`: it ends the caller's own session. */
const SIGN_OUT = '/sign-out'

/**
 * The kind of a request: `probe` is open and shows more to a reader, `page` reads one, `action` is a form that was sent from
 * one, the rest is for programs.
 */
export type Area = 'open' | 'probe' | 'page' | 'audit-page' | 'action' | NeededScope

export type GuardedArea = Exclude<Area, 'open' | 'probe'>

interface Requested {
  /** Undefined where the address leads nowhere. */
  route: string | undefined
  method: string
  address: string
  /** The scope that an operation of the API needs. */
  scope?: NeededScope | undefined
}

/** Every route that is not known to be open is protected, an address without a route too. */
export function areaOf({ route, method, address, scope }: Requested, openMetrics: boolean): Area {
  if (route !== undefined && OPEN_ROUTES.has(route)) return 'open'
  if (route !== undefined && PROBES.has(route)) return 'probe'
  if (scope !== undefined) return scope
  if (route === AUDIT_PAGE) return 'audit-page'
  if (route === METRICS) return openMetrics ? 'open' : 'read'
  // By the route where there is one: an address may also be written out in full, host and all.
  const looks = method === 'GET' || method === 'HEAD'
  if (isApi(route ?? address)) return looks || method === 'OPTIONS' ? 'read' : 'write'
  return looks || route === SIGN_OUT ? 'page' : 'action'
}

export function isApi(address: string): boolean {
  return address.startsWith('/api/')
}

/** By the route where there is one: an address may be written with escapes, or in full, and mean the same. */
export function isForApi({ route, url }: { route: string | undefined; url: string }): boolean {
  return isApi(route ?? url)
}

export function isForCustomer({ route }: { route: string | undefined }): boolean {
  return route !== undefined && OF_CUSTOMERS.has(route)
}

export interface Credentials {
  /** Scopes of the token in the request's header. */
  bearer: 'none' | 'wrong' | readonly Scope[]
  /** Scopes of the token behind the session cookie, if the session is good. */
  session: 'none' | readonly Scope[]
  /** Scopes of the person whom a trusted proxy named. */
  person: 'none' | readonly Scope[]
  /** False where a page of a stranger may have sent it: else a page of ours did, or no browser. */
  isFromHere: boolean
}

export type Verdict =
  | 'allowed'
  | 'sign-in'
  | 'unauthorized'
  /** Right, but not for this. */
  | 'missing-scope'
  /**
   * A cookie comes along with a request from any page: over the API it changes nothing and gets no
   * token. A form of ours proves with a token of its own that it was ours.
   */
  | 'bearer-only'
  /** By a person's browser, which the proxy signs in for any page: over the API the same holds. */
  | 'from-elsewhere'

/** The scopes that an area asks of a token. */
export function scopesFor(area: GuardedArea): readonly Scope[] {
  if (area === 'admin') return SCOPES
  if (area === 'action') return ['write']
  if (area === 'audit-page') return ['audit']
  return [area === 'page' ? 'read' : area]
}

function hasScopes(given: readonly Scope[], area: GuardedArea): boolean {
  return scopesFor(area).every((scope) => given.includes(scope))
}

/** Areas that change something, or hand out a secret. */
const CHANGES: ReadonlySet<Area> = new Set(['write', 'tokens', 'admin'])

export function judgeAccess(area: GuardedArea, { bearer, session, person, isFromHere }: Credentials): Verdict {
  if (typeof bearer === 'object') return hasScopes(bearer, area) ? 'allowed' : 'missing-scope'
  if (bearer === 'none' && typeof person === 'object') {
    if (!hasScopes(person, area)) return 'missing-scope'
    return isFromHere || !CHANGES.has(area) ? 'allowed' : 'from-elsewhere'
  }
  // A wrong token is refused, even where a cookie would do: its sender must notice.
  const known = bearer === 'none' && typeof session === 'object' && session.includes('read')
  const isOfPage = area === 'page' || area === 'audit-page' || area === 'action'
  if (!known) return isOfPage ? 'sign-in' : 'unauthorized'
  // Another page's script may send a request that changes nothing, and sees no answer.
  if (CHANGES.has(area)) return 'bearer-only'
  return hasScopes(session, area) ? 'allowed' : 'missing-scope'
}

/** Finds the token that was sent. */
export function readBearer<T extends AdminToken>(
  authorization: string | undefined,
  tokens: readonly T[],
): 'none' | 'wrong' | T {
  if (authorization === undefined) return 'none'
  const [, token] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  return (token === undefined ? undefined : ownerOf(token, tokens)) ?? 'wrong'
}
