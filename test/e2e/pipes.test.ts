import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeEntry } from '../../src/alerts/outbox.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { pollAccount, properties, readings } from '../limits/reports.ts'
import { seedAccount } from '../support/accounts.ts'
import { NO_DAEMON } from '../support/command.ts'
import { writeDaemonConfig } from '../support/daemon.ts'
import { MAIN } from '../support/main.ts'
import { folderOfFile } from '../support/of-file.ts'
import { openPipe, spawnInto, untilIdle } from '../support/pipe.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'

/** What a command prints of a large fleet, through a pipe that holds 64 KiB: whole, however slow its reader is. */
const FLEET = 3_000
const HUB_IDS = Array.from({ length: FLEET }, (_, n) => 1_000_000 + n)

const folder = folderOfFile()
let redis: RedisServer
let config: string

beforeAll(async () => {
  redis = await startRedis()
  await seed(redis.connect())
  config = writeDaemonConfig(folder, {
    sandboxUrl: 'http://127.0.0.1:9',
    smtpUrl: 'smtp://127.0.0.1:9',
    redisUrl: redis.url,
    port: 9,
    settings: {
      encryption: { keys: [{ id: 'k1', key: Buffer.alloc(32, 7).toString('base64') }] },
      tags: { all: HUB_IDS.map((hubId) => `account-${hubId}.example.com`) },
    },
  })
})
afterAll(async () => {
  await redis.stop()
})

async function seed(store: Store): Promise<void> {
  const keys = createKeys('plimsoll')
  const now = Date.now()
  const seedOne = async (hubId: number, n: number) => {
    await seedAccount(store, keys, { hubId, hubDomain: `account-${hubId}.example.com`, obtainedAt: now - 60_000 })
    await pollAccount(store, keys, hubId, now - 30_000, readings(now - 30_000, properties(n, 10 * FLEET)))
    const account = { hubId, hubDomain: `account-${hubId}.example.com` }
    const alert = anAlert({ id: `a${n}-1`, measuredAt: new Date(now - 30_000).toISOString(), account })
    await store.xadd(keys.transitions, '*', 'alert', encodeEntry({ alert }))
  }
  for (let from = 0; from < FLEET; from += 100) {
    await Promise.all(HUB_IDS.slice(from, from + 100).map((hubId, n) => seedOne(hubId, from + n)))
  }
}

const linesOf = (text: string) => text.split('\n').slice(0, -1)

/** How many of the fleet each shows; it throws where that is cut off. */
const COMMANDS: [command: string, count: (text: string) => number][] = [
  ['accounts list --json', (text) => JSON.parse(text).length],
  ['accounts list', (text) => linesOf(text).length - 1],
  ['accounts export -', (text) => linesOf(text).length - 1],
  ['accounts export - --format jsonl', (text) => linesOf(text).map((line) => JSON.parse(line)).length],
  ['accounts history --json', (text) => JSON.parse(text).length],
  [
    'accounts history --format csv',
    (text) => linesOf(text).filter((line) => line.includes('Properties.overall,')).length,
  ],
  ['alerts log', (text) => linesOf(text).length - 1],
  ['check --json --all', (text) => JSON.parse(text).accounts.length],
  ['config print', (text) => text.match(/account-\d+\.example\.com/g)?.length ?? 0],
]

function start(command: string, which: 'stdout' | 'stderr' = 'stdout', file = config, ...more: string[]) {
  const pipe = openPipe()
  const args = [MAIN, ...command.split(' '), '--config', file, ...more]
  const { child, ended } = spawnInto(pipe, which, [process.execPath, ...args], folder)
  return {
    pipe,
    child,
    ended: ended.then(({ said, ...end }) => ({ ...end, said: said.replace(NO_DAEMON, '').replace(PROGRESS, '') })),
  }
}
/** Told every ten seconds, which a busy machine may need. */
const PROGRESS = /^accounts (exported|read|judged).*\n/gm

type Started = ReturnType<typeof start>

const readAtOnce = ({ pipe, ended }: Started) => Promise.all([pipe.readAll(), ended])

/** Begins once nothing fits into the pipe any more. */
async function readLate(started: Started) {
  await untilIdle(started.child)
  return readAtOnce(started)
}

async function readSome({ pipe, child, ended }: Started) {
  await pipe.readSome()
  await untilIdle(child)
  pipe.closeReader()
  return ended
}

const QUIET_END = { code: 141, signal: null, said: '' }

test.each(COMMANDS)(
  '%s is whole for a fast reader and a slow one, and ends without a word with its reader',
  async (command, count) => {
    const readers = [readAtOnce(start(command)), readLate(start(command))]
    const cut = readSome(start(command))
    for (const [text, { code }] of await Promise.all(readers)) {
      expect({ code, shown: count(text) }).toEqual({ code: 0, shown: FLEET })
    }
    expect(await cut).toEqual(QUIET_END)
  },
)

test('all problems of a config reach a slow reader of standard error, and the end of one is a quiet one', async () => {
  const broken = join(folder, 'broken.yaml')
  writeFileSync(broken, HUB_IDS.map((hubId) => `setting${hubId}: 1\n`).join(''))
  const [[text, { code }], cut] = await Promise.all([
    readLate(start('status', 'stderr', broken)),
    readSome(start('status', 'stderr', broken)),
  ])
  expect(code).toBe(1)
  expect(linesOf(text).filter((line) => line.includes('unknown'))).toHaveLength(FLEET)
  expect(cut).toEqual(QUIET_END)
})

test('what a shell asks for its completion is whole, too', async () => {
  const file = join(folder, 'receivers.yaml')
  writeFileSync(file, `receivers:\n${HUB_IDS.map((hubId) => `  a-receiver-for-account-${hubId}: {}\n`).join('')}`)
  const [text, { code }] = await readLate(start('__complete alerts test', 'stdout', file, ''))
  expect({ code, names: linesOf(text).length }).toEqual({ code: 0, names: FLEET })
})

test.each([
  ['accounts list --json', ''],
  ['accounts export -', 'plimsoll: stopped: it has not all of them\n'],
])('SIGTERM ends %s although nobody reads', async (command, said) => {
  const { pipe, child, ended } = start(command)
  await pipe.readSome()
  await untilIdle(child)
  child.kill('SIGTERM')
  expect(await ended).toEqual({ code: 143, signal: null, said })
  pipe.closeReader()
})
