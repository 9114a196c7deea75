import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { connectRedis } from '../../src/redis/connect.ts'
import { holdsEmbeddedRedis, openEmbeddedRedis } from '../../src/redis/embedded.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { checkAppendOnlyFile } from '../support/append-only-file.ts'
import { logLines } from '../support/log-lines.ts'

const DAMAGE = Buffer.alloc(4_096)

let dataDir: string
let file: string
const { log } = logLines()

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'plimsoll-damaged-'))
  file = join(dataDir, 'redis', 'appendonlydir', 'appendonly.aof.1.incr.aof')
  await using(async (redis) => {
    await redis.set('token', 'kept')
  })
  return () => rmSync(dataDir, { recursive: true, force: true })
})

async function using(work: (redis: ReturnType<typeof connectRedis>) => Promise<void>): Promise<void> {
  const embedded = await openEmbeddedRedis(dataDir, systemClock, log)
  const redis = connectRedis({ kind: 'embedded', socket: embedded.socket }, 'steps', () => {})
  try {
    await work(redis)
  } finally {
    redis.disconnect()
    await embedded.close()
  }
}

test('a damaged file: the start names the command that cuts the damage off, and all before it is there', async () => {
  appendFileSync(file, DAMAGE)
  await expect(openEmbeddedRedis(dataDir, systemClock, log)).rejects.toThrow(
    /did not start: its append-only file is damaged.* redis-check-aof --fix \S+appendonly\.aof\.manifest/,
  )
  expect(checkAppendOnlyFile(join(dataDir, 'redis'), 'fix').isWhole).toBe(true)
  await using(async (redis) => expect(await redis.get('token')).toBe('kept'))
})

const MANIFEST = 'appendonly.aof.manifest'
const BASE = 'appendonly.aof.1.base.rdb'
const inFolder = (name: string) => join(dataDir, 'redis', 'appendonlydir', name)

test.each<[what: string, spoil: () => void]>([
  ['its base is damaged', () => appendFileSync(inFolder(BASE), DAMAGE)],
  ['its base is garbage', () => writeFileSync(inFolder(BASE), DAMAGE)],
  ['its manifest is empty', () => writeFileSync(inFolder(MANIFEST), '')],
  ['its manifest is garbage', () => writeFileSync(inFolder(MANIFEST), DAMAGE)],
  ['its manifest names what is not there', () => rmSync(inFolder(BASE))],
  ['its manifest is missing', () => rmSync(inFolder(MANIFEST))],
])('data that is lost is left as it is, and a backup is the way out: %s', async (_, spoil) => {
  spoil()
  const before = contents()
  const refused = /: restore the folder \S+ from a backup/
  await expect(openEmbeddedRedis(dataDir, systemClock, log)).rejects.toThrow(refused)
  expect(contents()).toEqual(before)
  expect(holdsEmbeddedRedis(dataDir)).toBe(true)
})

/** All data files, with what is in them. */
function contents(): [string, string][] {
  const files = readdirSync(join(dataDir, 'redis'), { recursive: true, withFileTypes: true }).filter((one) =>
    one.isFile(),
  )
  const paths = files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !path.endsWith('redis.log'))
  return paths.sort().map((path) => [path, readFileSync(path, 'latin1')])
}
