import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectRedis, type Store } from '../../src/redis/connect.ts'
import { startRedis } from '../support/redis-server.ts'

/** A real Redis by its socket, one command at a time: by TCP, and with pipelines, a run takes half as long again. */
export async function startOwnRedis(): Promise<{ store: Store; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-simulation-'))
  const socket = join(folder, 'socket')
  const redis = await startRedis(undefined, ['--unixsocket', socket])
  const store = connectRedis({ kind: 'embedded', socket }, 'queues', () => {})
  return {
    store,
    stop: async () => {
      store.disconnect()
      await redis.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
