import { resolve } from 'node:path'
import { Courier } from '../tokens/courier/courier.ts'
import { redeemAndStore } from '../tokens/redeem.ts'
import { encryptionKeys } from './encryption-keys.ts'
import { observeCalls } from './observe-calls.ts'
import { type Parts, providerOptions } from './parts.ts'
import type { workerDeps } from './worker-deps.ts'

/** Not started yet: with a provider that doesn't rotate refresh tokens it never is. */
export function createCourier(parts: Parts, work: ReturnType<typeof workerDeps>, daemon: string): Courier {
  const { config, address, clock, log } = parts
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
    unstored: work.unstored,
    redeemHere: (job, lease) => redeemAndStore(work, job, lease),
    observe: observeCalls(parts.metrics),
    clock,
    log,
  })
}
