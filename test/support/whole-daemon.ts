import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, type Keys } from '../../src/redis/keys.ts'
import { type Daemon, startDaemon, writeDaemonConfig } from './daemon.ts'
import { ADMIN_TOKEN, freePort } from './fleet.ts'
import { KEY } from './many-accounts.ts'
import { startRedis } from './redis-server.ts'

/** A daemon as users run it, a process of its own, with a Redis of its own. */
export interface WholeDaemon {
  readonly daemon: Daemon
  readonly store: Store
  readonly keys: Keys
  readonly redisUrl: string
  readonly pid: number
  /** A page or an answer of the API, as somebody who is signed in gets it. */
  ask(path: string): Promise<string>
  close(): Promise<void>
}

/** What is there before it starts, so that it never comes upon an account that is half there. */
type Seed = (store: Store, keys: Keys) => Promise<void>

export async function startWholeDaemon(
  providerUrl: string,
  settings: Record<string, object>,
  { env = {}, isPersisted = false, seed }: { env?: Record<string, string>; isPersisted?: boolean; seed?: Seed } = {},
): Promise<WholeDaemon> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-whole-daemon-'))
  const redis = await startRedis(isPersisted ? folder : undefined)
  const [store, keys] = [redis.connect(), createKeys('plimsoll')]
  const port = await freePort()
  const file = writeDaemonConfig(folder, {
    sandboxUrl: providerUrl,
    smtpUrl: 'smtp://127.0.0.1:1',
    redisUrl: redis.url,
    port,
    settings: {
      ...settings,
      provider: {
        api: '2026-03',
        scopes: ['oauth', 'crm.objects.contacts.read'],
        // What is measured is the work, not the manners.
        accountRate: { requests: 200, per: '10s' },
        ...settings.provider,
      },
      encryption: { keys: [{ id: KEY.id, key: KEY.key.toString('base64') }] },
      log: { level: 'info' },
    },
  })
  await seed?.(store, keys)
  const daemon = await startDaemon(file, env).catch(async (error: unknown) => {
    await redis.stop()
    throw error
  })
  return {
    daemon,
    store,
    keys,
    redisUrl: redis.url,
    pid: daemon.child.pid ?? 0,
    ask: async (path) => {
      const answer = await fetch(daemon.url + path, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
      const text = await answer.text()
      if (!answer.ok || answer.redirected) throw new Error(`${path} answered ${answer.status}: ${text.slice(0, 200)}`)
      return text
    },
    close: async () => {
      await daemon.stop()
      await redis.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
