import type { Config } from '../../config/schema.ts'
import { fleetAnnouncer } from '../alerts/kinds/fleet-alert.ts'
import { EndpointStore } from '../tokens/endpoint/endpoint-store.ts'
import type { EndpointSettings } from '../tokens/endpoint/state.ts'
import { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { wakeNow } from './account-actions.ts'
import { live } from './live.ts'
import type { Parts } from './parts.ts'

/** The daemon's door to the provider's token endpoint. */
export function openEndpoint(parts: Parts, config: () => Config, skewMs: () => number | undefined): TokenEndpoint {
  const { store, keys, clock, log } = parts
  return new TokenEndpoint({
    store: new EndpointStore(store, keys),
    settings: live(() => endpointSettings(config())),
    announce: live(() => fleetAnnouncements(config())),
    skewMs,
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
