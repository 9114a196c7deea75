import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Registry } from '../../../src/accounts/registry.ts'
import { connectRedis } from '../../../src/redis/connect.ts'
import { createKeys } from '../../../src/redis/keys.ts'
import { findServer } from '../../../src/redis/server-program.ts'
import { createVault } from '../../../src/tokens/vault.ts'
import { ownKey } from '../../../src/tokens/vault-keys.ts'
import { checkAppendOnlyFile } from '../../support/append-only-file.ts'
import { begin, plimsoll, type Ran } from '../../support/command.ts'
import { spawnDaemon, writeDaemonConfig } from '../../support/daemon.ts'
import { eventually, freePort } from '../../support/fleet.ts'
import { MAIN } from '../../support/main.ts'
import { withPrivateRedis } from '../../support/private-redis-client.ts'
import { say } from '../../support/say.ts'
import { fillDisk, mountSmallDisk, serversOn } from '../../support/servers-on.ts'

/** The private Redis in trouble, and five commands that come meanwhile: in the end one server, its file whole, no account lost. */

const KINDS = ['stopped', 'slow', 'killed', 'full', 'started twice'] as const
type Kind = (typeof KINDS)[number]
const ROUNDS = Number(process.env.PLIMSOLL_ROUNDS ?? 2 * KINDS.length)
const FIRST = 20
const NO_DISK = 'no small disk can be mounted here: these rounds are left out'

let folder: string
let redisDir: string
let config: string
let env: Record<string, string>
let unmount: (() => void) | string
let look: NodeJS.Timeout
/** Of servers at once, since the last round. */
let most = 0
const owners: ChildProcess[] = []
/** Accounts that must be there from now on. */
const seen = new Set<number>()

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-private-redis-'))
  redisDir = join(folder, 'data', 'redis')
  mkdirSync(redisDir, { recursive: true, mode: 0o700 })
  unmount = mountSmallDisk(redisDir, '16m')
  if (typeof unmount === 'string') say(`${NO_DISK}: ${unmount}`)
  const program = join(folder, 'redis-that-may-be-slow')
  writeFileSync(join(folder, 'how-slow'), '')
  writeFileSync(program, `#!/bin/sh\nexec ${findServer()} "$@" $(cat ${folder}/how-slow)\n`, { mode: 0o755 })
  env = { REDIS_SERVER_BIN: program }
  config = writeDaemonConfig(folder, { ...FAR, port: await freePort() })
  expect(await addAccounts(1, FIRST)).toMatchObject({ code: 0 })
  for (let hubId = 1; hubId <= FIRST; hubId++) seen.add(hubId)
  look = setInterval(() => {
    most = Math.max(most, serversOn(redisDir).length)
  }, 100)
})

afterAll(async () => {
  clearInterval(look)
  for (const owner of owners) owner.kill('SIGKILL')
  for (const pid of serversOn(redisDir)) process.kill(pid, 'SIGKILL')
  await eventually('the servers have ended', async () => serversOn(redisDir).length === 0)
  if (typeof unmount !== 'string') unmount()
  rmSync(folder, { recursive: true, force: true })
})

/** Nobody is there: no command of these asks. */
const FAR = { sandboxUrl: 'http://127.0.0.1:1', smtpUrl: 'smtp://127.0.0.1:1' }

const commandLine = (args: readonly string[]) => [MAIN, ...args, '--config', config, '--timeout', '2m']
const command = (...args: string[]) => plimsoll(commandLine(args).slice(1), folder, env)

function addAccounts(from: number, to: number): Promise<Ran> {
  return command('accounts', 'import', fileOfAccounts(from, to))
}

function fileOfAccounts(from: number, to: number): string {
  const file = join(folder, `accounts-${from}.csv`)
  const rows = Array.from({ length: to - from + 1 }, (_, at) => `${from + at},refresh-${from + at}`)
  writeFileSync(file, ['hubId,refreshToken', ...rows].join('\n'))
  return file
}

/** Another process that uses the server, as a daemon does. */
async function startOwner(): Promise<void> {
  const program = join(import.meta.dirname, '..', '..', 'redis', 'open-embedded.ts')
  const owner = spawn(process.execPath, [program, join(folder, 'data')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  owners.push(owner)
  await once(createInterface({ input: owner.stdout as NodeJS.ReadableStream }), 'line')
}

async function startOwners(): Promise<void> {
  while (owners.length < 2) await startOwner()
}

async function endOwners(how: 'SIGKILL' | 'by itself'): Promise<void> {
  await Promise.all(
    owners.splice(0).map(async (owner) => {
      const exited = once(owner, 'exit')
      if (how === 'SIGKILL') owner.kill(how)
      else owner.stdin?.end()
      await exited
    }),
  )
}

/** Five at once: four that read, one that writes. */
function fiveCommands(newAccount: number) {
  return [
    ['accounts', 'list', '--json'],
    ['status', '--json'],
    ['accounts', 'show', '7', '--json'],
    ['outbox', 'verify', '--json'],
    ['accounts', 'import', fileOfAccounts(newAccount, newAccount)],
  ].map((args) => begin(process.execPath, commandLine(args), folder, env))
}

type Started = ReturnType<typeof fiveCommands>

const ended = (commands: Started) => Promise.all(commands.map((one) => one.ended))

const killServer = () => {
  for (const pid of serversOn(redisDir)) process.kill(pid, 'SIGKILL')
}

/** Each does its harm, runs the commands and puts it right; `turn`: how often it had its turn. */
const ROUND: Record<Kind, (start: () => Started, turn: number) => Promise<Ran[]>> = {
  stopped: async (start) => {
    const pids = serversOn(redisDir)
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    const commands = start()
    await eventually('all say what they wait for', async () =>
      commands.every(({ said }) => said.err.includes('waiting for the private Redis')),
    )
    for (const pid of pids) process.kill(pid, 'SIGCONT')
    return ended(commands)
  },
  slow: async (start, turn) => {
    // So long for each command that it loads, of which there are a hundred and more; it answers nothing, or that it loads.
    writeFileSync(join(folder, 'how-slow'), '--key-load-delay 10000')
    if (turn % 2 === 1) await withPrivateRedis(redisDir, (redis) => redis.bgrewriteaof())
    killServer()
    const results = await ended(start())
    writeFileSync(join(folder, 'how-slow'), '')
    return results
  },
  killed: async (start, turn) => {
    if (turn % 3 === 0) {
      await endOwners('SIGKILL')
      killServer()
      return ended(start())
    }
    if (turn % 3 === 1) {
      killServer()
      await endOwners('SIGKILL')
      return ended(start())
    }
    const commands = start()
    await eventually('one of them has ended', () => Promise.race([commands[0]?.ended.then(() => true)]))
    killServer()
    return ended(commands)
  },
  full: async (start, turn) => {
    if (typeof unmount === 'string') return ended(start())
    const makeRoom = fillDisk(redisDir)
    try {
      await withPrivateRedis(redisDir, async (redis) => {
        // It answers before it writes: how soon it notices depends on the disk.
        await eventually('it refuses writes', () =>
          redis.set('fill', 'x'.repeat(2_000)).then(
            () => false,
            (error: unknown) => String(error).includes('MISCONF'),
          ),
        )
      })
      if (turn % 2 === 1) killServer()
      return await ended(start())
    } finally {
      makeRoom()
      await withPrivateRedis(redisDir, async (redis) => {
        await eventually('it writes again', async () => (await redis.set('fill', '').catch(() => 'no')) === 'OK')
      })
    }
  },
  'started twice': async (start) => {
    await endOwners('by itself')
    const commands = start()
    await Promise.all([startOwner(), startOwner()])
    return ended(commands)
  },
}

/** What a command may say of trouble that is there; every other failure is one. */
const EXCUSED: Partial<Record<Kind, RegExp>> = {
  full: /^plimsoll: Redis accepts no writes/,
  // The server went away in the midst of it.
  killed: /^plimsoll: (Redis does not answer|.*(closed|ended|ECONN|EPIPE))/s,
}

async function playRound(kind: Kind, round: number): Promise<number> {
  await startOwners()
  most = 0
  const newAccount = 1_000 + round
  const [list, ...others] = await ROUND[kind](() => fiveCommands(newAccount), Math.floor(round / KINDS.length))
  const failed = [list, ...others].filter((ran) => ran?.code !== 0)
  for (const ran of failed) expect(ran?.err, `${kind}: it ended with ${ran?.code}`).toMatch(EXCUSED[kind] ?? /^none$/)
  if (list?.code === 0) expectAllIn((JSON.parse(list.out) as { hubId: number }[]).map(({ hubId }) => hubId))

  // Who is killed leaves the server to the commands, the last of which stops it.
  await startOwners()
  await withPrivateRedis(redisDir, (redis) =>
    eventually('all is in the file', async () => /aof_buffer_length:0\r/.test(await redis.info('persistence'))),
  )
  expectWholeFile()
  expect(serversOn(redisDir)).toHaveLength(1)
  expect(most).toBe(1)
  if (others.at(-1)?.code === 0) seen.add(newAccount)
  const there = await accountsWithTokens()
  expectAllIn(there)
  for (const hubId of there) seen.add(hubId)
  return failed.length
}

function expectWholeFile(): void {
  const { isWhole, output: said } = checkAppendOnlyFile(redisDir)
  expect(isWhole, said).toBe(true)
}

function expectAllIn(hubIds: readonly number[]): void {
  expect([...seen].filter((hubId) => !hubIds.includes(hubId))).toEqual([])
}

async function accountsWithTokens(): Promise<number[]> {
  const store = connectRedis({ kind: 'embedded', socket: join(redisDir, 'redis.sock') }, 'steps', () => {})
  const keys = createKeys('plimsoll')
  const vault = createVault([ownKey(join(folder, 'data')).key])
  try {
    const accounts = await new Registry(store, keys).page(10_000)
    const hasToken = async (hubId: number) => {
      const sealed = await store.hgetBuffer(keys.account(hubId).tokens, 'refresh')
      return sealed !== null && vault.open(sealed, hubId, 'refresh').reveal() === `refresh-${hubId}`
    }
    const has = await Promise.all(accounts.map(({ hubId }) => hasToken(hubId)))
    return accounts.flatMap(({ hubId }, at) => (has[at] ? [hubId] : []))
  } finally {
    store.disconnect()
  }
}

test(`${ROUNDS} rounds of ${KINDS.join(', ')}, with five commands each: one server, the file whole, no account lost`, {
  timeout: ROUNDS * 120_000,
}, async () => {
  const done = new Map<Kind, { rounds: number; failed: number }>()
  for (let round = 0; round < ROUNDS; round++) {
    const kind = KINDS[round % KINDS.length] ?? 'stopped'
    const failed = await playRound(kind, round)
    const before = done.get(kind) ?? { rounds: 0, failed: 0 }
    done.set(kind, { rounds: before.rounds + 1, failed: before.failed + failed })
    if (round % 10 === 9) say(`${round + 1} rounds: ${seen.size} accounts`)
  }
  for (const [kind, { rounds, failed }] of done) {
    say(`${kind}: ${rounds} rounds, ${rounds * 5} commands, ${failed} said that Redis was in trouble`)
  }
  say(`in each round: servers at once 1, the file whole, of ${seen.size} accounts none lost`)
})

test('twenty commands at once, with nobody there before: one server, and all are answered', async () => {
  await endOwners('by itself')
  await eventually('it was stopped', async () => serversOn(redisDir).length === 0)
  most = 0
  const lists = await Promise.all(Array.from({ length: 20 }, () => command('accounts', 'list', '--json')))
  for (const { code, err } of lists) expect(code, err).toBe(0)
  for (const { out } of lists) expectAllIn((JSON.parse(out) as { hubId: number }[]).map(({ hubId }) => hubId))
  expect(most).toBeLessThanOrEqual(1)
  expectWholeFile()
})

test('two whole daemons at once: one server, used by both, and the last one stops it', async ({ onTestFinished }) => {
  most = 0
  const files = [config, writeDaemonConfig(folder, { ...FAR, port: await freePort() })]
  const daemons = files.map((file) => spawnDaemon(file, env))
  onTestFinished(() => {
    for (const { child } of daemons) child.kill('SIGKILL')
  })
  await Promise.all(daemons.map((daemon) => daemon.line(/"daemon.started"/, 0)))
  expect(serversOn(redisDir)).toHaveLength(1)
  for (const daemon of daemons) {
    expect(serversOn(redisDir)).toHaveLength(1)
    await daemon.stop()
  }
  expect(most).toBe(1)
  await eventually('it was stopped', async () => serversOn(redisDir).length === 0)
  expectWholeFile()
})
