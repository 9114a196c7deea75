import { afterAll, beforeAll, expect, test } from 'vitest'
import corpus from './corpus.json' with { type: 'json' }
import { MIXES, type MixName } from './mixes.ts'
import { startOwnRedis } from './own-redis.ts'
import { simulate } from './simulate.ts'

/** `npm run test:daemons` tries more of them. */
const SEEDS = Number(process.env.PLIMSOLL_SEEDS ?? 15)

/** Where the CPU is scarce, two calls of one moment may come in the other order: a schedule that comes twice is the seed's. */
const MOST_RUNS = 5

let redis: Awaited<ReturnType<typeof startOwnRedis>>
beforeAll(async () => {
  redis = await startOwnRedis()
})
afterAll(() => redis.stop())

const names = Object.keys(MIXES) as MixName[]

test.each(names)('%s: all holds in the end, whatever the order', (name) =>
  expectAll(
    name,
    Array.from({ length: SEEDS }, (_, n) => n + 1),
  ),
)

/** Seeds that failed, by `npm run simulate -- --keep`. */
const found = Object.entries(corpus) as [MixName, number[]][]
test.each(found)('%s: what was found once stays away', expectAll)

async function expectAll(name: MixName, seeds: readonly number[]): Promise<void> {
  const failed: string[] = []
  for (const seed of seeds) {
    const { violations, schedule } = await simulate(redis.store, MIXES[name], seed)
    const isNew = violations.length > 0
    if (isNew && failed.length === 0) failed.push(schedule.join('\n'))
    if (isNew) failed.push(`npm run simulate -- --mix "${name}" --seed ${seed}: ${violations.map(({ what }) => what)}`)
  }
  expect(failed).toEqual([])
}

test.each(names.filter((_, n) => n % 4 === 0))('%s: a seed that is run again goes the same way', async (name) => {
  const schedules: string[] = []
  const isKnown = async () => {
    const schedule = (await simulate(redis.store, MIXES[name], 30)).schedule.join('\n')
    return schedules.includes(schedule) || schedules.push(schedule) === MOST_RUNS
  }
  while (!(await isKnown()));
  expect(schedules.length).toBeLessThan(MOST_RUNS)
})
