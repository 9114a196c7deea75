import { afterEach, expect, test, vi } from 'vitest'
import { startDaemonReports } from '../../src/app/watches.ts'
import { DaemonStore, ROLES } from '../../src/heartbeat/daemons.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { daemonStatus } from '../../src/views/fleet-health.ts'
import { configOf, SMALLEST, smallestWith } from '../config/load-text.ts'
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
    () => ({ store: redis.store, keys, clock, vault, config }),
    'a pid 1',
    new Set(ROLES),
    async () => facts,
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
  await reports.stop()
  expect(await said()).toEqual([])
})
