import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../config/load.ts'
import { ruleSetOf } from '../../src/cli/rule-set.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, type Keys } from '../../src/redis/keys.ts'
import { associations, properties, readings } from '../limits/reports.ts'
import { dump, seedAccount } from '../support/accounts.ts'
import { plimsoll, plimsollHere } from '../support/command.ts'
import { writeDaemonConfig } from '../support/daemon.ts'
import { HandClock } from '../support/hand-clock.ts'
import { pollAndTell } from '../support/polled-account.ts'
import { startRedis, type TestRedis } from '../support/redis-server.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const EVERY = 15 * MINUTE
const clock = new HandClock()
const NOW = clock.now()

let redis: TestRedis
let store: Store
let keys: Keys
let folder: string
let config: string

const SETTINGS = {
  limits: { every: '15m', associations: [{ from: '0-1', to: '0-2' }] },
  encryption: { keys: [{ id: 'k1', key: Buffer.alloc(32, 7).toString('base64') }] },
  thresholds: [
    { on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } },
    { name: 'full', on: 'associations.atLimit', warning: { count: 1 } },
  ] as object,
}

/** Four accounts, polled every quarter of an hour: one rises, one flaps, one stands still, one was never read. */
const [RISING, FLAPPING, STILL, NEW] = [1, 2, 3, 4] as const

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-plan-'))
  redis = await startRedis()
  store = redis.store()
  keys = createKeys('plimsoll')
  config = written('running', {})
  const settings = { ...rulesOf(config), pageOf: () => '' }
  const begun = NOW - 6 * HOUR
  for (const hubId of [RISING, FLAPPING, STILL, NEW])
    await seedAccount(store, keys, { hubId, hubDomain: `d${hubId}.example.com`, obtainedAt: begun })
  for (let n = 0; begun + n * EVERY <= NOW; n++) {
    const at = begun + n * EVERY
    const poll = (hubId: number, usage: number, full = 0) =>
      pollAndTell(
        store,
        keys,
        settings,
        hubId,
        at,
        readings(at, properties(usage), { '0-1/0-2': associations(10, [], full) }),
      )
    await poll(RISING, 780 + n * 8)
    await poll(FLAPPING, n % 4 < 2 ? 700 : 850, n % 8 === 7 ? 2 : 0)
    await poll(STILL, 760)
  }
})
afterAll(async () => {
  await redis.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A config file that differs from the running one in these settings. */
function written(name: string, settings: Record<string, object>): string {
  const made = writeDaemonConfig(folder, {
    ...{ sandboxUrl: 'http://127.0.0.1:9', smtpUrl: 'smtp://127.0.0.1:9', redisUrl: redis.url, port: 9 },
    settings: { ...SETTINGS, ...settings },
  })
  const file = `${name}.yaml`
  writeFileSync(join(folder, file), readFileSync(made, 'utf8'))
  return file
}

function rulesOf(file: string) {
  const loaded = loadConfig({ file, env: {}, cwd: folder, now: NOW })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return ruleSetOf(loaded.config)
}

const plan = (...args: string[]) => plimsollHere(['thresholds', 'plan', ...args, '--config', config], folder, { clock })

test('prints', async () => {
  const file = written('lower', {
    thresholds: [{ on: 'customProperties.overall', warning: { percent: 75, daysLeft: 3 }, critical: { percent: 84 } }],
    routes: [{ match: { level: 'critical' }, to: ['ops-hook', 'ops-mail'] }],
  })
  const ran = await plan(file, '--over', '2d')
  console.log(ran.out, ran.err)
  const same = await plan(config)
  console.log(same.out, same.err)
  console.log((await plan(file, '--json')).out)
})
