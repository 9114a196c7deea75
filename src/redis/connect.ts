import { type ChainableCommander, Cluster, Redis, type RedisOptions } from 'ioredis'
import { defined } from '../runtime/defined.ts'
import type { Secret } from '../runtime/secret.ts'
import { readOtherTypesAsNothing } from './answers.ts'
import { guardSteps, loadScripts } from './scripts.ts'
import { SteadySentinelConnector } from './sentinel-connector.ts'

export type Store = Redis | Cluster

/** Commands that are collected to be run as one step. */
export type Commands = ChainableCommander

/** Address of Redis. `embedded` is the socket of the server that this machine runs for itself. */
export type RedisAddress =
  | { kind: 'url'; url: Secret; tls?: boolean }
  | (Access & {
      kind: 'sentinels'
      sentinels: NodeAddress[]
      name: string
      sentinelUsername?: string
      sentinelPassword?: Secret
    })
  | (Access & { kind: 'cluster'; nodes: NodeAddress[] })
  | { kind: 'embedded'; socket: string }

export interface NodeAddress {
  host: string
  port: number
}

interface Access {
  username?: string
  password?: Secret
  tls?: boolean
}

/**
 * The purpose of a connection, which decides what it does while Redis is away:
 * - `steps`: our atomic steps. It waits as long as it takes, because a token that was just redeemed must not be dropped;
 *   commands of one moment travel together.
 * - `queues`: for BullMQ, which wants to wait too, and does its own pipelining.
 * - `pages`: for people and probes. Gives up after two seconds with an error.
 */
export type Purpose = 'steps' | 'queues' | 'pages'

const PAGES_MS = 2_000

/**
 * How long a connection may owe an answer, ms, before it is replaced. One that was forgotten on the way - a firewall that
 * dropped its state, a machine that lost its power - stays open here for ever, and all that is sent into it is lost. The
 * commands that were under way are sent again, so each step must bear being done twice. `waiting`: where BullMQ's workers
 * wait for jobs, up to ten seconds at a time.
 */
export const SILENT_MS: Record<Purpose | 'waiting', number> = {
  steps: 6_000,
  queues: 6_000,
  pages: PAGES_MS + 500,
  waiting: 13_000,
}

/** `pagesMs`: how long pages, or a command, wait for an answer. */
export function connectRedis(
  address: RedisAddress,
  purpose: Purpose,
  onError: (error: Error) => void,
  pagesMs = PAGES_MS,
): Store {
  const options: Omit<RedisOptions, 'replyMapping'> = {
    connectionName: `plimsoll:${process.pid}:${purpose}`,
    socketTimeout: purpose === 'pages' ? pagesMs + 500 : SILENT_MS[purpose],
    retryStrategy,
    scripts: loadScripts(0),
    ...(purpose === 'pages'
      ? { maxRetriesPerRequest: retriesOfPages(address), commandTimeout: pagesMs, enableAutoPipelining: false }
      : { maxRetriesPerRequest: null, enableAutoPipelining: purpose === 'steps' }),
    // A pipeline for one command costs as much as the command. A name here is also meant for its `Buffer` twin.
    autoPipeliningIgnoredCommands: ['storeTokens', 'replaceField'],
  }
  const store = open(address, options)
  // "No node can be used" names no cause: the error of the last node of a cluster does.
  store.on('error', (error: Error & { lastNodeError?: Error | null }) => onError(error.lastNodeError ?? error))
  if (purpose === 'queues') letWorkersWait(store)
  else readOtherTypesAsNothing(store)
  if (purpose === 'pages') nameTimeouts(store, pagesMs)
  return store
}

/** The private server is started again where it ended, which takes a moment; another one that is not there may stay away. */
function retriesOfPages({ kind }: RedisAddress): number | null {
  return kind === 'embedded' ? null : 1
}

/** The error of ioredis names neither the command nor the time. */
function nameTimeouts(store: Store, ms: number): void {
  const send: Redis['sendCommand'] = store.sendCommand.bind(store)
  store.sendCommand = (...[command, ...more]: Parameters<typeof send>) => {
    command.promise.catch((error: unknown) => {
      if (!(error instanceof Error) || error.message !== 'Command timed out') return
      error.message = `Command timed out: Redis did not answer ${command.name.toUpperCase()} within ${ms / 1_000} s`
    })
    return send(command, ...more)
  }
}

/** BullMQ makes the connections that its workers wait on of the one that it is given. */
function letWorkersWait(store: Store): void {
  const socketTimeout = SILENT_MS.waiting
  if (store instanceof Cluster) {
    const duplicate = store.duplicate.bind(store)
    store.duplicate = (nodes, options) =>
      duplicate(nodes, { ...options, redisOptions: { ...options?.redisOptions, socketTimeout } })
  } else {
    const duplicate = store.duplicate.bind(store)
    store.duplicate = (options) => duplicate({ ...options, socketTimeout })
  }
}

function open(address: RedisAddress, options: Omit<RedisOptions, 'replyMapping'>): Store {
  if (address.kind === 'embedded') return new Redis({ ...options, replyMapping: 'legacy', path: address.socket })
  switch (address.kind) {
    case 'url':
      return new Redis(address.url.reveal(), {
        ...options,
        ...(address.tls === true ? { tls: {} } : {}),
        replyMapping: 'legacy',
        // After a failover the name leads to the new master, while this connection still hangs on the old one. The command
        // is not sent again: where the name still leads to a replica, the caller must get the error.
        reconnectOnError: (error) => error.message.startsWith('READONLY'),
      })
    case 'sentinels':
      return new Redis({
        ...options,
        ...accessOf(address),
        replyMapping: 'legacy',
        sentinels: address.sentinels,
        name: address.name,
        // The old master takes writes until the sentinels have turned it into a replica, and then loses them.
        failoverDetector: true,
        Connector: SteadySentinelConnector,
        reconnectOnError: (error) => (error.message.startsWith('READONLY') ? AND_AGAIN : false),
        sentinelRetryStrategy: retryStrategy,
        sentinelCommandTimeout: 2_000,
        ...defined({
          sentinelUsername: address.sentinelUsername,
          sentinelPassword: address.sentinelPassword?.reveal(),
          sentinelTLS: address.tls === true ? {} : undefined,
        }),
        enableTLSForSentinelMode: address.tls === true,
      })
    case 'cluster': {
      const { retryStrategy: _, scripts: __, enableAutoPipelining: ___, ...perNode } = options
      const cluster = new Cluster(address.nodes, {
        redisOptions: { ...perNode, ...accessOf(address), replyMapping: 'legacy' },
        // Certificates are for names: a name that is resolved before TLS would be checked as an address.
        ...(address.tls === true ? { dnsLookup: (host, done) => done(null, host) } : {}),
        clusterRetryStrategy: retryStrategy,
        // A node that died is waited for like a whole Redis: sixteen tries to find its slots are over in two seconds.
        ...(options.maxRetriesPerRequest === null ? { maxRedirections: Number.POSITIVE_INFINITY } : {}),
        scripts: loadScripts(1),
        // No pipelining by ioredis: of commands that travel together it never resends one that went to the wrong node,
        // as all do after a failover; and it takes the number of a step's keys for its key.
        enableAutoPipelining: false,
      })
      return guardSteps(cluster)
    }
  }
}

function accessOf({ username, password, tls }: Access) {
  return defined({ username, password: password?.reveal(), tls: tls === true ? {} : undefined })
}

function toSentinels({ sentinelUsername, sentinelPassword, tls }: RedisAddress & { kind: 'sentinels' }): Access {
  return defined({ username: sentinelUsername, password: sentinelPassword, tls })
}

/** One sentinel, or one given node of a cluster. */
export interface AskedNode {
  node: string
  /** Undefined where it can be used. */
  error: Error | undefined
}

/**
 * Asks each sentinel, or each given node of a cluster, for itself: the client of all of them only reports that none can be
 * used, and takes as long as it is patient.
 */
export async function askNodes(address: RedisAddress, withinMs = PAGES_MS): Promise<AskedNode[]> {
  if (address.kind !== 'sentinels' && address.kind !== 'cluster') return []
  const nodes = address.kind === 'sentinels' ? address.sentinels : address.nodes
  const access = accessOf(address.kind === 'sentinels' ? toSentinels(address) : address)
  return Promise.all(
    nodes.map(async ({ host, port }) => ({
      node: `${host}:${port}`,
      error: await failureOfNode({ ...access, host, port }, address, withinMs),
    })),
  )
}

async function failureOfNode(
  access: RedisOptions,
  address: RedisAddress,
  withinMs: number,
): Promise<Error | undefined> {
  const node = new Redis({
    ...access,
    replyMapping: 'legacy',
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: null,
    connectTimeout: withinMs,
    commandTimeout: withinMs,
  })
  let first: Error | undefined
  node.on('error', (error) => {
    first ??= error
  })
  try {
    await node.connect()
    if (address.kind !== 'sentinels') await node.cluster('INFO')
    else if ((await node.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', address.name)) === null) {
      return new Error(`knows no master with the name ${address.name}`)
    }
    return undefined
  } catch (error) {
    return first ?? (error instanceof Error ? error : new Error('connection failed'))
  } finally {
    node.disconnect()
  }
}

/** `2` of ioredis: connect anew, and send the command that failed once more. */
const AND_AGAIN = 2

/** Quick at first, then every two seconds: when Redis is back, tokens are waiting. */
function retryStrategy(attempt: number): number {
  return Math.min(attempt * 100, 2_000)
}

/**
 * Each time that a connection to where the data is has come about, the first one too: the server behind it may have taken over
 * from another one, or was started again, and may not have all that was written last.
 */
export function onReady(store: Store, does: () => void): void {
  const watch = (server: Redis) => {
    server.on('ready', does)
  }
  if (store instanceof Cluster) {
    store.nodes().forEach(watch)
    store.on('+node', watch)
    // A replica that was connected before takes over without a word; the master that it follows goes before.
    store.on('-node', does)
  } else watch(store)
}
