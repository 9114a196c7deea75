import { Movement } from '../../src/heartbeat/movement.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { InFlight } from '../../src/runtime/concurrency.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { Unstored } from '../../src/tokens/unstored.ts'

/** What jobs of one process share: where tokens are stored, and what the process has in hand; nothing is ever sealed. */
export function servicesOf(store: Store, keys: Keys, places = 64) {
  return {
    tokens: new TokenStore(store, keys),
    unstored: new Unstored(() => {}),
    repair: async () => {},
    movement: new Movement(systemClock),
    inFlight: new InFlight(places),
  }
}
