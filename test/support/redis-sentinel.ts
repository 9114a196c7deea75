import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { eventually, freePort } from './fleet.ts'
import { type RedisProcess, startRedisProcess } from './redis-server.ts'

/** One master, one replica, and three sentinels that watch them. */
export interface TestSentinels {
  readonly name: string
  /** The sentinels, as a config has them. */
  readonly addresses: string[]
  /** The server that the sentinels take for the master, and the other one. */
  master(): Promise<WatchedServer>
  replica(): Promise<WatchedServer>
  /** Asks the sentinels for a failover, as an operator does. Resolves once they name the other one. */
  failOver(): Promise<void>
  /** Resolves once the sentinels name the other one, and it takes writes. */
  switchedFrom(master: WatchedServer): Promise<void>
  /** Resolves once this server follows the master of the day. */
  follows(server: WatchedServer): Promise<void>
  stop(): Promise<void>
}

interface WatchedServer extends RedisProcess {
  readonly admin: Redis
}

const NAME = 'plimsoll-master'
const DOWN_AFTER_MS = 1_500

export async function startRedisSentinels(): Promise<TestSentinels> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-sentinel-'))
  const first = await startServer(join(folder, 'a'))
  const second = await startServer(join(folder, 'b'), first.port)
  const servers = [first, second]
  const sentinels: WatchedServer[] = []
  for (const n of [1, 2, 3]) sentinels.push(await startSentinel(join(folder, `sentinel-${n}.conf`), first.port))
  const [asked] = sentinels as [WatchedServer]
  await eventually('sentinels that know each other and the replica', async () => {
    const told = (await asked.admin.call('SENTINEL', 'MASTER', NAME)) as string[]
    const fact = (name: string) => told[told.indexOf(name) + 1]
    return fact('num-other-sentinels') === '2' && fact('num-slaves') === '1' && fact('flags') === 'master'
  })
  const masterPort = async () =>
    Number(((await asked.admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as string[])[1])
  const follows = async ({ admin }: WatchedServer): Promise<void> => {
    await eventually('a replica that follows', async () =>
      (await admin.info('replication').catch(() => '')).includes('master_link_status:up'),
    )
  }
  await follows(second)
  const switchedFrom = async (old: WatchedServer): Promise<void> => {
    await eventually('another master', async () => {
      const port = await masterPort()
      const server = servers.find((one) => one.port === port)
      return port !== old.port && (await server?.admin.info('replication'))?.includes('role:master')
    })
  }
  const master = async () => {
    const port = await masterPort()
    return servers.find((server) => server.port === port) as WatchedServer
  }
  return {
    name: NAME,
    addresses: sentinels.map(({ port }) => `127.0.0.1:${port}`),
    master,
    replica: async () => {
      const port = await masterPort()
      return servers.find((server) => server.port !== port) as WatchedServer
    },
    failOver: async () => {
      const old = await master()
      await asked.admin.call('SENTINEL', 'FAILOVER', NAME)
      await switchedFrom(old)
    },
    switchedFrom,
    follows,
    stop: async () => {
      for (const { admin } of [...servers, ...sentinels]) admin.disconnect()
      await Promise.all([...servers, ...sentinels].map((one) => one.end('SIGKILL')))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startServer(folder: string, masterPort?: number): Promise<WatchedServer> {
  mkdirSync(folder)
  const port = await freePort()
  const of = masterPort === undefined ? [] : ['--replicaof', '127.0.0.1', String(masterPort)]
  // A file of its own: the sentinels have it written anew with who follows whom.
  const file = join(folder, 'redis.conf')
  writeFileSync(file, '')
  const data = ['--dir', folder, '--save', '', '--appendonly', 'yes', '--repl-diskless-sync-delay', '0']
  return withAdmin(await startRedisProcess(port, [file, ...data, ...of]))
}

async function startSentinel(file: string, masterPort: number): Promise<WatchedServer> {
  const lines = [
    `monitor ${NAME} 127.0.0.1 ${masterPort} 2`,
    `down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `failover-timeout ${NAME} 5000`,
  ]
  writeFileSync(file, lines.map((line) => `sentinel ${line}\n`).join(''))
  return withAdmin(await startRedisProcess(await freePort(), [file, '--sentinel']))
}

function withAdmin(process: RedisProcess): WatchedServer {
  const options = { replyMapping: 'legacy', retryStrategy: () => 100, maxRetriesPerRequest: 1 } as const
  const admin = new Redis(process.port, '127.0.0.1', options)
  admin.on('error', () => {}) // It is killed now and then.
  return { ...process, admin }
}
