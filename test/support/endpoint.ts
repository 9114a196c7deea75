import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { EndpointStore } from '../../src/tokens/endpoint/endpoint-store.ts'
import { type EndpointDeps, TokenEndpoint } from '../../src/tokens/endpoint/token-endpoint.ts'
import { logLines } from './log-lines.ts'

/** A daemon's door to the token endpoint, wide open unless a test says otherwise. */
export function openEndpoint(store: Store, keys: Keys, clock: Clock, more: Partial<EndpointDeps> = {}): TokenEndpoint {
  return new TokenEndpoint({
    store: new EndpointStore(store, keys),
    settings: { mostPerSecond: 1_000, errorCeiling: 0.05 },
    announce: { fleet: (_trouble, _is, stored) => ({ writes: NO_ALERT_WRITES, stored }) },
    skewMs: () => undefined,
    alerted: async () => {},
    clock,
    log: logLines().log,
    ...more,
  })
}
