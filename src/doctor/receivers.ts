import type { Config } from '../../config/schema/schema.ts'
import { receiverKind } from '../delivery/receivers/all-receivers.ts'
import type { ProxyFor } from '../runtime/outgoing-proxy.ts'
import { type Finding, fail, ok } from './check.ts'

const TIMEOUT_MS = 4_000

/** Messages could be delivered there just now; nothing is sent. */
export async function checkReceiver(
  receiver: string,
  settings: Config['receivers'][string],
  home: string,
  signal: AbortSignal,
  proxyFor?: ProxyFor,
): Promise<Finding> {
  const name = `receiver.${receiver}`
  const how = { place: `receivers.${receiver}`, home, timeoutMs: TIMEOUT_MS, signal, proxyFor }
  const reached = await receiverKind(settings).reach(settings, how)
  const { host } = reached
  return reached.is === 'ok'
    ? ok(name, `${host}: ${reached.result}`)
    : fail(name, `${host}: ${reached.why}`, reached.fix)
}
