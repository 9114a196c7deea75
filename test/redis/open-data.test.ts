import { expect, onTestFinished, test } from 'vitest'
import { openData } from '../../src/redis/open-data.ts'
import { createClock } from '../../src/runtime/clock.ts'
import { Lifecycle } from '../../src/runtime/lifecycle.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const RIGHT = Date.parse('2026-11-21T10:00:00.000Z')
const MINUTE = 60_000

test.each([20_000, -20_000])(
  'a daemon that waited a minute for Redis knows its time, %i ms from its own',
  async (ahead) => {
    let passed = 0
    const clock = createClock({ now: () => RIGHT + passed + ahead, steady: () => passed })
    const store = redis.connect('steps')
    // Its first answer comes once it is connected.
    await store.ping()
    let asked = 0
    const readTime = async () => {
      const now = RIGHT + passed + (asked++ === 0 ? MINUTE / 2 : 5)
      passed += asked === 1 ? MINUTE : 10
      return now
    }
    Object.assign(store, { readTime })
    const lifecycle = new Lifecycle()
    onTestFinished(() => lifecycle.close())
    await openData({ store, keys: redis.freshKeys(), clock }, lifecycle)
    expect(Math.abs(clock.now() - (RIGHT + passed))).toBeLessThan(100)
  },
)
