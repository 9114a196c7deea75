import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { connectRedis } from '../../src/redis/connect.ts'
import { holdsEmbeddedRedis, openEmbeddedRedis } from '../../src/redis/embedded.ts'
import { repairAppendOnlyFile } from '../../src/redis/repair.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { logLines } from '../support/log-lines.ts'

const NOW = Date.parse('2026-11-24T03:04:05.000Z')
const DAMAGE = Buffer.alloc(4_096)

let dataDir: string
let file: string
const { log } = logLines()

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'plimsoll-repair-'))
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

test('a damaged file: the start names the command; the repair cuts the damage off, keeps a copy, and all before it is there', async () => {
  appendFileSync(file, DAMAGE)
  const damaged = readFileSync(file)
  await expect(openEmbeddedRedis(dataDir, systemClock, log)).rejects.toThrow(
    /did not start: its append-only file is damaged.* plimsoll start --repair .*redis-check-aof --fix/,
  )

  const repair = repairAppendOnlyFile(dataDir, NOW)
  const copy = join(dataDir, 'redis', 'damaged-2026-11-24T030405.000Z')
  expect(repair).toEqual({ cutBytes: DAMAGE.length, ofBytes: damaged.length, copy })
  expect(readFileSync(join(copy, 'appendonly.aof.1.incr.aof'))).toEqual(damaged)
  await using(async (redis) => expect(await redis.get('token')).toBe('kept'))
})

test('a whole file is left as it is, without a copy; where there is none, nothing is made', () => {
  const before = readFileSync(file)
  expect(repairAppendOnlyFile(dataDir, NOW)).toBeUndefined()
  expect(readFileSync(file)).toEqual(before)
  expect(existsSync(join(dataDir, 'redis', 'damaged-2026-11-24T030405.000Z'))).toBe(false)
  rmSync(join(dataDir, 'redis', 'appendonlydir'), { recursive: true })
  expect(repairAppendOnlyFile(dataDir, NOW)).toBeUndefined()
})

test('a server at work on the file is not disturbed', async () => {
  await using(async () => expect(() => repairAppendOnlyFile(dataDir, NOW)).toThrow('a redis-server runs in'))
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
])('data that no repair gives back is unchanged, without a copy, and a backup is the way out: %s', async (_, spoil) => {
  spoil()
  const before = contents()
  const refused = /: restore the folder \S+ from a backup/
  expect(() => repairAppendOnlyFile(dataDir, NOW)).toThrow(
    /^the data in \S+ can't be repaired: restore the folder from a backup\. [^\n]*$/,
  )
  expect(contents()).toEqual(before)
  await expect(openEmbeddedRedis(dataDir, systemClock, log)).rejects.toThrow(refused)
  await expect(openEmbeddedRedis(dataDir, systemClock, log)).rejects.toMatchObject({ isDamaged: false })
  expect(holdsEmbeddedRedis(dataDir)).toBe(true)
})

/** All data files, and the copies, with what is in them. */
function contents(): [string, string][] {
  const files = readdirSync(join(dataDir, 'redis'), { recursive: true, withFileTypes: true }).filter((one) =>
    one.isFile(),
  )
  const paths = files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !path.endsWith('redis.log'))
  return paths.sort().map((path) => [path, readFileSync(path, 'latin1')])
}
