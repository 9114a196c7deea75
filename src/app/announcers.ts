import type { Config } from '../../config/schema.ts'
import { grantAnnouncer, pollAnnouncer } from '../alerts/kinds/poll-alert.ts'
import { tokenAnnouncer } from '../alerts/kinds/token-alert.ts'
import { opensLimits } from '../provider/dialects.ts'

/** Where an account's page is. */
export function pageOf(config: Config): (hubId: number) => string {
  return (hubId) => `${config.http.publicUrl}/accounts/${hubId}`
}

/** Alerts about an account's tokens and its uninstall. */
export function announcer(config: Config) {
  return tokenAnnouncer({ pageOf: pageOf(config) })
}

export function scopesAnnouncer(config: Config) {
  return grantAnnouncer(grantSettings(config))
}

/** The alert about what keeps an account's limits from being read. */
export function pollsAnnouncer(config: Config) {
  const grant = grantSettings(config)
  return pollAnnouncer({
    ...grant,
    opensLimits: opensLimits(grant.scopes),
    repeatEveryMs: config.alerts.repeatEvery,
  })
}

function grantSettings(config: Config) {
  const { scopes, optionalScopes } = config.provider
  const installPage = `${config.http.publicUrl}/install`
  return { scopes: [...scopes, ...optionalScopes], installPage, pageOf: pageOf(config) }
}
