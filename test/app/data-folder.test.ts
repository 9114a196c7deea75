import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../config/schema/schema.ts'
import { encryptionKeys } from '../../src/app/data-folder.ts'
import { openRedis } from '../../src/app/open-redis.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Lifecycle } from '../../src/runtime/lifecycle.ts'
import { logLines } from '../support/log-lines.ts'

test('a start on a folder that has its key and no data any more says so; the first one, and one with all there, does not', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plimsoll-lost-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
  const config = { dataDir, redis: {} } as Config
  const start = async () => {
    const { log, lines } = logLines()
    const lifecycle = new Lifecycle()
    await openRedis({ config, clock: systemClock, log }, lifecycle)
    encryptionKeys(config)
    await lifecycle.close()
    return lines().filter(({ level }) => level === 'error' || level === 50)
  }
  expect(await start()).toEqual([])
  expect(await start()).toEqual([])
  rmSync(join(dataDir, 'redis', 'appendonlydir'), { recursive: true })
  expect(await start()).toMatchObject([{ code: 'data.gone', key: join(dataDir, 'keys', 'k1') }])
  expect(await start()).toEqual([])
})
