import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { EndpointText, NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { type EndpointDeps, type SentCode, TokenEndpoint } from '../../src/tokens/endpoint/token-endpoint.ts'
import { logLines } from './log-lines.ts'

/** A daemon's door to the token endpoint, wide open unless a test says otherwise. */
export function openEndpoint(store: Store, keys: Keys, clock: Clock, more: Partial<EndpointDeps> = {}): TokenEndpoint {
  return new TokenEndpoint({
    text: new EndpointText(store, keys),
    announce: async () => NO_ALERT_WRITES,
    alerted: async () => {},
    clock,
    log: logLines().log,
    ...more,
  })
}

/** A door that lets every code through at once, or none. */
export class CodeDoor {
  closedUntil: number | undefined

  async sendCode<S>(send: () => Promise<S>): Promise<SentCode<S>> {
    if (this.closedUntil !== undefined) return { is: 'closed', until: this.closedUntil }
    return { is: 'sent', ...(await send()) }
  }
}
