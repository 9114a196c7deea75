import type { Config } from '../../config/schema.ts'
import { AckLinks } from '../alerts/acknowledge/ack-links.ts'
import type { Alert } from '../alerts/alert.ts'
import { alertOfTransition } from '../alerts/alert.ts'
import { NOBODY } from '../redis/steps.ts'
import type { Vault } from '../tokens/vault.ts'

export function ackLinks(vault: Vault, config: () => Config): AckLinks {
  return new AckLinks(
    () => vault.deriveEach('acknowledge'),
    () => config().alerts.acknowledgeFor,
  )
}

/** Where the alert of a message is acknowledged; undefined for what can't be: it is over, or was never open. */
export function ackUrls(vault: Vault, config: Config): (alert: Alert, now: number) => string | undefined {
  const links = ackLinks(vault, () => config)
  return ({ id, kind, status, account }, now) => {
    if (status !== 'firing' || kind === 'test' || kind === 'limit-changed') return undefined
    const linked = { hubId: account?.hubId ?? NOBODY, alertId: alertOfTransition(id) }
    return `${config.http.publicUrl}${links.pathTo(linked, now)}`
  }
}
