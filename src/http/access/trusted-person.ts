import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { cleanText } from '../../text/clean-text.ts'
import type { Scope } from './scopes.ts'

/** Headers in which a proxy names the person who is signed in there (`http.trustedUserHeader` and its group). */
export interface TrustedHeaders {
  userHeader: string
  /** Addresses and networks of the proxies that set it. */
  proxies: readonly string[]
  /** Undefined: each person may do what `EACH_PERSON` has. */
  groupsHeader: string | undefined
  groupsSeparator: string
  groups: Readonly<Record<string, readonly Scope[]>>
}

/** Scopes of each person, where no groups narrow them: an access token of a customer is for programs with a name. */
const EACH_PERSON: readonly Scope[] = ['read', 'write', 'audit']
const LONGEST_NAME = 100

export interface Person {
  name: string
  scopes: readonly Scope[]
  /** Text of the header of groups; undefined where groups don't count. */
  groups: string | undefined
}

/** Why a request with the header has no person by it. */
export type RefusedClaim =
  | 'not from a trusted proxy'
  | 'given more than once'
  | 'no name on one line without commas'
  /** A page whose name leads here sends the request: its browser is not at `publicUrl`, but the proxy's address is trusted. */
  | 'for another host than http.publicUrl'
  | 'from a page of another site'

export type Claim = { is: 'none' } | { is: 'person'; person: Person } | { is: 'refused'; why: RefusedClaim }

interface Asking {
  /** Address of the machine that is connected. */
  peer: string | undefined
  /** Headers of the request: an untrusted user or group header is removed from them. */
  headers: IncomingHttpHeaders
  /** Headers in the order sent: names and values in turns. Duplicates are joined into one value elsewhere. */
  rawHeaders: readonly string[]
}

const NOBODY_CLAIMED: Claim = { is: 'none' }

/**
 * Reads the person of a request to `publicUrl`. It trusts a proxy by the address of the socket: any client can write X-Forwarded-For. A header
 * that came twice was added to by its sender: a proxy that appends instead of replacing lets any caller in.
 */
export function createPersonReader(settings: TrustedHeaders | undefined, publicUrl: string): (asking: Asking) => Claim {
  if (settings === undefined) return () => NOBODY_CLAIMED
  const { groups, userHeader, groupsHeader, groupsSeparator } = settings
  const { protocol, host, origin } = new URL(publicUrl)
  const names = [userHeader, groupsHeader].flatMap((name) => name?.toLowerCase() ?? [])
  const isProxy = proxiesOf(settings.proxies)
  return ({ peer, headers, rawHeaders }) => {
    const [users = [], groupTexts = []] = names.map((name) => valuesOf(rawHeaders, name))
    if (users.length === 0 && groupTexts.length === 0) return NOBODY_CLAIMED
    const claim = isProxy(peer) ? personOf(users, groupTexts, headers) : refused('not from a trusted proxy')
    if (claim.is !== 'person') for (const name of names) delete headers[name]
    return claim
  }

  function personOf(users: readonly string[], groupTexts: readonly string[], headers: IncomingHttpHeaders): Claim {
    if (users.length > 1 || groupTexts.length > 1) return refused('given more than once')
    const [text = ''] = users
    // A proxy sets it empty where no person is signed in.
    if (text.trim() === '') return NOBODY_CLAIMED
    const name = nameOf(text)
    if (name === undefined) return refused('no name on one line without commas')
    if (URL.parse(`${protocol}//${headers.host ?? ''}`)?.host !== host)
      return refused('for another host than http.publicUrl')
    if (headers.origin !== undefined && URL.parse(headers.origin)?.origin !== origin)
      return refused('from a page of another site')
    if (groupsHeader === undefined) return { is: 'person', person: { name, scopes: EACH_PERSON, groups: undefined } }
    const given = decoded(groupTexts[0] ?? '') ?? ''
    return { is: 'person', person: { name, scopes: scopesOf(given), groups: given } }
  }

  function scopesOf(text: string): readonly Scope[] {
    const members = text.split(groupsSeparator).map((one) => one.trim())
    return [...new Set(members.flatMap((one) => (Object.hasOwn(groups, one) ? (groups[one] ?? []) : [])))]
  }
}

/** Longest list of groups that is shown: a directory may have thousands. */
const SHOWN_GROUPS = 500

/** Sentences on the groups that came with a person, and on those that have scopes; none where groups don't count. */
export function groupsOf(settings: TrustedHeaders | undefined, person: Person | undefined): string {
  if (settings?.groupsHeader === undefined) return ''
  const { groupsHeader, groupsSeparator, groups } = settings
  const came = cleanText(person?.groups ?? '', SHOWN_GROUPS)
  const known = cleanText(Object.keys(groups).join(', '), SHOWN_GROUPS)
  const given =
    came === '' ? 'came without groups' : `came with "${came}" (groups are separated by "${groupsSeparator}")`
  return ` ${groupsHeader} ${given}. Groups with scopes: ${known}.`
}

function refused(why: RefusedClaim): Claim {
  return { is: 'refused', why }
}

function valuesOf(rawHeaders: readonly string[], wanted: string): string[] {
  return rawHeaders.filter((_, n) => n % 2 === 1 && rawHeaders[n - 1]?.toLowerCase() === wanted)
}

/** Undefined for a name that could be read as another one: two that a proxy joined, or one with characters that hide. */
function nameOf(text: string): string | undefined {
  const name = decoded(text)?.trim()
  if (name === undefined || name.includes(',') || [...name].length > LONGEST_NAME) return undefined
  return cleanText(name, LONGEST_NAME) === name ? name : undefined
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** Node reads each byte of a header as a character; proxies send UTF-8. */
function decoded(text: string): string | undefined {
  try {
    return UTF8.decode(Buffer.from(text, 'latin1'))
  } catch {
    return undefined
  }
}

function proxiesOf(networks: readonly string[]): (peer: string | undefined) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (peer) => {
    // Without the zone of a link-local address; one of IPv4 as a socket for both shows it.
    const [address = ''] = (peer ?? '').replace(/^::ffff:(?=[\d.]+$)/i, '').split('%')
    if (isIPv4(address)) return list.check(address, 'ipv4')
    return isIPv6(address) && list.check(address, 'ipv6')
  }
}
