import type { Config } from '../../config/schema.ts'
import { pollAnnouncer } from '../alerts/poll-alert.ts'
import { tokenAnnouncer } from '../alerts/token-alert.ts'

/** Where an account's page is. */
export function pageOf(config: Config): (hubId: number) => string {
  return (hubId) => `${config.http.publicUrl}/accounts/${hubId}`
}

/** Alerts about an account's tokens and its uninstall. */
export function announcer(config: Config) {
  const installPage = `${config.http.publicUrl}/install`
  return tokenAnnouncer({ installPage, pageOf: pageOf(config) })
}

export function scopesAnnouncer(config: Config) {
  const { scopes, optionalScopes } = config.provider
  const installPage = `${config.http.publicUrl}/install`
  return pollAnnouncer({ scopes: [...scopes, ...optionalScopes], installPage, pageOf: pageOf(config) })
}
