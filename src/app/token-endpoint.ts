import { fleetAnnouncer } from '../alerts/kinds/fleet-alert.ts'
import { EndpointStore } from '../tokens/endpoint/endpoint-store.ts'
import { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { wakeNow } from './account-actions.ts'
import type { Parts } from './parts.ts'

/** The daemon's door to the provider's token endpoint. */
export function openEndpoint(parts: Parts, skewMs: () => number | undefined): TokenEndpoint {
  const { config, store, keys, clock, log } = parts
  const { tokenRate, errorCeiling } = config.provider
  return new TokenEndpoint({
    store: new EndpointStore(store, keys),
    settings: { mostPerSecond: (tokenRate.requests * 1_000) / tokenRate.per, errorCeiling },
    announce: fleetAnnouncer({ repeatEveryMs: config.alerts.repeatEvery, page: `${config.http.publicUrl}/` }),
    skewMs,
    alerted: async () => {
      await Promise.all(wakeNow(parts, 'alerts'))
    },
    clock,
    log,
  })
}
