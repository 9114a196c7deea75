import fc from 'fast-check'
import { expect, test } from 'vitest'
import { redisOfFile } from '../../support/of-file.ts'
import { calm, live, rough } from './a-history.ts'
import { Judge } from './judge.ts'

const redis = redisOfFile()

test.each([
  ['calm', 'rule'],
  ['calm', 'account'],
  ['calm', 'level'],
  ['rough', 'rule'],
  ['rough', 'account'],
] as const)('in a %s history, grouped by %s, every receiver is sent what it should be', async (kind, by) => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(kind === 'calm' ? calm : rough, async (history) => {
      const judge = new Judge(kind === 'calm', by)
      await live(history, by, judge, redis.store, redis.freshKeys())
      for (const what of judge.seen) seen.add(what)
    }),
    { numRuns: process.env.PLIMSOLL_FULL === '1' ? 200 : 20 },
  )
  expect([...seen]).toEqual(expect.arrayContaining(['alert.firing', 'alert.resolved', 'alert.digest', 'digest']))
})
