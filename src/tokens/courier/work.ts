import { setTimeout as sleep } from 'node:timers/promises'
import { createProviderClient } from '../../provider/client.ts'
import type { ObservedCall } from '../../provider/observed-call.ts'
import { connectRedis } from '../../redis/connect.ts'
import { openEmbeddedRedis } from '../../redis/embedded.ts'
import { createKeys } from '../../redis/keys.ts'
import { systemClock } from '../../runtime/clock.ts'
import { InFlight } from '../../runtime/in-flight.ts'
import type { Logger } from '../../runtime/logger.ts'
import { Secret } from '../../runtime/secret.ts'
import { keepLease } from '../lease.ts'
import { type Redeemed, type RedeemJob, redeemAndStore } from '../redeem.ts'
import { TokenStore } from '../token-store.ts'
import { createVault } from '../vault.ts'
import { startWriterReports, type WriterReports } from '../writers.ts'
import type { CourierSettings, ToCourier } from './messages.ts'

/** What a courier does: with a provider client, a Redis connection and a vault of its own. */
export interface Work {
  redeem(job: RedeemJob): Promise<Redeemed>
  /** How far the provider's clock is ahead, ms. */
  skewMs(): number | undefined
  take(credentials: Extract<ToCourier, { is: 'credentials' }>): void
  /** The daemon is gone: nobody else says any more which key is encrypted with here. */
  outliveDaemon(): void
  close(): Promise<void>
}

export async function openWork(
  settings: CourierSettings,
  log: Logger,
  observe: (call: ObservedCall) => void,
): Promise<Work> {
  const { provider: options, redis, dataDir, prefix, refresh, daemon } = settings
  const vault = createVault(settings.keys)
  const provider = createProviderClient({ ...options, clock: systemClock, observe })
  // Its own claim on the private server, so that this is there, or started again, for as long as there is something to store.
  const embedded = redis.kind === 'embedded' ? await openEmbeddedRedis(dataDir, systemClock, log) : undefined
  const store = connectRedis(redis, 'steps', (error) => log.warn({ code: 'redis.error', err: error }, 'no Redis'))
  const keys = createKeys(prefix)
  const tokens = new TokenStore(store, keys)
  let reports: Promise<WriterReports> | undefined
  const deps = {
    ...{ provider, tokens, vault, settings: refresh, log, clock: systemClock },
    ...{ unstored: new Set<number>(), inFlight: new InFlight(options.connections) },
  }
  return {
    redeem: async (job) => {
      const lease = { key: tokens.leaseKey(job.hubId), owner: job.owner, ms: job.leaseMs }
      const askedAt = systemClock.now()
      // The job may have waited: for this process to start, for another one's end.
      if ((await store.renewLease(lease.key, lease.owner, lease.ms)) !== 1) return { is: 'too-late' }
      const kept = keepLease(store, systemClock, lease, askedAt)
      return redeemAndStore(deps, job, kept).finally(() => kept.end())
    },
    skewMs: () => provider.skewMs(),
    take: ({ keys: next, clientId, clientSecret }) => {
      vault.replace(next)
      provider.replaceApp({ clientId, clientSecret: new Secret(clientSecret) })
    },
    outliveDaemon: () => {
      reports = startWriterReports({ store, keys, vault, log }, daemon)
      reports.catch(() => undefined) // Redis is gone for good: whoever has something to store says so.
    },
    close: async () => {
      await Promise.race([reports?.then(({ stop }) => stop()), sleep(reports === undefined ? 0 : 500)])
      store.disconnect()
      await embedded?.close()
    },
  }
}
