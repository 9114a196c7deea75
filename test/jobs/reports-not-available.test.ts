import { expect, test } from 'vitest'
import { Registry } from '../../src/accounts/registry.ts'
import { HUB } from '../accounts/connected.ts'
import { properties } from '../limits/reports.ts'
import { outboxOf, seedAccount } from '../support/accounts.ts'
import { pollClaimed } from '../support/committed-poll.ts'
import { failure } from '../support/fake-provider.ts'
import { redisOfFile } from '../support/of-file.ts'
import { EVERY_MS, pollSettings, pollWork } from './poll-work.ts'

const redis = redisOfFile()
const DAY = 86_400_000

/** An account at rest, of which everything is read but pipelines. */
async function withoutPipelines() {
  const keys = redis.freshKeys()
  const { work, clock, provider } = pollWork(
    redis.store,
    keys,
    {
      customProperties: async () => ({ ok: true, value: properties(10) }),
      report: async () => failure('forbidden', { status: 403 }),
    },
    { polling: pollSettings({ reports: ['customProperties', 'pipelines'] }) },
  )
  await seedAccount(redis.store, keys, { obtainedAt: clock.now(), lifeMs: 400 * DAY })
  return {
    /** What was asked for. */
    poll: async () => {
      provider.calls.length = 0
      await pollClaimed(work, [HUB])
      clock.move(EVERY_MS)
      return provider.calls.map(([name]) => name).sort()
    },
    account: async () => (await new Registry(redis.store, keys).get(HUB))?.notAvailable,
    alerts: () => outboxOf(redis.store, keys, HUB),
  }
}

test('a report that an account at rest does not have is asked for once a day, also after the first one, and is no alert', async () => {
  const { poll, account, alerts } = await withoutPipelines()
  const perDay = DAY / EVERY_MS
  const askedAt: number[] = []
  for (let n = 0; n < 2 * perDay + 3; n++) if ((await poll()).includes('pipelines')) askedAt.push(n)
  expect(askedAt).toEqual([0, perDay, 2 * perDay])
  expect(await account()).toEqual(['pipelines'])
  expect(await alerts()).toEqual([])
})
