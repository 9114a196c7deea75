import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { begin, plimsoll } from '../support/command.ts'
import { type Daemon, spawnDaemon, writeDaemonConfig } from '../support/daemon.ts'
import { eventually, freePort } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { runs } from '../support/runs.ts'

/** Many commands beside a daemon that is just starting, with the private Redis of their data folder. */

const COUNT = runs(10, 20)
const STOPPED_MS = 5_000
const ACCOUNTS = 50
const COMMANDS = [
  'accounts list',
  'status',
  'alerts list',
  'changes',
  'check',
  'outbox verify',
  'upcoming',
  'audit list',
]

let folder: string
let config: string
let daemon: Daemon | undefined

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-crowd-'))
  const far = { sandboxUrl: 'http://127.0.0.1:1', smtpUrl: 'smtp://127.0.0.1:1' }
  config = writeDaemonConfig(folder, { ...far, port: await freePort() })
  mkdirSync(join(folder, 'elsewhere'))
  const rows = Array.from({ length: ACCOUNTS }, (_, n) => `${5_000_000 + n},na1-token-${n}\n`)
  writeFileSync(join(folder, 'fleet.csv'), `hubId,refreshToken\n${rows.join('')}`)
  const imported = await plimsoll(['accounts', 'import', 'fleet.csv', '-c', config], folder)
  expect(imported).toMatchObject({ code: 0 })
})
afterAll(async () => {
  await daemon?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Processes that run a redis-server in the data folder. */
function redisPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const isRedis = readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('redis-server')
        return isRedis && readlinkSync(`/proc/${pid}/cwd`) === join(folder, 'data', 'redis')
      } catch {
        return false // It has ended.
      }
    })
    .map(Number)
}

test('all end with a result or one line, by one Redis, although that stands still meanwhile; nothing is lost', async () => {
  const keys = readdirSync(join(folder, 'data', 'keys'))
  const started = spawnDaemon(config, {}, MAIN, ['--roles', 'web'])
  daemon = started
  const all = Array.from({ length: COUNT }, (_, n) => {
    const words = COMMANDS[n % COMMANDS.length] ?? ''
    return { words, ...begin(process.execPath, [MAIN, ...words.split(' '), '-c', config], join(folder, 'elsewhere')) }
  })
  const pid = await eventually('a Redis', async () => redisPids()[0])
  process.kill(pid, 'SIGSTOP')
  await pause(STOPPED_MS) // What is tested: so long nothing answers.
  process.kill(pid, 'SIGCONT')
  for (const { words, ended } of all) {
    const { code, out, err } = await ended
    const lines = err.split('\n').filter((line) => line !== '')
    // What it waits for is told, too.
    const why = lines.filter((line) => !line.includes('waiting for the private Redis'))
    if (words === 'check') expect(out).toMatch(/^PLIMSOLL /)
    else
      expect({ words, hasResult: code === 0, lines: code === 0 ? 0 : why.length }).toEqual({
        words,
        hasResult: code === 0 && out !== '',
        lines: code === 0 ? 0 : 1,
      })
  }
  await started.line(/"daemon\.started"/, 0)
  expect(redisPids()).toHaveLength(1)
  expect(readdirSync(join(folder, 'data', 'keys'))).toEqual(keys)
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('daemon.json'),
  )
  expect(found).toEqual([join('data', 'daemon.json')])
  expect(JSON.parse(readFileSync(join(folder, 'data', 'daemon.json'), 'utf8'))).toMatchObject({
    pid: started.child.pid,
  })
  const { out } = await plimsoll(['accounts', 'list', '--json', '-c', config], folder)
  expect(JSON.parse(out)).toHaveLength(ACCOUNTS)
  expect(existsSync(join(folder, 'elsewhere', 'data'))).toBe(false)
})
