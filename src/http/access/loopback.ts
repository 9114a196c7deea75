import type { IncomingHttpHeaders } from 'node:http'

export interface Origin {
  remoteAddress: string | undefined
  httpVersion: string
  headers: IncomingHttpHeaders
}

/** Headers by which a proxy gives itself away. */
const PROXY_HEADERS = /^(forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|true-client-ip|cf-connecting-ip)$/

/**
 * Whether somebody on this machine asks, and nobody through them. A loopback peer alone is no proof: a reverse proxy on
 * this machine is one too, and brings the whole world along; so is a browser here that a stranger's name led to us
 * (DNS rebinding), which is why the Host header must be of this machine as well. No browser or tool speaks HTTP/1.0 any
 * more, but a proxy with its settings untouched may, without any of the headers above.
 */
export function isDirectFromThisMachine({ remoteAddress, httpVersion, headers }: Origin): boolean {
  return (
    isLoopbackAddress(remoteAddress ?? '') &&
    isLoopbackHost(headers.host ?? '') &&
    httpVersion !== '1.0' &&
    !Object.keys(headers).some((name) => PROXY_HEADERS.test(name))
  )
}

function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(address)
}

function isLoopbackHost(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host)
}
