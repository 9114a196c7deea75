import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { run } from '../support/command.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { eventually } from '../support/fleet.ts'
import { isOnPath } from '../support/programs.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** What it takes to hear the real `systemd-notify`. */
const canNotify = isOnPath('systemd-notify') && isOnPath('perl')

const ROOT = new URL('../../', import.meta.url).pathname
const UNIT = join(ROOT, 'config/deploy/systemd/plimsoll.service')
const unit = readFileSync(UNIT, 'utf8')

describe.skipIf(!isOnPath('systemd-analyze'))('the unit (left out where there is no systemd-analyze)', () => {
  test('is one that systemd takes', async () => {
    const { code, out, err } = await run('systemd-analyze', ['verify', UNIT], ROOT)
    // That this machine has Plimsoll and Node where the unit looks for them is not asked.
    const complaints = `${out}${err}`.split('\n').filter((line) => line !== '' && !/is not executable/.test(line))
    expect(complaints).toEqual([])
    expect([0, 1]).toContain(code)
  })

  test('is exposed to less than 2.5 of 10, as systemd-analyze counts', async () => {
    const { code, out, err } = await run('systemd-analyze', ['security', '--offline=yes', '--threshold=25', UNIT], ROOT)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(Number(/exposure level for plimsoll\.service: ([\d.]+)/.exec(out)?.[1])).toBeLessThan(2)
  })
})

test('no Node of the service opens a debugger at a signal, and no core is dumped', () => {
  const wrapper = readFileSync(join(ROOT, 'config/deploy/systemd/plimsoll'), 'utf8')
  const nodes = [...`${unit}${wrapper}`.matchAll(/\/usr\/bin\/node (\S+)/g)].map(([, option]) => option)
  expect(nodes).toEqual(Array(3).fill('--disable-sigusr1'))
  expect(unit).toMatch(/^LimitCORE=0$/m)
})

test('the unit loads the credentials that its config reads, and no other', () => {
  const loaded = [...unit.matchAll(/^LoadCredential=([^:]+):/gm)].map(([, name]) => name)
  const config = readFileSync(join(ROOT, 'config/deploy/systemd/plimsoll.yaml'), 'utf8')
  const read = [...config.matchAll(/\$\{CREDENTIALS_DIRECTORY\}\/([\w-]+)/g)].map(([, name]) => name)
  expect(read.sort()).toEqual(loaded.sort())
})

describe.skipIf(!canNotify)('a daemon that systemd started (left out where there is no systemd-notify)', () => {
  let scene: Scene
  let socket: NotifySocket
  let daemon: Daemon
  let file: string
  beforeAll(async () => {
    scene = await openScene({ accounts: 0 })
    socket = await openNotifySocket()
    file = await scene.configFile()
    daemon = await startDaemon(file, { NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: '3000000' })
  })
  afterAll(async () => {
    await daemon.stop()
    await socket.close()
    await scene.close()
  })

  const heard = (what: string, since = 0) =>
    eventually(what, async () => socket.messages.slice(since).find((message) => message.includes(what)))

  test('says when it is running, how it goes, and that work moves on', async () => {
    expect(await heard('READY=1')).toEqual(['READY=1', `STATUS=running: ${daemon.url}`])
    expect(await heard('WATCHDOG=1')).toEqual(['WATCHDOG=1', 'STATUS=0 accounts, 0 overdue for a refresh'])
  })

  test('says that it reads its config again, when that began, and what came of it', async () => {
    const since = socket.messages.length
    daemon.child.kill('SIGHUP')
    expect(await heard('RELOADING=1', since)).toEqual(['RELOADING=1', expect.stringMatching(/^MONOTONIC_USEC=\d+$/)])
    expect(await heard('READY=1', since)).toEqual(['READY=1'])

    const { writeFileSync } = process.getBuiltinModule('node:fs')
    const good = readFileSync(file, 'utf8')
    writeFileSync(file, '{}')
    const later = socket.messages.length
    daemon.child.kill('SIGHUP')
    expect((await heard('READY=1', later))[1]).toMatch(/^STATUS=config file refused/)
    writeFileSync(file, good)
    daemon.child.kill('SIGHUP')
    await eventually('a status without it', async () =>
      socket.messages.at(-1)?.includes('STATUS=0 accounts, 0 overdue for a refresh'),
    )
  })

  test('goes on saying so while Redis is away: a restart would mend nothing', async () => {
    await scene.redis.end('SIGKILL')
    const since = socket.messages.length
    const message = await eventually('a word without Redis', async () =>
      socket.messages
        .slice(since)
        .find((one) => one.includes('WATCHDOG=1') && one[1]?.includes('redis: does not answer')),
    )
    expect(message).toHaveLength(2)
    await scene.redis.again()
  })

  test('says nothing of progress once its sweeps no longer end, though it runs and answers', async () => {
    // What it looks for can't be read.
    const { unsent } = createKeys('plimsoll')
    await scene.redis.connect().set(unsent, 1)
    const line = await daemon.line(/"systemd\.no-progress"/)
    expect(JSON.parse(line)).toMatchObject({
      level: 'error',
      reasons: expect.arrayContaining([expect.stringContaining('sweep:')]),
    })
    const since = socket.messages.length
    const status = await eventually('statuses without a sign of life', async () => socket.messages[since + 1])
    expect(
      socket.messages
        .slice(since)
        .flat()
        .filter((one) => one === 'WATCHDOG=1'),
    ).toEqual([])
    expect(status).toEqual([expect.stringMatching(/^STATUS=.*sweep:.* allowed/)])
    await scene.redis.connect().del(unsent)
    await heard('WATCHDOG=1', since)
  })

  test('says that it stops', async () => {
    const since = socket.messages.length
    daemon.child.kill('SIGTERM')
    expect(await heard('STOPPING=1', since)).toEqual(['STOPPING=1', 'STATUS=stopping'])
  })
})

/** The socket on which systemd listens to its services, with a Perl on it: Node can't open one, Debian is never without. */
interface NotifySocket {
  path: string
  /** Each message, its assignments one after the other. */
  messages: string[][]
  close(): Promise<void>
}

const LISTEN = `
use Socket;
socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die $!;
bind($s, sockaddr_un($ARGV[0])) or die $!;
$| = 1; print "listening\\n";
while (defined recv($s, my $text, 4096, 0)) { $text =~ s/\\n/\\t/g; print "$text\\n"; }
`

async function openNotifySocket(): Promise<NotifySocket> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-notify-'))
  const path = join(folder, 'notify')
  const child = spawn('perl', ['-e', LISTEN, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const messages: string[][] = []
  const lines = createInterface({ input: child.stdout })
  await once(lines, 'line')
  // A barrier is no word of the daemon's: systemd-notify waits by it until it was heard.
  lines.on(
    'line',
    (line) => line.startsWith('BARRIER') || messages.push(line.split('\t').filter((part) => part !== '')),
  )
  return {
    path,
    messages,
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
