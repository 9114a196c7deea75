import { expect, test } from 'vitest'
import { type Daemon, DaemonStore, ROLES } from '../../src/heartbeat/daemons.ts'
import { daemonStatus } from '../../src/views/fleet-health.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const NOW = 1_763_719_200_000
const HOUR = 3_600_000

const daemon = (name: string, lastSeenAt: number, startedAt = NOW - HOUR): Daemon => {
  return { name, version: '1.0.0', startedAt, lastSeenAt, config: 'f00d', roles: ROLES }
}

test('daemons are listed from when they say that they run until they stop, longest running first', async () => {
  const daemons = new DaemonStore(redis.store, redis.freshKeys())
  await daemons.report(daemon('b pid 1', NOW))
  await daemons.report(daemon('a pid 2', NOW, NOW - 2 * HOUR))
  await daemons.report(daemon('b pid 1', NOW + 10_000))
  expect(await daemons.read()).toEqual([daemon('a pid 2', NOW, NOW - 2 * HOUR), daemon('b pid 1', NOW + 10_000)])
  await daemons.leave('b pid 1')
  expect((await daemons.read()).map(({ name }) => name)).toEqual(['a pid 2'])
})

test('what no daemon wrote is passed over', async () => {
  const keys = redis.freshKeys()
  const daemons = new DaemonStore(redis.store, keys)
  await daemons.report(daemon('a', NOW))
  const unreadable = [
    'x',
    '',
    '[]',
    'null',
    '{"startedAt":"x"}',
    JSON.stringify({ ...daemon('b', NOW), startedAt: 1e300 }),
  ]
  for (const [n, said] of unreadable.entries()) await redis.store.hset(keys.daemons, `other ${n}`, said)
  await daemons.report(daemon('a', NOW))
  expect(await daemons.read()).toEqual([daemon('a', NOW)])
})

test('one that died is silent soon, and forgotten by the others after a day', async () => {
  const daemons = new DaemonStore(redis.store, redis.freshKeys())
  await daemons.report(daemon('dead', NOW))
  await daemons.report(daemon('alive', NOW + 23 * HOUR))
  const statuses = (await daemons.read()).map((one) => daemonStatus(one, NOW + 23 * HOUR))
  expect(statuses.map(({ name, silent }) => [name, silent])).toEqual([
    ['alive', false],
    ['dead', true],
  ])
  await daemons.report(daemon('alive', NOW + 25 * HOUR))
  expect((await daemons.read()).map(({ name }) => name)).toEqual(['alive'])
})
