import { expect, test } from 'vitest'
import { sweepFailedCalls } from '../../jobs/sweep-failed-calls.ts'
import { fleetAnnouncer } from '../../src/alerts/kinds/fleet-alert.ts'
import { FailedCalls } from '../../src/heartbeat/failed-calls.ts'
import { NO_ACCOUNT } from '../../src/redis/steps.ts'
import { outboxOf } from '../support/accounts.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const DAY = 86_400_000

test('an alert about all accounts opens, gets worse, gets better and ends with the share of failed calls', async () => {
  const [keys, clock, logged, woken] = [redis.freshKeys(), new HandClock(), logLines(), [] as string[]]
  const work = {
    failedCalls: new FailedCalls(redis.store, keys, { warning: 0.03, critical: 0.05 }),
    announceFleet: fleetAnnouncer({ repeatEveryMs: DAY, page: 'https://plimsoll.example.com/' }),
    queues: { wake: async (kind: string) => void woken.push(kind) } as never,
    ...{ clock, log: logged.log },
  }
  const sweepWith = async (failed: number, calls = 10_000) => {
    const day = Math.floor(clock.now() / DAY)
    await redis.store.hset(keys.providerCalls, { [`${day}:calls`]: calls, [`${day}:failed`]: failed })
    await sweepFailedCalls(work)
    await sweepFailedCalls(work)
    const told = await outboxOf(redis.store, keys, NO_ACCOUNT)
    return told.map(({ kind, status, level, reason, cause }) => [kind, status, level, reason, cause].join(' '))
  }
  expect(await sweepWith(299)).toEqual([])
  const opened = 'fleet firing warning entered calls'
  expect(await sweepWith(300)).toEqual([opened])
  expect(await sweepWith(290)).toEqual([opened])
  const worse = [opened, 'fleet firing critical escalated calls']
  expect(await sweepWith(500)).toEqual(worse)
  const eased = [...worse, 'fleet firing warning eased calls']
  expect(await sweepWith(440)).toEqual(eased)
  expect(await sweepWith(269)).toEqual([...eased, 'fleet resolved warning recovered calls'])
  const [first] = await outboxOf(redis.store, keys, NO_ACCOUNT)
  expect(first?.message).toMatch(/^3 % of 10,000 calls failed in 30 days \(the provider allows 5 %\)\. /)
  expect(woken).toEqual(['alerts', 'alerts', 'alerts', 'alerts'])
  expect(logged.lines().map(({ code }) => code)).toEqual([
    ...['calls.failing', 'calls.failing', 'calls.failing', 'calls.recovered'],
  ])
})
