import { once } from 'node:events'
import { connect as connectTcp, isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { networkFailure } from '../../runtime/network-failure.ts'
import { failureThrough, nameOfProxy, type OutgoingProxy, refusalOfProxy } from '../../runtime/outgoing-proxy.ts'
import type { Secret } from '../../runtime/secret.ts'
import { secretOf } from './http-post.ts'
import type { Reach, Reached } from './receiver-kind.ts'

/** Connects as a delivery would, and hangs up: nothing is posted. */
export async function reachAddress(
  { url }: { url: Secret | string },
  { place, signal, proxyFor }: Reach,
): Promise<Reached> {
  const address = new URL(secretOf(url).reveal())
  const { host } = address
  const proxy = proxyFor?.(address)
  const failed = (why: string): Reached => {
    const fix = `check ${place}.url, and that a firewall lets this machine connect to it`
    return { is: 'failed', host, why, fix }
  }
  try {
    if (proxy === undefined) {
      await connectOnce(address, signal)
      return { is: 'ok', host, result: resultOf(address) }
    }
    if (address.protocol === 'http:') {
      await connectOnce(new URL(proxy.address), signal)
      return { is: 'ok', host, result: `only the proxy ${nameOfProxy(proxy)} was tried` }
    }
    const refused = await connectThrough(proxy, address, signal)
    if (refused !== undefined) return failed(refusalOfProxy(proxy, refused))
    return { is: 'ok', host, result: `${resultOf(address)} through the proxy ${nameOfProxy(proxy)}` }
  } catch (error) {
    return failed(failureThrough(proxy, error, networkFailure(error)))
  }
}

function resultOf({ protocol }: URL): string {
  return `${protocol === 'https:' ? 'TLS ' : ''}connection OK`
}

/** Returns the status with which the proxy refuses. */
async function connectThrough(
  { address: proxy, login }: OutgoingProxy,
  address: URL,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { Client } = await import('undici')
  const client = new Client(proxy, { allowH2: false })
  try {
    const { statusCode, socket } = await client.connect({
      path: `${address.hostname}:${address.port || '443'}`,
      headers: { host: address.host, ...(login !== undefined && { 'proxy-authorization': login.reveal() }) },
      signal,
    })
    if (statusCode === 200) await connectOnce(address, signal, socket)
    socket.on('error', () => {}).destroy()
    return statusCode === 200 ? undefined : statusCode
  } finally {
    await client.destroy()
  }
}

/** `tunnel`: the connection to use in place of one of its own. */
async function connectOnce({ protocol, hostname, port }: URL, signal: AbortSignal, tunnel?: Duplex): Promise<void> {
  const isTls = protocol === 'https:'
  const bare = hostname.replace(/^\[|\]$/g, '')
  const address = { host: bare, port: port === '' ? (isTls ? 443 : 80) : Number(port) }
  const named = { ...address, ...(isIP(bare) === 0 && { servername: bare }) }
  const socket = isTls ? connectTls(tunnel === undefined ? named : { ...named, socket: tunnel }) : connectTcp(address)
  const hangUp = () => socket.destroy(new Error('no answer in time'))
  signal.addEventListener('abort', hangUp, { once: true })
  try {
    await once(socket, isTls ? 'secureConnect' : 'connect')
  } finally {
    signal.removeEventListener('abort', hangUp)
    socket.destroy()
  }
}
