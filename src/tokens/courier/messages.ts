import type { AppIdentity, ProviderOptions } from '../../provider/client.ts'
import type { ObservedCall } from '../../provider/observed-call.ts'
import type { RedisAddress } from '../../redis/connect.ts'
import type { LogSettings } from '../../runtime/logger.ts'
import { Secret } from '../../runtime/secret.ts'
import type { RefreshSettings } from '../plan-refresh.ts'
import type { Redeemed, RedeemJob } from '../redeem.ts'
import type { VaultKey } from '../vault.ts'

/** What a courier must know to do its work. */
export interface CourierSettings {
  /** What the daemon is called where it says which key it encrypts with. */
  daemon: string
  provider: Omit<ProviderOptions, 'clock' | 'observe'>
  redis: RedisAddress
  /** Where an embedded Redis has its files. */
  dataDir: string
  prefix: string
  keys: readonly VaultKey[]
  refresh: RefreshSettings
  logLevel: LogSettings['level']
}

/** From the daemon to its courier; several at a time. The first one of all is `orders`. */
export type ToCourier =
  | { is: 'orders'; orders: Orders }
  | { is: 'credentials'; keys: readonly VaultKey[]; clientId: string; clientSecret: string }
  | { is: 'job'; id: number; job: RedeemJob }

/** From the courier to its daemon; several at a time. */
export type FromCourier =
  | { is: 'ready' }
  /** `skewMs`: how far the provider's clock is ahead, as the courier sees it. */
  | { is: 'redeemed'; id: number; redeemed: Redeemed; skewMs: number | undefined }
  | { is: 'broken'; id: number; message: string }
  /** A call to the provider has ended. */
  | { is: 'called'; call: ObservedCall }
  /** New credentials are in force. */
  | { is: 'taken' }
  /** A line of the log, as JSON. */
  | { is: 'log'; line: string }

/** The settings as they cross the channel, which nobody else can read: a `Secret` would arrive empty. */
export interface Orders extends Omit<CourierSettings, 'provider' | 'redis'> {
  provider: Omit<CourierSettings['provider'], 'clientSecret'>
  redis: RedisAddress
  clientSecret: string
  redisUrl: string
  redisPassword: string | undefined
}

export function ordersFrom(settings: CourierSettings): Orders {
  const { provider, redis } = settings
  const { clientSecret, ...rest } = provider
  return {
    ...{ ...settings, provider: rest, clientSecret: clientSecret.reveal() },
    redisUrl: redis.kind === 'url' ? redis.url.reveal() : '',
    redisPassword: redis.kind === 'embedded' ? undefined : redis.password?.reveal(),
  }
}

export function settingsFrom(orders: Orders): CourierSettings {
  const { clientSecret, redisUrl, redisPassword, provider, redis, ...rest } = orders
  return {
    ...rest,
    provider: { ...provider, clientSecret: new Secret(clientSecret) },
    redis: withSecrets(redis, redisUrl, redisPassword),
  }
}

function withSecrets(redis: RedisAddress, url: string, password: string | undefined): RedisAddress {
  if (redis.kind === 'embedded') return redis
  const access = password === undefined ? {} : { password: new Secret(password) }
  return redis.kind === 'url' ? { ...redis, ...access, url: new Secret(url) } : { ...redis, ...access }
}

export function credentialsFrom(keys: readonly VaultKey[], app: AppIdentity): ToCourier {
  return { is: 'credentials', keys, clientId: app.clientId, clientSecret: app.clientSecret.reveal() }
}

/** Collects what is said in one turn of the event loop: a message costs two system calls, its content next to nothing. */
export function inBatches<T>(send: (items: T[]) => void): (item: T) => void {
  let waiting: T[] = []
  return (item) => {
    waiting.push(item)
    if (waiting.length > 1) return
    setImmediate(() => {
      const items = waiting
      waiting = []
      send(items)
    })
  }
}
