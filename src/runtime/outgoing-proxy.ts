import type { Dispatcher, Pool, ProxyAgent } from 'undici'
import { Secret } from './secret.ts'
import { splitCredentials } from './url-credentials.ts'

/** A proxy that calls go through. */
export interface OutgoingProxy {
  /** The environment variable that names it. */
  variable: string
  /** Without user and password. */
  address: string
  /** Value of the header `proxy-authorization`. */
  login: Secret | undefined
}

/** The proxy for an address; undefined: it is reached directly. Throws if the variable does not name a proxy. */
export type ProxyFor = (address: URL) => OutgoingProxy | undefined

export type ProxyVariables = Readonly<Record<string, string | undefined>>

const HTTP = ['http_proxy', 'HTTP_PROXY']
const HTTPS = ['https_proxy', 'HTTPS_PROXY', ...HTTP]

/** The rules of undici's EnvHttpProxyAgent, which decides only while it sends: `doctor` and error messages name the proxy too. */
export function proxyIn(env: ProxyVariables, address: URL): OutgoingProxy | undefined {
  const variable = (address.protocol === 'https:' ? HTTPS : HTTP).find((name) => isSet(env[name]))
  if (variable === undefined || isExempt(address, env.no_proxy || env.NO_PROXY || '')) return undefined
  return readProxy(variable, env[variable] ?? '')
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}

/** `host`, `[IPv6]` or `IPv6`, with a port or without one. */
const EXEMPT = /^(?:\[(?<bracketed>.+)\]|(?<name>[^:]*)|(?<ipv6>.*:.*:.*))(?::(?<port>\d+))?$/

/** A name stands for its subdomains too, `*.name` for those alone, `*` for all. */
function isExempt({ protocol, hostname, port }: URL, noProxy: string): boolean {
  const host = hostname.replace(/^\[(.+)\]$/, '$1').replace(/\.$/, '')
  const portOfHost = port || (protocol === 'https:' ? '443' : '80')
  return noProxy.split(/[\s,]+/).some((entry) => {
    const { bracketed, name, ipv6, port } = EXEMPT.exec(entry.toLowerCase())?.groups ?? {}
    const given = bracketed ?? name ?? ipv6 ?? ''
    if (given === '' || (port !== undefined && port !== portOfHost)) return false
    const domain = given.replace(/^\*?\./, '').replace(/\.$/, '')
    return given === '*' || host.endsWith(`.${domain}`) || (host === domain && !given.startsWith('*'))
  })
}

function readProxy(variable: string, value: string): OutgoingProxy {
  const parts = splitCredentials(new Secret(value.includes('://') ? value : `http://${value}`))
  // A bare / or # in the password would begin the path.
  if (parts === null || !/^https?:$/.test(parts.url.protocol) || parts.url.href !== `${parts.url.origin}/`) {
    throw new Error(
      `${variable} must be http://host:port, with user:password@ before the host for a login; write / # ? @ of the password as %2F %23 %3F %40`,
    )
  }
  const { url, user, password } = parts
  const hasLogin = user !== '' || password !== ''
  const login = hasLogin ? `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` : undefined
  return { variable, address: url.origin, login: login === undefined ? undefined : new Secret(login) }
}

/** "http://proxy:3128 (HTTPS_PROXY, with a login)" */
export function nameOfProxy({ variable, address, login }: OutgoingProxy): string {
  return `${address} (${variable}${login === undefined ? '' : ', with a login'})`
}

/** undici's words for an answer of the proxy itself: to CONNECT, and to a request that it should have passed on. */
const OWN_ANSWER = /^Proxy response \((\d+)\)|^Proxy Authentication Required \((407)\)/

/** Why a call failed, where it went through a proxy; `words`: the same without one. */
export function failureThrough(proxy: OutgoingProxy | undefined, error: unknown, words: string): string {
  if (proxy === undefined) return words
  const [, connect, forward] = OWN_ANSWER.exec(error instanceof Error ? error.message : '') ?? []
  const status = connect ?? forward
  return status === undefined ? `${words}, through the proxy ${proxy.address}` : refusalOfProxy(proxy, Number(status))
}

/** An answer of the proxy itself, in words. */
export function refusalOfProxy({ variable, address, login }: OutgoingProxy, status: number): string {
  if (status !== 407) return `the proxy ${address} refuses to connect (${status})`
  return login === undefined
    ? `the proxy wants a login (407): put user and password into ${variable}`
    : `the proxy refuses the login (407): correct user and password in ${variable}`
}

interface Undici {
  Pool: typeof Pool
  ProxyAgent: typeof ProxyAgent
}

/** Connections through a proxy. `timeoutMs` bounds the CONNECT too: one without an answer would hold its connection for minutes. */
export function openThrough(
  { Pool, ProxyAgent }: Undici,
  { address, login }: OutgoingProxy,
  { timeoutMs, ...options }: Pool.Options & { timeoutMs: number },
): Dispatcher {
  return new ProxyAgent({
    ...options,
    uri: address,
    ...(login !== undefined && { token: login.reveal() }),
    allowH2: false,
    connectTimeout: timeoutMs,
    proxyTls: { allowH2: false },
    clientFactory: (origin, given) => new Pool(origin, { ...given, headersTimeout: timeoutMs }),
    // For http: undici makes it without the options.
    factory: (origin, given) => new Pool(origin, { ...options, ...given }),
  })
}
