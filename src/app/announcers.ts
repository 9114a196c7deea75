import type { Config } from '../../config/schema/schema.ts'
import { deliveryAnnouncer } from '../alerts/kinds/delivery-alert.ts'
import { fleetAnnouncer } from '../alerts/kinds/fleet-alert.ts'
import { closeAlerts } from '../alerts/kinds/notified-alert.ts'
import { grantAnnouncer, pollAnnouncer, unreadableAnnouncer } from '../alerts/kinds/poll-alert.ts'
import { tokenAnnouncer } from '../alerts/kinds/token-alert.ts'
import { opensLimits } from '../provider/dialects.ts'
import { pageOf } from './settings.ts'

/** The announcers of an account's alerts, by the config: one for each kind. */
export function announcers(config: Config) {
  const { scopes, optionalScopes } = config.provider
  const repeatEveryMs = config.alerts.repeatEvery
  const page = pageOf(config)
  const grant = { scopes: [...scopes, ...optionalScopes], pageOf: page }
  return {
    /** An account's tokens, and its uninstall. */
    announce: tokenAnnouncer({ pageOf: page }),
    announceScopes: grantAnnouncer(grant),
    /** Announces why an account's limits are not read. */
    announcePoll: pollAnnouncer({ ...grant, opensLimits: opensLimits(grant.scopes), repeatEveryMs }),
    announceUnreadable: unreadableAnnouncer({ pageOf: page }),
    announceDelivery: deliveryAnnouncer({ repeatEveryMs, page: `${config.http.publicUrl}/deliveries` }),
    announceFleet: fleetAnnouncements(config),
    closeAlerts: closeAlerts.bind(undefined, page),
  }
}

/** Alerts about what hits many accounts at once. */
export function fleetAnnouncements({ alerts, http }: Config) {
  return fleetAnnouncer({ repeatEveryMs: alerts.repeatEvery, page: `${http.publicUrl}/` })
}
