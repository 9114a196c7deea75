import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { loadConfig } from '../../config/load.ts'
import { startApp } from '../../src/app.ts'
import { connectRedis } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Lifecycle } from '../../src/runtime/lifecycle.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { growHeapEvenly } from '../../src/runtime/process.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { BENCH_KEY, bringDue, checkAccounts, countDueBy, seedAccounts } from './cycle-accounts.ts'
import { readOrders, serveRounds } from './cycle-run.ts'

/**
 * Our side of the cycle: a whole daemon. All accounts are polled for the first time, so that there is something to compare
 * with, and once more to warm up; then all come due, with a share of them for a refresh, in each round.
 */
const PAIRS = [
  ['0-1', '0-2'],
  ['0-2', '0-1'],
  ['0-1', '0-3'],
]
/** Until the code is compiled: after one lot it still became a tenth faster from round to round. */
const WARM_UP_LOTS = 4
// As `plimsoll start` does.
growHeapEvenly()
const orders = readOrders()
const { accounts, refreshShare } = orders
const folder = mkdtempSync(join(tmpdir(), 'plimsoll-bench-'))
const loaded = loadConfig({
  ...{ file: 'bench.json', env: {}, cwd: folder, now: Date.now() },
  readFile: () => JSON.stringify(settings()),
})
if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
const { config } = loaded

const store = connectRedis({ kind: 'url', url: new Secret(orders.redisUrl) }, 'steps', () => {})
const keys = createKeys(config.redis.prefix)
await seedAccounts(store, keys, accounts)
const lifecycle = new Lifecycle()
const log = createLogger({ level: 'error', pretty: false }, { write: (line) => void process.stderr.write(line) })
await startApp({ config, clock: systemClock, random: Math.random, log }, lifecycle)
let polls = 1
await allDone()
for (let warmedUp = 0; warmedUp < WARM_UP_LOTS; warmedUp++) {
  await lot()
  await allDone()
}
await serveRounds(orders, allDone, async () => {
  // While others had their turns nothing was refreshed, and after ten seconds of that the token endpoint is asked slowly at
  // first: a start, and not what a cycle costs.
  await lot()
  await allDone()
  const from = await lot()
  await pause(from - Date.now() - 50)
})
await lifecycle.close()
store.disconnect()
rmSync(folder, { recursive: true, force: true })
process.exit()

/** All accounts come due once more; late enough that the daemon finds all of them at once. */
async function lot(): Promise<number> {
  await checkAccounts(store, keys, accounts, polls++)
  const at = Date.now() + 1_500 + accounts / 10
  await bringDue(store, keys, { from: 0, to: accounts, refreshShare }, at)
  return at
}

/** What was claimed comes due again within a minute; what is done in minutes, at the soonest. */
async function allDone(): Promise<void> {
  while ((await countDueBy(store, keys, Date.now() + 90_000)) > 0) await pause(30)
}

function settings() {
  return {
    provider: {
      ...{ baseUrl: orders.providerUrl, clientId: 'bench', clientSecret: 'bench', api: '2026-03' },
      connections: orders.inFlight,
      // What is measured is the work, not the manners.
      tokenRate: { requests: 1_000_000, per: '1s' },
    },
    redis: { url: orders.redisUrl, prefix: `bench-${process.pid}` },
    encryption: { keys: [{ id: 'k1', key: BENCH_KEY.toString('base64') }] },
    schedule: { refreshTokens: '* * * * * *', pollLimits: '* * * * * *' },
    // Nobody is polled between two rounds, however long the other sides take.
    limits: { every: '6h', soonest: '6h', associations: PAIRS.map(([from, to]) => ({ from, to })) },
    // As many rules as there are without any. No account is at a level: a fleet where all are is a storm.
    thresholds: [
      { on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } },
      { on: 'customProperties.objectType', warning: { percent: 80 }, critical: { percent: 95 } },
      { on: 'associations.atLimit', warning: { count: 1_000 } },
      { on: 'associations.fullest', warning: { count: 100_000 }, critical: { count: 200_000 } },
    ],
    receivers: { nobody: { type: 'email', smtp: 'smtp://127.0.0.1:1', from: 'a@b.c', to: ['a@b.c'] } },
    routes: [{ to: ['nobody'] }],
    http: { listen: '127.0.0.1:0', publicUrl: 'http://127.0.0.1' },
  }
}
