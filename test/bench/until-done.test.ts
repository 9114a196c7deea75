import { expect, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { type Served, untilDone } from './until-done.ts'

const redis = redisOfFile()

test('a lot is done when the far side has counted its calls, and then Redis nothing that was claimed and not stored', async () => {
  const [store, keys] = [redis.store, redis.freshKeys()]
  const { due } = keys.partition(7)
  // Claimed, and due again within a minute; the other has its next turn.
  await store.zadd(due.refresh, Date.now() + 60_000, 1, Date.now() + 900_000, 2)
  const seen: Served[] = []
  const far = { refreshes: 0, polls: 3 }
  const served = async () => {
    far.refreshes++
    // Stored when it was asked for the fourth time.
    if (far.refreshes === 4) await store.zadd(due.refresh, Date.now() + 900_000, 1)
    seen.push({ ...far })
    return far
  }
  await untilDone({ store, keys }, served, { refreshes: 2, polls: 3 })
  expect(seen.map(({ refreshes }) => refreshes)).toEqual([1, 2, 3, 4])
})
