import { isIP } from 'node:net'

/** `host:port` as two values; the host of an IPv6 address without its brackets. */
export interface HostPort {
  readonly host: string
  readonly port: number
}

export function parseHostPort(text: string): HostPort | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9_.-]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  return host === undefined || port > 65_535 ? undefined : { host, port }
}

export function formatHostPort({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Addresses that never leave this machine: there is no way to listen in, so plain text is fine there. */
export function isThisMachine(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '')
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)
}

/** The address, if it would carry what it is used for over a network in plain text. */
export function isPlainHttpElsewhere(address: string): boolean {
  const url = URL.parse(address)
  return url !== null && url.protocol === 'http:' && !isThisMachine(url.hostname)
}

/** An address without what may be secret in it: who signs in, and everything after the host. */
export function maskAddress(address: string, { keepPath = false } = {}): string {
  const url = URL.parse(address)
  if (url === null || url.host === '') return '[secret]'
  const user = url.username === '' && url.password === '' ? '' : '[secret]@'
  const rest = `${url.pathname}${url.search}${url.hash}`
  const path = keepPath && url.search === '' && url.hash === '' ? url.pathname : rest.length > 1 ? '/[secret]' : ''
  return `${url.protocol}//${user}${url.host}${path}`
}

/** The fault of an address or a network (`10.0.0.0/8`) whose members are to be trusted, if any. */
export function faultOfNetwork(text: string): string | undefined {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) {
    return 'must be an address or a network, like 127.0.0.1, 10.0.0.0/8 or fd00::/8'
  }
  if (address.includes('%')) return 'must be an address without %'
  // A socket that takes both reads an IPv4 address as such: a network in this spelling would have no member.
  if (/^::ffff:/i.test(address)) return 'must be written as IPv4'
  const most = version === 4 ? 32 : 128
  if (bits === undefined) return undefined
  if (Number(bits) > most) return `must have at most ${most} bits behind /`
  return Number(bits) < LEAST_BITS ? `must have at least ${LEAST_BITS} bits behind /: name the proxies` : undefined
}

/** A larger network has other people's machines in it: `0.0.0.0/0` trusts all of them. */
const LEAST_BITS = 8
