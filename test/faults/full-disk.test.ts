import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { checkAppendOnlyFile } from '../support/append-only-file.ts'
import { plimsoll } from '../support/command.ts'
import { type Daemon, spawnDaemon, startDaemon, writeDaemonConfig } from '../support/daemon.ts'
import { ADMIN_TOKEN, eventually, freePort } from '../support/fleet.ts'
import { withPrivateRedis } from '../support/private-redis-client.ts'
import { fillDisk, mountSmallDisk, serversOn } from '../support/servers-on.ts'

/** The daemon looks at its file every ten seconds: a disk that is full for less hurts nobody. */
const LONGER_THAN_A_LOOK_MS = 12_000
/** The whole data folder, which holds little else than the file of the private Redis. */
const DISK = '8m'
const AS_ADMIN = { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } }

interface Check {
  name: string
  ok: boolean
  detail: string
}

/** On a disk of its own, with an account; undefined: no disk can be mounted here. */
async function smallInstallation() {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-full-disk-'))
  const data = join(folder, 'data')
  const redisDir = join(data, 'redis')
  const unmount = mountSmallDisk(data, DISK)
  onTestFinished(() => {
    if (typeof unmount !== 'string') {
      for (const pid of serversOn(redisDir)) process.kill(pid, 'SIGKILL')
      unmount()
    }
    rmSync(folder, { recursive: true, force: true })
  })
  if (typeof unmount === 'string') return unmount
  const far = { sandboxUrl: 'http://127.0.0.1:1', smtpUrl: 'smtp://127.0.0.1:1' }
  const file = writeDaemonConfig(folder, { ...far, port: await freePort() })
  const command = (...args: string[]) => plimsoll([...args, '--config', file], folder)
  writeFileSync(join(folder, 'fleet.csv'), 'hubId,refreshToken\n7,a-refresh-token\n')
  expect(await command('accounts', 'import', 'fleet.csv')).toMatchObject({ code: 0 })
  return { data, redisDir, file, command }
}

async function failingChecks({ url }: Daemon): Promise<Partial<Record<string, string>>> {
  const { checks } = (await (await fetch(`${url}/readyz`, AS_ADMIN)).json()) as { checks: Check[] }
  return Object.fromEntries(checks.flatMap(({ name, ok, detail }) => (ok ? [] : [[name, detail]])))
}

const isWholeFile = (redisDir: string) => checkAppendOnlyFile(redisDir).isWhole

function fileNames(redisDir: string): string[] {
  return readdirSync(join(redisDir, 'appendonlydir'))
}

test('a full disk: it is reported before, nothing is lost, and the start says how a damaged end is cut off', async ({
  skip,
}) => {
  const made = await smallInstallation()
  if (typeof made === 'string') return skip(made)
  const { data, redisDir, file, command } = made

  // Before it is full.
  const { bavail, bsize } = await statfs(data)
  writeFileSync(join(data, 'redis', 'other'), Buffer.alloc(bavail * bsize - 300_000))
  let daemon = await startDaemon(file)
  onTestFinished(() => daemon.kill())
  expect(await eventually('the check of the data', async () => (await failingChecks(daemon)).data)).toContain('MB left')
  expect(daemon.lines.some((line) => line.includes('"disk.low"'))).toBe(true)
  expect((await command('doctor')).out).toMatch(/^warn {2}disk .*MB left/m)

  // The rewrite of the start, so that the next one has no other cause than the full disk.
  await eventually('it is rewritten', async () => fileNames(redisDir).includes('appendonly.aof.2.base.rdb'))

  // While it is.
  const makeRoom = fillDisk(data)
  const refusal = await eventually('writes are refused', async () => {
    await withPrivateRedis(redisDir, (redis) => redis.set('fill', 'x'.repeat(5_000))).catch(() => undefined)
    return (await failingChecks(daemon)).redis
  })
  expect(refusal).toMatch(/^refuses: MISCONF/)
  expect((await command('doctor')).out).toMatch(/^fail {2}redis\b.*disk/m)
  await pause(LONGER_THAN_A_LOOK_MS)

  // Room is made, and nothing is restarted.
  makeRoom()
  rmSync(join(data, 'redis', 'other'))
  await eventually('writes are taken again', async () => (await failingChecks(daemon)).redis === undefined)
  await withPrivateRedis(redisDir, (redis) => redis.set('token', 'kept'))
  expect((await command('accounts', 'show', '7', '--json')).code).toBe(0)
  await eventually('the file is whole', async () => isWholeFile(redisDir))

  // The machine went down meanwhile.
  await daemon.kill()
  for (const pid of serversOn(redisDir)) process.kill(pid, 'SIGTERM')
  await eventually('the server has ended', async () => serversOn(redisDir).length === 0)
  const last = join(redisDir, 'appendonlydir', fileNames(redisDir).find((name) => name.endsWith('.incr.aof')) ?? '')
  appendFileSync(last, Buffer.alloc(4_096))
  const refused = spawnDaemon(file)
  await refused.line(/did not start: its append-only file is damaged.* redis-check-aof --fix/, 0)

  checkAppendOnlyFile(redisDir, 'fix')
  daemon = await startDaemon(file)
  expect(await withPrivateRedis(redisDir, (redis) => redis.get('token'))).toBe('kept')
  expect((await command('accounts', 'show', '7', '--json')).code).toBe(0)
  expect(isWholeFile(redisDir)).toBe(true)
})
