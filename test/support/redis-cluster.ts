import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { connectRedis, type Purpose, type Store } from '../../src/redis/connect.ts'
import { eventually, freePort } from './fleet.ts'
import { type RedisProcess, startRedisProcess } from './redis-server.ts'

/** Three masters that share the slots, each with a replica where a test asks for it. */
export interface TestCluster {
  readonly masters: readonly ClusterNode[]
  replicaOf(master: number): ClusterNode
  /** Whether every slot is served, as the first two masters see it. */
  isWhole(): Promise<boolean>
  /** As a config has them: the masters are enough to find the rest by. */
  readonly addresses: string[]
  /** A connection as the daemon makes it; closed by stop(). */
  store(purpose?: Purpose): Store
  stop(): Promise<void>
}

export interface ClusterNode extends RedisProcess {
  readonly busPort: number
  /** Straight to this node, wherever the slots are. */
  readonly admin: Redis
}

const MASTERS = 3
const SLOTS = 16_384
/** How long a node may be silent before the others vote it out. */
const NODE_TIMEOUT_MS = 1_500

export async function startRedisCluster({ replicas }: { replicas: boolean }): Promise<TestCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-cluster-'))
  const nodes: ClusterNode[] = []
  // One after the other: a port that is free is not taken yet.
  for (let n = 0; n < MASTERS * (replicas ? 2 : 1); n++) nodes.push(await startNode(join(folder, String(n))))
  const masters = nodes.slice(0, MASTERS)
  await shareSlots(masters)
  await introduce(nodes)
  await follow(nodes.slice(MASTERS), masters)
  await eventually('a cluster that is of one mind', async () => areOfOneMind(nodes))
  const stores: Store[] = []
  return {
    masters,
    replicaOf: (master) => nodes[MASTERS + master] as ClusterNode,
    isWhole: () => areOfOneMind(masters.slice(0, 2)),
    addresses: masters.map(({ port }) => `127.0.0.1:${port}`),
    store: (purpose = 'steps') => {
      const at = masters.map(({ port }) => ({ host: '127.0.0.1', port }))
      const store = connectRedis({ kind: 'cluster', nodes: at }, purpose, () => {})
      stores.push(store)
      return store
    },
    stop: async () => {
      for (const store of [...stores, ...nodes.map(({ admin }) => admin)]) store.disconnect()
      await Promise.all(nodes.map((node) => node.end('SIGKILL')))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startNode(folder: string): Promise<ClusterNode> {
  mkdirSync(folder)
  const [port, busPort] = [await freePort(), await freePort()]
  const process = await startRedisProcess(port, [
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    String(busPort),
    '--cluster-node-timeout',
    String(NODE_TIMEOUT_MS),
    '--repl-diskless-sync-delay',
    '0',
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'yes',
  ])
  const admin = new Redis(port, '127.0.0.1', { replyMapping: 'legacy', retryStrategy: () => 100 })
  admin.on('error', () => {}) // It is killed now and then.
  return { ...process, busPort, admin }
}

async function shareSlots(masters: readonly ClusterNode[]): Promise<void> {
  const from = (n: number) => Math.floor((n * SLOTS) / masters.length)
  await Promise.all(masters.map(({ admin }, n) => admin.cluster('ADDSLOTSRANGE', from(n), from(n + 1) - 1)))
}

async function introduce(nodes: readonly ClusterNode[]): Promise<void> {
  const [first, ...others] = nodes as [ClusterNode, ...ClusterNode[]]
  for (const { port, busPort } of others) await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort)
  await eventually('nodes that know each other', async () =>
    (await Promise.all(nodes.map((node) => factOf(node, 'cluster_known_nodes')))).every(
      (known) => Number(known) === nodes.length,
    ),
  )
}

async function follow(replicas: readonly ClusterNode[], masters: readonly ClusterNode[]): Promise<void> {
  for (const [n, { admin }] of replicas.entries()) {
    const id = String(await masters[n]?.admin.call('CLUSTER', 'MYID'))
    await admin.call('CLUSTER', 'REPLICATE', id)
  }
  for (const { admin } of replicas) {
    await eventually('a replica that follows', async () =>
      (await admin.info('replication')).includes('master_link_status:up'),
    )
  }
}

async function areOfOneMind(nodes: readonly ClusterNode[]): Promise<boolean> {
  const states = await Promise.all(nodes.map((node) => factOf(node, 'cluster_state')))
  return states.every((state) => state === 'ok')
}

async function factOf({ admin }: ClusterNode, name: string): Promise<string | undefined> {
  const info = String(await admin.cluster('INFO'))
  return new RegExp(`^${name}:(.*)\r?$`, 'm').exec(info)?.[1]?.trim()
}
