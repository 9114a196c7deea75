import { afterEach, expect, test, vi } from 'vitest'
import { startDaemonReports, startReports } from '../../src/app/process-reports.ts'
import { DaemonStore, ROLES } from '../../src/heartbeat/daemons.ts'
import type { Logger } from '../../src/runtime/logger.ts'
import { createVault, type Vault, type VaultKey } from '../../src/tokens/vault.ts'
import { daemonStatus } from '../../src/views/fleet-health.ts'
import { configOf, SMALLEST, smallestWith } from '../config/load-text.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const NOW = 1_763_719_200_000
afterEach(() => void vi.useRealTimers())

test('a daemon says by which config it works as often as that it runs, another one at once, and takes leave of both', async () => {
  const keys = redis.freshKeys()
  const vault = createVault([{ id: 'k1', key: Buffer.alloc(32, 1) }])
  const clock = { now: () => NOW } as never
  let config = configOf(SMALLEST)
  const daemons = new DaemonStore(redis.store, keys)
  const said = async () => (await daemons.read()).map(({ name, config }) => [name, config])
  const facts = {
    now: NOW,
    startedAt: NOW - 5_000,
    redisOk: true,
    redisSince: NOW - 1_000,
    lastSweeps: {},
    expected: {},
    standstills: { deliver: 200_000 },
    answersTrouble: 'no key',
  }
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const reports = await startDaemonReports(
    () => ({ store: redis.store, keys, clock, vault, config, log: logLines().log }),
    'a pid 1',
    new Set(ROLES),
    async () => facts,
    () => ['k0'],
  )
  const first = await said()
  expect(first).toEqual([['a pid 1', expect.stringMatching(/^[0-9a-f]{16}$/)]])

  // Whoever took it for dead while Redis was away from it struck it out.
  await redis.store.del(keys.daemons)
  vi.advanceTimersByTime(10_000)
  await vi.waitFor(async () => expect(await said()).toEqual(first))

  config = configOf(smallestWith('tags: { vip: [1] }'))
  await reports.report()
  expect(await said()).not.toEqual(first)
  const [daemon] = await daemons.read()
  expect(daemon).toMatchObject({
    ill: [{ name: 'sealed-tokens', says: 'no key' }],
    sweeps: { since: NOW - 1_000, pauses: { alerts: 10_000, grants: 40_000 } },
  })
  expect(daemon && daemonStatus(daemon, NOW)).not.toHaveProperty('config')
  expect(await daemons.writers(NOW)).toEqual([{ daemon: 'a pid 1', keyId: 'k1', needs: ['k0'] }])
  await reports.stop()
  expect(await said()).toEqual([])
})

test('a command that writes tokens reports its key, and is no daemon; who lacks that key says so once, and again after it had it', async () => {
  const keys = redis.freshKeys()
  const [k1, k2] = [1, 2].map((n) => ({ id: `k${n}`, key: Buffer.alloc(32, n) })) as [VaultKey, VaultKey]
  const vault = createVault([k1])
  const logged = logLines()
  const clock = { now: () => NOW } as never
  const shared = { store: redis.store, keys, clock }
  const daemons = new DaemonStore(redis.store, keys)
  const command = (vault: Vault, log: Logger, name: string) =>
    startReports(
      () => ({ ...shared, vault, log }),
      name,
      async () => ({ config: '', roles: [] }),
    )
  const mine = await command(vault, logged.log, 'a pid 1 (accounts import)')
  const both = createVault([k2, k1])
  const other = await command(both, logLines().log, 'b pid 2 (accounts import)')
  expect((await daemons.writers(NOW)).map(({ keyId }) => keyId)).toEqual(['k1', 'k2'])
  expect(await daemons.read()).toEqual([])
  await mine.report()
  await mine.report()
  const told = () => logged.lines().filter(({ code }) => code === 'vault.key-missing')
  expect(told()).toMatchObject([{ key: 'k2', writer: 'b pid 2 (accounts import)', level: 'error' }])
  vault.replace([k1, k2])
  await mine.report()
  expect(told()).toHaveLength(1)

  // A Redis that took over may not know its key. One that a rekey has closed does not come back with a process that was away.
  await redis.store.del(keys.canaries)
  await mine.report()
  expect(await redis.store.hkeys(keys.canaries)).toEqual(['k1'])
  await redis.store.del(keys.canaries)
  await redis.store.hset(keys.fleet, 'closed-key:k1', 'a-rekey')
  await mine.report()
  expect(await redis.store.hkeys(keys.canaries)).toEqual([])
  await mine.stop()
  await other.stop()
  expect(await daemons.writers(NOW)).toEqual([])
})

test('what was held back by a config that no daemon has any more is judged again', async () => {
  const keys = redis.freshKeys()
  const vault = createVault([{ id: 'k1', key: Buffer.alloc(32, 1) }])
  let now = NOW
  const shared = { store: redis.store, keys, clock: { now: () => now } as never, vault, log: logLines().log }
  const daemon = (name: string) =>
    startReports(
      () => shared,
      name,
      async () => ({ config: name, roles: ROLES, sweeps: { since: NOW, pauses: {} } }),
    )
  const rechecks = () => redis.store.get(keys.holdChanges)
  const [mine, stopped, died] = [await daemon('a'), await daemon('b'), await daemon('c')]
  await mine.report()
  expect(await rechecks()).toBeNull()
  await stopped.stop()
  await mine.report()
  expect(await rechecks()).toBe('1')
  now += 60_000
  await mine.report()
  await mine.report()
  expect(await rechecks()).toBe('2')
  await Promise.all([mine.stop(), died.stop()])
})
