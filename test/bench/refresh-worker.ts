import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { loadConfig } from '../../config/load.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { startApp } from '../../src/app.ts'
import { connectRedis } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Lifecycle } from '../../src/runtime/lifecycle.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { createVault } from '../../src/tokens/vault.ts'

/** Our side of P5: a whole daemon, whose accounts come due in two lots - to warm up, and to be measured. */
const [url = '', redisUrl = ''] = process.argv.slice(2)
const WARM_UP = 5_000
const COUNT = 20_000
const KEY = Buffer.alloc(32, 1)

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
const measuredFrom = Date.now() + 12_000
await seed(1, WARM_UP, Date.now())
await seed(WARM_UP + 1, COUNT, measuredFrom)

const lifecycle = new Lifecycle()
const log = createLogger({ level: 'warn', pretty: false })
await startApp({ config: loaded.config, clock: systemClock, random: Math.random, log }, lifecycle)
await pause(measuredFrom - Date.now() - 100)
const left = await due.countDue('refresh', measuredFrom - 1)
if (left > 0) throw new Error(`the warm-up was not over: ${left} left`)
const before = process.cpuUsage()
await pause(500)
// Claimed accounts come due again within a minute; refreshed ones in a quarter of an hour at the soonest.
while ((await due.countDue('refresh', Date.now() + 10 * 60_000)) > 0) await pause(50)
const { user, system } = process.cpuUsage(before)
console.log(COUNT / ((user + system) / 1e6))
await lifecycle.close()
store.disconnect()
rmSync(folder, { recursive: true, force: true })
process.exit()

/** Accounts as a connect leaves them, due at `dueAt`. */
async function seed(from: number, count: number, dueAt: number): Promise<void> {
  const vault = createVault([{ id: 'k1', key: KEY }])
  const obtainedAt = dueAt - 1_700_000
  for (let hubId = from; hubId < from + count; hubId++) {
    const account = keys.account(hubId)
    const partition = keys.partition(keys.partitionOf(hubId))
    const token = new Secret('6f18f21e-a743-4509-b7fd-1a5e632fffa1')
    void store.hset(account.account, {
      ...{ state: 'active', hubDomain: `hub-${hubId}.example.com`, generation: 1, refreshedAt: obtainedAt },
      ...{ obtainedAt, expiresAt: obtainedAt + 1_800_000, connectedAt: obtainedAt },
    })
    void store.hset(account.tokens, {
      access: vault.seal(new Secret('A'.repeat(400)), hubId, 'access'),
      refresh: vault.seal(token, hubId, 'refresh'),
      scopes: 'oauth crm.objects.contacts.read',
    })
    void store.zadd(partition.state.active, hubId, hubId)
    await (hubId % 500 === 0
      ? store.zadd(partition.due.refresh, dueAt, hubId)
      : void store.zadd(partition.due.refresh, dueAt, hubId))
  }
  await store.ping()
}
