import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { loadConfig } from '../../config/load.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { startApp } from '../../src/app.ts'
import { dayOfPartition, TendingRounds } from '../../src/limits/history/tending-rounds.ts'
import { connectRedis } from '../../src/redis/connect.ts'
import { createKeys, PARTITIONS } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Lifecycle } from '../../src/runtime/lifecycle.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { growHeapEvenly } from '../../src/runtime/process.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { createVault } from '../../src/tokens/vault.ts'

/**
 * Our side of P5: a whole daemon, whose accounts come due in two lots - to warm up, and to be measured. A daemon runs for
 * years: with a warm-up of 5,000 accounts a third of what was measured was the compiling of its code.
 */
const [url = '', redisUrl = ''] = process.argv.slice(2)
const WARM_UP = Number(process.env.BENCH_WARM_UP ?? 20_000)
const COUNT = Number(process.env.BENCH_ACCOUNTS ?? 40_000)
/** Life of the tokens that are refreshed, and what is left of it, ms. */
const LIFE = 3_600_000
const LEFT = 200_000
const DAY = 86_400_000
const KEY = Buffer.alloc(32, 1)

// As `plimsoll start` does.
growHeapEvenly()
const folder = mkdtempSync(join(tmpdir(), 'plimsoll-bench-'))
const settings = {
  provider: {
    ...{ baseUrl: url, clientId: 'bench', clientSecret: 'bench', api: '2026-03' },
    // What is measured is the work, not the manners.
    tokenRate: { requests: 1_000_000, per: '1s' },
  },
  redis: { url: redisUrl, prefix: `bench-${process.pid}` },
  encryption: { keys: [{ id: 'k1', key: KEY.toString('base64') }] },
  schedule: { refreshTokens: '* * * * * *' },
  receivers: { nobody: { type: 'email', smtp: 'smtp://127.0.0.1:1', from: 'a@b.c', to: ['a@b.c'] } },
  routes: [{ to: ['nobody'] }],
  http: { listen: '127.0.0.1:0', publicUrl: 'http://127.0.0.1' },
}
const loaded = loadConfig({
  file: 'bench.json',
  env: {},
  cwd: folder,
  readFile: () => JSON.stringify(settings),
  now: Date.now(),
})
if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))

const store = connectRedis({ kind: 'url', url: new Secret(redisUrl) }, 'steps', () => {})
const keys = createKeys(settings.redis.prefix)
const due = new DueSets(store, keys)
await seed()
await due.plan('refresh', range(1, WARM_UP), Date.now())

const lifecycle = new Lifecycle()
// The first line out is the figure: no warning that this Redis keeps nothing on disk.
const log = createLogger({ level: 'error', pretty: false })
await startApp({ config: loaded.config, clock: systemClock, random: Math.random, log }, lifecycle)
await allRefreshed()
// What the warm-up has left behind: reports of its calls, garbage.
await pause(1_000)
const at = Date.now() + 2_000 + COUNT / 20
await comeDue(WARM_UP + 1, COUNT, at)
await pause(at - Date.now() - 50)
const before = process.cpuUsage()
await allRefreshed()
const { user, system } = process.cpuUsage(before)
console.log(COUNT / ((user + system) / 1e6))
await lifecycle.close()
store.disconnect()
rmSync(folder, { recursive: true, force: true })
process.exit()

/** Accounts as a connect leaves them, near the end of their tokens but not yet due. */
async function seed(): Promise<void> {
  const vault = createVault([{ id: 'k1', key: KEY }])
  const now = Date.now()
  const obtainedAt = now + LEFT - LIFE
  for (let hubId = 1; hubId <= WARM_UP + COUNT; hubId++) {
    const account = keys.account(hubId)
    const partition = keys.partition(keys.partitionOf(hubId))
    const token = new Secret('6f18f21e-a743-4509-b7fd-1a5e632fffa1')
    void store.hset(account.account, {
      ...{ state: 'active', hubDomain: `hub-${hubId}.example.com`, generation: 1, refreshedAt: obtainedAt },
      ...{ obtainedAt, expiresAt: obtainedAt + LIFE, connectedAt: obtainedAt },
    })
    void store.hset(account.tokens, {
      access: vault.seal(new Secret('A'.repeat(400)), hubId, 'access'),
      refresh: vault.seal(token, hubId, 'refresh'),
      scopes: 'oauth crm.objects.contacts.read',
    })
    void store.zadd(partition.state.active, hubId, hubId)
    const planned = store.zadd(partition.due.refresh, now + DAY, hubId)
    if (hubId % 500 === 0) await planned
  }
  // The walk through all histories, once a day, is no part of a refresh.
  const rounds = new TendingRounds(store, keys)
  for (let number = 0; number < PARTITIONS; number++) {
    await rounds.write(number, dayOfPartition(number, now), 'over')
  }
}

function range(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, number) => from + number)
}

/** Planned ahead, so that who plans is not measured with those who refresh. */
async function comeDue(from: number, count: number, at: number): Promise<void> {
  await due.plan('refresh', range(from, count), at)
  if (Date.now() > at + 1_000) throw new Error('this machine takes longer to plan than it was given')
}

/** Claimed accounts come due again within a minute; refreshed ones in a quarter of an hour at the soonest. */
async function allRefreshed(): Promise<void> {
  while ((await due.countDue('refresh', Date.now() + 10 * 60_000)) > 0) await pause(200)
}
