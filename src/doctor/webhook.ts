import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { networkFailure } from '../delivery/network-failure.ts'
import type { Secret } from '../runtime/secret.ts'
import { type Finding, fail, ok } from './finding.ts'

/** Connects as a delivery would, and hangs up: nothing is posted. */
export async function checkWebhook(receiver: string, { url }: { url: Secret }, signal: AbortSignal): Promise<Finding> {
  const name = `receiver.${receiver}`
  const { protocol, hostname, host, port } = new URL(url.reveal())
  const isTls = protocol === 'https:'
  const bare = hostname.replace(/^\[|\]$/g, '')
  const address = { host: bare, port: port === '' ? (isTls ? 443 : 80) : Number(port) }
  const socket: Socket = isTls
    ? connectTls({ ...address, ...(isIP(bare) === 0 && { servername: bare }) })
    : connectTcp(address)
  const hangUp = () => socket.destroy(new Error('no answer in time'))
  signal.addEventListener('abort', hangUp, { once: true })
  try {
    await once(socket, isTls ? 'secureConnect' : 'connect')
    return ok(name, `${host} takes ${isTls ? 'TLS ' : ''}connections`)
  } catch (error) {
    const fix = `check receivers.${receiver}.url, and that a firewall lets this machine connect to it`
    return fail(name, `${host}: ${networkFailure(error)}`, fix)
  } finally {
    signal.removeEventListener('abort', hangUp)
    socket.destroy()
  }
}
