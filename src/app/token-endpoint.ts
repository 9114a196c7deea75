import { hostname } from 'node:os'
import type { Config } from '../../config/schema.ts'
import { endpointAnnouncer, fleetAnnouncer } from '../alerts/kinds/fleet-alert.ts'
import { endpointText } from '../redis/shared-text.ts'
import type { EndpointSettings } from '../tokens/endpoint/state.ts'
import { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { wakeNow } from './account-actions.ts'
import { live } from './live.ts'
import type { Parts } from './parts.ts'

/** The daemon's door to the provider's token endpoint. */
export function openEndpoint(parts: Parts, config: () => Config): TokenEndpoint {
  const { store, keys, clock, log } = parts
  return new TokenEndpoint({
    text: endpointText(store, keys),
    settings: live(() => endpointSettings(config())),
    announce: (...change) =>
      endpointAnnouncer(store, keys, fleetAnnouncements(config()), (now) => parts.due.nearestExpiry(now))(...change),
    skewMs: () => parts.provider.skewMs(),
    machine: hostname(),
    alerted: async () => {
      await Promise.all(wakeNow(parts, 'alerts'))
    },
    clock,
    log,
  })
}

/** Alerts about what hits many accounts at once. */
export function fleetAnnouncements({ alerts, http }: Config) {
  return fleetAnnouncer({ repeatEveryMs: alerts.repeatEvery, page: `${http.publicUrl}/` })
}

function endpointSettings({ provider: { tokenRate, errorCeiling } }: Config): EndpointSettings {
  return { mostPerSecond: (tokenRate.requests * 1_000) / tokenRate.per, errorCeiling }
}
