import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { text as texts } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { begin, plimsoll, plimsollHere } from '../support/command.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { ADMIN_TOKEN, eventually } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { residentMiBOf } from '../support/process-cost.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** Files of many accounts on their way through the API, while the command or the daemon is killed. */

const KEYS = createKeys('plimsoll')
const ROWS = 30_000
const BAD_LINES = [100, 15_000, 29_990]
/** What a long file may cost the daemon beside the one before, and the command beside a short one. */
const MOST_MIB = 80
/** Nobody refreshes what is imported. */
const WEB_ONLY = ['--roles', 'web']

let scene: Scene
let store: Store
let config: string
let daemon: Daemon

const start = () => startDaemon(config, { NODE_OPTIONS: '--max-semi-space-size=8' }, MAIN, WEB_ONLY)

beforeAll(async () => {
  scene = await openScene({ accounts: 1 })
  store = scene.redis.connect()
  config = await scene.configFile()
  const rows = Array.from({ length: ROWS }, (_, n) => {
    const isBad = BAD_LINES.includes(n + 2)
    return `${isBad ? 'x' : ''}${5_000_000 + n},na1-token-${n}-${'r'.repeat(100)}\n`
  })
  for (const [name, count] of [
    ['big.csv', ROWS],
    ['short.csv', 300],
  ] as const)
    writeFileSync(join(scene.folder, name), `hubId,refreshToken\n${rows.slice(0, count).join('')}`)
  daemon = await start()
})
afterAll(async () => {
  await daemon.stop()
  await scene.close()
})

const command = (...args: string[]) => begin(process.execPath, [MAIN, ...args, '--config', config], scene.folder)

function countAccounts(): Promise<number> {
  return store.zcard(KEYS.state.active)
}

/** An import that has got a share of its file, and gets no more for now. */
async function importOf(share: number) {
  const args = [MAIN, 'accounts', 'import', '-', '--config', config]
  const child = spawn(process.execPath, args, { cwd: scene.folder, stdio: ['pipe', 'ignore', 'pipe'] })
  child.stdin.on('error', () => undefined)
  const text = readFileSync(join(scene.folder, 'big.csv'), 'utf8')
  child.stdin.write(text.slice(0, text.length * share))
  const said = texts(child.stderr)
  await eventually('some accounts', async () => (await countAccounts()) > ROWS * share - 2_000)
  return { child, ended: once(child, 'exit').then(async ([code]) => ({ code, err: await said })) }
}

/** A way to the daemon on which a long answer stops before its end. */
async function narrowDoor() {
  const sockets: Socket[] = []
  const server = createServer((down) => {
    const up = connect(Number(new URL(daemon.url).port), '127.0.0.1')
    sockets.push(down, up)
    for (const socket of [down, up]) socket.on('error', () => undefined)
    down.pipe(up)
    let passed = 0
    up.on('data', (chunk) => {
      down.write(chunk)
      passed += chunk.length
      if (passed > 200_000) up.pause()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

/** What each process takes at most until `ended`, in MiB. */
async function peaksOf(pids: readonly (number | undefined)[], ended: Promise<unknown>): Promise<number[]> {
  let isOver = false
  void ended.then(() => (isOver = true))
  const peaks = pids.map(() => 0)
  for (; !isOver; await pause(20)) {
    // Of a process that has ended nothing is known any more.
    for (const [n, pid] of pids.entries())
      if (existsSync(`/proc/${pid}/status`)) peaks[n] = Math.max(peaks[n] ?? 0, residentMiBOf(pid ?? 0) || 0)
  }
  return peaks
}

async function importing(name: string) {
  const { child, ended } = command('accounts', 'import', name)
  const peaks = await peaksOf([daemon.child.pid, child.pid], ended)
  return { peaks, ...(await ended) }
}

test('an import of 30,000 rows is run again after a kill of the command, and one of the daemon', async () => {
  const first = await importOf(0.3)
  first.child.kill('SIGKILL')
  await first.ended
  expect(await countAccounts()).toBeLessThan(ROWS * 0.4)

  const second = await importOf(0.6)
  await daemon.kill()
  const cut = await second.ended
  expect(cut.code).toBe(1)
  expect(cut.err.split('\n').filter((line) => line.startsWith('plimsoll: '))).toHaveLength(1)
  expect(await countAccounts()).toBeLessThan(ROWS * 0.7)

  daemon = await start()
  const short = await importing('short.csv')
  const { code, out, err, peaks } = await importing('big.csv')
  expect(code).toBe(1)
  for (const line of BAD_LINES) expect(out + err).toContain(`line ${line} has a hubId that is no whole number\n`)
  const [, imported = '', known = ''] = /imported ([\d,]+), kept ([\d,]+), replaced 0, bad 3$/m.exec(out) ?? []
  const total = [imported, known].reduce((sum, text) => sum + Number(text.replaceAll(',', '')), 0)
  expect({ total, stored: await countAccounts() }).toEqual({ total: ROWS - 3, stored: ROWS - 3 })
  // The heap of a young daemon takes what room it may: by then it has what it needs.
  const again = await importing('big.csv')
  const growth = [(again.peaks[0] ?? 0) - (peaks[0] ?? 0), (peaks[1] ?? 0) - (short.peaks[1] ?? 0)].map(Math.round)
  process.stdout.write(
    `30,000 rows: the daemon takes ${growth[0]} MiB more for the next, the command ${growth[1]} than for 300\n`,
  )
  for (const mib of growth) expect(mib).toBeLessThan(MOST_MIB)
})

test('an export that is cut off leaves the file as it was', async () => {
  const file = join(scene.folder, 'out.csv')
  writeFileSync(file, 'as it was\n')
  const halves = () => readdirSync(scene.folder).filter((name) => name.startsWith('out.csv.'))
  const isUnderWay = async () => halves().length > 0

  const door = await narrowDoor()
  const slowly = () => {
    const args = ['accounts', 'export', 'out.csv', '--force', '--url', door.url, '--token', ADMIN_TOKEN]
    return begin(process.execPath, [MAIN, ...args], scene.folder)
  }
  const killed = slowly()
  await eventually('a part of the file', isUnderWay)
  killed.child.kill('SIGKILL')
  await killed.ended
  expect(readFileSync(file, 'utf8')).toBe('as it was\n')
  for (const name of halves()) rmSync(join(scene.folder, name))

  const cut = slowly()
  await eventually('a part of the file', isUnderWay)
  await daemon.kill()
  door.close()
  expect(await cut.ended).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/^plimsoll: [^\n]+: out\.csv is unchanged\n$/),
  })
  expect({ text: readFileSync(file, 'utf8'), halves: halves() }).toEqual({ text: 'as it was\n', halves: [] })

  daemon = await start()
  expect(await command('accounts', 'export', 'out.csv', '--force').ended).toMatchObject({ code: 0, err: '' })
  expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toHaveLength(ROWS - BAD_LINES.length + 1)
})

test('what is piped in is whole although the daemon that left its address is gone', async () => {
  await daemon.kill()
  const stdin = async function* () {
    yield Buffer.from('hubId,refreshToken\n7,na1-seven\n')
  }
  const ran = await plimsollHere(['accounts', 'import', '-', '--config', config], scene.folder, { stdin })
  expect(ran).toEqual({ code: 0, out: 'imported 1, kept 0, replaced 0, bad 0\n', err: '' })
  daemon = await start()
})

test('keys rekey works where a key is missing, without which no daemon starts', async () => {
  const keyed = (...ids: number[]) =>
    scene.configFile({
      dataDir: join(scene.folder, 'rekeyed'),
      redis: { url: scene.redis.url, prefix: 'rekeyed' },
      encryption: { keys: ids.map((id) => ({ id: `k${id}`, key: Buffer.alloc(32, id).toString('base64') })) },
    })
  const run = async (file: string, ...args: string[]) => plimsollHere([...args, '--config', file], scene.folder)
  for (const [hubId, file] of [
    [7, await keyed(1)],
    [8, await keyed(2, 1)],
  ] as const) {
    writeFileSync(join(scene.folder, 'one.csv'), `hubId,refreshToken\n${hubId},na1-${hubId}\n`)
    expect(await run(file, 'accounts', 'import', 'one.csv')).toMatchObject({ code: 0 })
  }
  const lacking = await keyed(3, 2)
  expect(await plimsoll(['start', '--config', lacking], scene.folder)).toMatchObject({ code: 1 })
  const part = await run(lacking, 'keys', 'rekey', '--yes')
  expect(part).toMatchObject({
    code: 1,
    out: expect.stringContaining('2 accounts: 1 value encrypted with key k3'),
  })
  expect(part.out).toContain('account 7: refresh left as it was')
  const all = await run(await keyed(3, 1), 'keys', 'rekey', '--yes')
  expect(all).toMatchObject({ code: 0, out: expect.stringContaining('everything is encrypted with key k3') })
})
