import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXPECTED_TO_FAIL, MIXES, type MixName } from './mixes.ts'
import { startOwnRedis } from './own-redis.ts'
import { simulate } from './simulate.ts'

/** `npm run test:daemons` tries more of them. */
const SEEDS = Number(process.env.PLIMSOLL_SEEDS ?? 15)

let redis: Awaited<ReturnType<typeof startOwnRedis>>
beforeAll(async () => {
  redis = await startOwnRedis()
})
afterAll(() => redis.stop())

const names = Object.keys(MIXES) as MixName[]

test.each(names.filter((name) => !EXPECTED_TO_FAIL.has(name)))(
  '%s: all holds in the end, whatever the order',
  async (name) => {
    const found: string[] = []
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violations, schedule } = await simulate(redis.store, MIXES[name], seed)
      const isNew = violations.length > 0
      if (isNew && found.length === 0) found.push(schedule.join('\n'))
      if (isNew) found.push(`npm run simulate -- --mix "${name}" --seed ${seed}: ${violations.map(({ what }) => what)}`)
    }
    expect(found).toEqual([])
  },
  240_000,
)

test.each(Object.keys(MIXES) as MixName[])('%s: a seed that is run again goes the same way', async (name) => {
  const first = await simulate(redis.store, MIXES[name], 30)
  const second = await simulate(redis.store, MIXES[name], 30)
  expect(second.schedule).toEqual(first.schedule)
})
