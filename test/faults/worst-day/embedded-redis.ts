import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { TestContext } from 'vitest'
import { findServer } from '../../../src/redis/server-program.ts'
import { run } from '../../support/command.ts'
import { type Daemon, startDaemon, writeDaemonConfig } from '../../support/daemon.ts'
import { freePort } from '../../support/fleet.ts'
import type { Scene } from '../../support/scene.ts'
import { EARLY } from './fleet-at-work.ts'

/** A daemon with the embedded server. It is stopped with the test. */
export async function startWithEmbedded(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  scene: Scene,
  env: Record<string, string> = {},
): Promise<Daemon> {
  const config = { sandboxUrl: scene.sandbox.url, smtpUrl: scene.sandbox.smtpUrl, port: await freePort() }
  const daemon = await startDaemon(writeDaemonConfig(scene.folder, { ...config, settings: EARLY }), env)
  onTestFinished(async () => {
    await daemon.stop()
  })
  return daemon
}

/** A connection to the embedded server, and its process. */
export async function openEmbedded({ onTestFinished }: Pick<TestContext, 'onTestFinished'>, scene: Scene) {
  const redis = new Redis({ path: join(scene.folder, 'data', 'redis', 'redis.sock'), maxRetriesPerRequest: null })
  redis.on('error', () => {})
  onTestFinished(() => redis.disconnect())
  const [, pid] = /process_id:(\d+)/.exec(await redis.info('server')) ?? []
  return { redis, pid: Number(pid) }
}

/** A server whose files may not grow beyond so many bytes, as on a disk that is full; a name for REDIS_SERVER_BIN. */
export function serverOnSmallDisk(scene: Scene, bytes: number): string {
  const file = join(scene.folder, 'redis-on-a-small-disk')
  // Where the limit is met a signal would end it, that nobody who writes to a full disk gets.
  writeFileSync(file, `#!/bin/sh\ntrap '' XFSZ\nulimit -S -f ${Math.ceil(bytes / 512)}\nexec ${findServer()} "$@"\n`)
  chmodSync(file, 0o755)
  return file
}

/** There is room again. */
export async function makeRoom(pid: number): Promise<void> {
  const { code, err } = await run('prlimit', ['--pid', String(pid), '--fsize=unlimited'], '/')
  if (code !== 0) throw new Error(err)
}
