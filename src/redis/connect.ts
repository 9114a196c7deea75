import { type ChainableCommander, Cluster, Redis, type RedisOptions } from 'ioredis'
import type { Secret } from '../runtime/secret.ts'
import { loadScripts, OF_MANY_ACCOUNTS } from './scripts.ts'

export type Store = Redis | Cluster

/** Commands that are collected to be run as one step. */
export type Commands = ChainableCommander

/** Where Redis is. `embedded` is the socket of the server that this machine runs for itself. */
export type RedisAddress =
  | { kind: 'url'; url: Secret; password?: Secret; tls?: boolean }
  | { kind: 'sentinels'; sentinels: { host: string; port: number }[]; name: string; password?: Secret; tls?: boolean }
  | { kind: 'cluster'; nodes: { host: string; port: number }[]; password?: Secret; tls?: boolean }
  | { kind: 'embedded'; socket: string }

/**
 * What a connection is for decides what it does while Redis is away:
 * - `steps`: our atomic steps. Waits as long as it takes, because a token that was just redeemed must not be dropped;
 *   commands of one moment travel together.
 * - `queues`: for BullMQ, which wants to wait too, and does its own pipelining.
 * - `pages`: for people and probes. Gives up after two seconds and says so.
 */
export type Purpose = 'steps' | 'queues' | 'pages'

export function connectRedis(address: RedisAddress, purpose: Purpose, onError: (error: Error) => void): Store {
  const options: Omit<RedisOptions, 'replyMapping'> = {
    connectionName: `plimsoll:${process.pid}:${purpose}`,
    retryStrategy,
    scripts: loadScripts(),
    ...(purpose === 'pages'
      ? { maxRetriesPerRequest: 1, commandTimeout: 2_000, enableAutoPipelining: false }
      : { maxRetriesPerRequest: null, enableAutoPipelining: purpose === 'steps' }),
    // A pipeline for one command costs as much as the command. On a Cluster it has one for each slot, and needs it.
    autoPipeliningIgnoredCommands: OF_MANY_ACCOUNTS,
  }
  const store = open(address, options)
  store.on('error', onError)
  return store
}

function open(address: RedisAddress, options: Omit<RedisOptions, 'replyMapping'>): Store {
  if (address.kind === 'embedded') return new Redis({ ...options, replyMapping: 'legacy', path: address.socket })
  const access = {
    ...(address.password === undefined ? {} : { password: address.password.reveal() }),
    ...(address.tls === true ? { tls: {} } : {}),
  }
  switch (address.kind) {
    case 'url':
      return new Redis(address.url.reveal(), { ...options, ...access, replyMapping: 'legacy' })
    case 'sentinels':
      return new Redis({
        ...options,
        ...access,
        replyMapping: 'legacy',
        sentinels: address.sentinels,
        name: address.name,
        ...(address.tls === true ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
      })
    case 'cluster': {
      const { retryStrategy: _, scripts: __, enableAutoPipelining = false, ...perNode } = options
      return new Cluster(address.nodes, {
        redisOptions: { ...perNode, ...access, replyMapping: 'legacy' },
        clusterRetryStrategy: retryStrategy,
        scripts: loadScripts(),
        enableAutoPipelining,
      })
    }
  }
}

/** Quick at first, then every two seconds: when Redis is back, tokens are waiting. */
function retryStrategy(attempt: number): number {
  return Math.min(attempt * 100, 2_000)
}
