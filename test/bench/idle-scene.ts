import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dayOfPartition, TendingRounds } from '../../src/limits/history/tending-rounds.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, PARTITIONS } from '../../src/redis/keys.ts'
import { planRefresh } from '../../src/tokens/plan-refresh.ts'
import { startDaemon } from '../support/daemon.ts'
import { startRedis } from '../support/redis-server.ts'
import { accountOf, connectAccount, VAULT_KEY } from './accounts.ts'
import { startQuietProvider } from './quiet-provider.ts'

const ACCOUNTS = 1_000
const PREFIX = 'bench'
const LIFE_MS = 30 * 60_000
const POLL_MS = 15 * 60_000

/** Process ids of a daemon with nothing much to do, and of the least that one on BullMQ can be beside it. */
export interface IdleScene {
  daemon: number
  peer: number
  redisUrl: string
  close(): Promise<void>
}

/** `main`: the program of the daemon. 1,000 accounts, tokens of 30 minutes that rotate, none near a limit. */
export async function openIdleScene(main: string, env: Record<string, string> = {}): Promise<IdleScene> {
  const redis = await startRedis()
  const provider = await startQuietProvider({ rotates: true })
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-idle-'))
  await connectQuietAccounts(redis.connect(), Date.now())
  const config = join(folder, 'plimsoll.json')
  writeFileSync(config, JSON.stringify(settingsOf(provider.url, redis.url)))
  const daemon = await startDaemon(config, env, main)
  const peer = spawn(process.execPath, [new URL('idle-peer.ts', import.meta.url).pathname, redis.url], {
    stdio: 'ignore',
  })
  return {
    ...{ daemon: pidOf(daemon.child), peer: pidOf(peer), redisUrl: redis.url },
    close: async () => {
      const ended = once(peer, 'exit')
      peer.kill()
      await Promise.all([daemon.stop(), ended])
      provider.close()
      await redis.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** As after some hours of work: each at another moment of its turn. */
async function connectQuietAccounts(store: Store, now: number): Promise<void> {
  const keys = createKeys(PREFIX)
  for (let hubId = 1; hubId <= ACCOUNTS; hubId++) {
    const begun = hubId / ACCOUNTS
    const { dueAt } = planRefresh(hubId, { obtainedAt: 0, expiresAt: LIFE_MS }, { refreshFrom: 0.5, refreshBy: 0.8 })
    const obtainedAt = Math.round(now - begun * dueAt)
    const tokens = { accessToken: `${hubId}.${'a'.repeat(400)}`, refreshToken: `${hubId}.0` }
    const times = { obtainedAt, expiresAt: obtainedAt + LIFE_MS, refreshedAt: obtainedAt }
    await connectAccount(store, keys, { ...accountOf(hubId), ...tokens, ...times })
    const { due, fresh } = keys.partition(keys.partitionOf(hubId))
    await store.zadd(fresh, Math.round(now - begun * POLL_MS), hubId)
    await store.zadd(due.refresh, obtainedAt + dueAt, hubId)
    await store.zadd(due.poll, now + Math.round((1 - begun) * POLL_MS), hubId)
  }
  // What is done once a day is over for today.
  const rounds = new TendingRounds(store, keys)
  for (let number = 0; number < PARTITIONS; number++) await rounds.write(number, dayOfPartition(number, now), 'over')
}

function settingsOf(providerUrl: string, redisUrl: string): object {
  return {
    provider: { baseUrl: providerUrl, clientId: 'bench', clientSecret: 'bench', api: '2026-03' },
    redis: { url: redisUrl, prefix: PREFIX },
    encryption: { keys: [{ id: 'k1', key: VAULT_KEY.toString('base64') }] },
    receivers: { nobody: { type: 'email', smtp: 'smtp://127.0.0.1:1', from: 'a@b.c', to: ['a@b.c'] } },
    routes: [{ to: ['nobody'] }],
    http: { listen: '127.0.0.1:0', publicUrl: 'http://127.0.0.1' },
  }
}

function pidOf({ pid }: { pid?: number | undefined }): number {
  if (pid === undefined) throw new Error('it did not start')
  return pid
}
