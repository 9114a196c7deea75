import { resolve } from 'node:path'
import { Courier } from '../tokens/courier/courier.ts'
import { redeemAndStore } from '../tokens/redeem.ts'
import { TokenStore } from '../tokens/token-store.ts'
import { encryptionKeys } from './encryption-keys.ts'
import type { Lasting } from './lasting.ts'
import { observeCalls } from './observe-calls.ts'
import { type Parts, providerOptions } from './parts.ts'

/** Not started yet: with a provider that doesn't rotate refresh tokens it never is. */
export function createCourier(parts: Parts, { unstored, inFlight }: Lasting, daemon: string): Courier {
  const { config, address, store, keys, clock, log } = parts
  const here = { ...parts, tokens: new TokenStore(store, keys), settings: config.tokens, unstored, inFlight }
  return new Courier({
    settings: {
      daemon,
      provider: providerOptions(config),
      redis: address,
      dataDir: resolve(config.dataDir),
      prefix: config.redis.prefix,
      keys: encryptionKeys(config).keys,
      refresh: config.tokens,
      logLevel: config.log.level,
    },
    unstored,
    redeemHere: (job, lease) => redeemAndStore(here, job, lease),
    observe: observeCalls(parts.metrics),
    clock,
    log,
  })
}
