import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { mailEncryption } from '../../config/receivers.ts'
import type { Config } from '../../config/schema.ts'
import { verifyLogin } from '../delivery/email/send-email.ts'
import { networkFailure } from '../delivery/network-failure.ts'
import { judgeReceiver, ReceiverStore } from '../delivery/receiver-health.ts'
import type { Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Secret } from '../runtime/secret.ts'
import { type Finding, fail, ok, type RedisConnection, warn } from './check.ts'

const TIMEOUT_MS = 4_000

/** Whether messages could be delivered there just now; nothing is sent. */
export function checkReceiver(
  name: string,
  receiver: Config['receivers'][string],
  signal: AbortSignal,
): Promise<Finding> {
  switch (receiver.type) {
    case 'email':
      return checkMailServer(name, receiver)
    case 'webhook':
      return checkWebhook(name, receiver, signal)
  }
}

/** Logs in as a mail would; nothing is sent. */
export async function checkMailServer(receiver: string, mail: { smtp: Secret; insecure: boolean }): Promise<Finding> {
  const name = `receiver.${receiver}`
  const { host } = new URL(mail.smtp.reveal())
  const tls = mailEncryption(mail)
  const failure = await verifyLogin({ name: receiver, smtp: mail.smtp, tls, timeoutMs: TIMEOUT_MS })
  if (failure === undefined) return ok(name, `${host} takes the login`)
  const fix = `check user, password, host and port in receivers.${receiver}.smtp`
  return fail(name, `${host}: ${failure}`, fix)
}

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

const DELIVERIES = 'deliveries'

/** How the receivers have fared with what the daemon sent them. */
export async function checkReceivers(
  redis: RedisConnection,
  keys: Keys,
  unprovenAfterMs: number | 'never',
  clock: Clock,
): Promise<Finding[]> {
  const healths = await redis.store.then((store) => new ReceiverStore(store, keys).read()).catch(() => undefined)
  if (healths === undefined) return [warn(DELIVERIES, 'not known: Redis does not answer')]
  const troubles = healths.flatMap((health) => judgeReceiver(health, { unprovenAfterMs }, clock.now()) ?? [])
  if (troubles.length > 0) return troubles.map(({ message }) => warn(DELIVERIES, message))
  return [ok(DELIVERIES, healths.length === 0 ? 'nothing was sent so far' : 'no receiver is known to fail')]
}
