import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectRedis, type Store } from '../../src/redis/connect.ts'
import { openEmbeddedRedis } from '../../src/redis/embedded.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { type Daemon, startDaemon, writeDaemonConfig } from '../support/daemon.ts'
import { connectAll, eventually, freePort, hubIdsOf, send } from '../support/fleet.ts'
import { folderOfFile } from '../support/of-file.ts'

const keys = createKeys('plimsoll')

const folder = folderOfFile()
let sandbox: Sandbox
let daemon: Daemon | undefined
beforeAll(async () => {
  sandbox = await startSandbox(
    {
      port: 0,
      smtpPort: 0,
      accounts: 2,
      tokenLifetimeMs: 3_600_000,
      rotateRefreshTokens: true,
      scenario: 'steady',
      clientId: 'sandbox-client-id',
      clientSecret: 'sandbox-client-secret',
    },
    systemClock,
  )
})
afterAll(async () => {
  await daemon?.stop()
  await sandbox.close()
})

/** On the private Redis of the data folder, beside whoever else is. */
async function withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const log = createLogger({ level: 'silent', pretty: false })
  const redis = await openEmbeddedRedis(join(folder, 'data'), systemClock, log)
  const store = connectRedis({ kind: 'embedded', socket: redis.socket }, 'steps', () => {})
  try {
    return await work(store)
  } finally {
    store.disconnect()
    await redis.close()
  }
}

/** Also a piece of it: where the file is compressed it is stored piece by piece. */
function isOnDisk(sealed: Buffer): boolean {
  const redis = join(folder, 'data', 'redis')
  const files = readdirSync(redis, { recursive: true })
    .map((name) => join(redis, String(name)))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
    .map((path) => readFileSync(path))
  // What stands in front of the ciphertext is alike in all.
  const secret = sealed.subarray(32)
  const pieces = Array.from({ length: secret.length - 12 }, (_, at) => secret.subarray(at, at + 12))
  return files.some((file) => pieces.some((piece) => file.includes(piece)))
}

test('the sealed token of an account that left is gone from the disk after the next start, those of the others are there', async () => {
  const [leaving = 0, staying = 0] = await hubIdsOf(sandbox.url)
  const config = writeDaemonConfig(folder, {
    sandboxUrl: sandbox.url,
    smtpUrl: sandbox.smtpUrl,
    port: await freePort(),
    settings: { uninstall: { keep: '0s' } },
  })
  daemon = await startDaemon(config)
  await connectAll(daemon.url, [leaving, staying])
  const sealedOf = (hubId: number) =>
    withStore((store) => store.hgetBuffer(keys.account(hubId).tokens, 'refresh')) as Promise<Buffer>
  const [gone, kept] = [await sealedOf(leaving), await sealedOf(staying)]
  expect(isOnDisk(kept)).toBe(true)
  expect(isOnDisk(gone)).toBe(true)

  const since = daemon.lines.length
  await send(`${daemon.url}/api/v1/accounts/${leaving}/uninstall`, 'POST')
  await daemon.line(/"account\.forgotten"/, since)
  await daemon.stop()
  daemon = await startDaemon(config)
  await eventually('it is gone', async () => !isOnDisk(gone))
  expect(isOnDisk(kept)).toBe(true)
})
