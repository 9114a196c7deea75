import fc from 'fast-check'
import { expect, test } from 'vitest'
import { thinOut } from '../../../src/limits/history/resolutions.ts'
import { HUB, type World, worldOfFile } from '../../support/world.ts'
import { associations, pollAccount, properties, readings } from '../reports.ts'
import { DAY, HOUR, START } from './records.ts'

const world = worldOfFile()

/** Object types and pairs come and go, and numbers come back, so that places in the record are used again. */
const report = fc.record({
  passes: fc.integer({ min: 1, max: 6 * HOUR }),
  overall: fc.nat(2),
  types: fc.dictionary(fc.constantFrom('0-1', '0-2', '2-9'), fc.tuple(fc.nat(2), fc.constantFrom(0, 5)), {
    noNullPrototype: true,
  }),
  pairs: fc.dictionary(fc.constantFrom('0-1/0-2', '0-2/0-1'), fc.nat(2), { noNullPrototype: true }),
})

async function polled(
  { store, keys }: World,
  reports: (typeof report extends fc.Arbitrary<infer T> ? T : never)[],
  from: number,
) {
  let at = from
  for (const { passes, overall, types, pairs } of reports) {
    at += passes
    const shown = Object.entries(pairs).map(([pair, full]) => [pair, associations(10, [], full)])
    const read = readings(at, properties(overall, 9, types), Object.fromEntries(shown))
    await pollAccount(store, keys, HUB, at, read, 4 * HOUR)
  }
  return at
}

test('what is thinned out, stored and polled on reads back as the same changes', async () => {
  const reports = fc.array(report, { minLength: 1, maxLength: 15 })
  const keep = { rawMs: 6 * HOUR, hourlyMs: 20 * HOUR, dailyMs: 3 * DAY }
  await fc.assert(
    fc.asyncProperty(reports, reports, async (before, later) => {
      const w = await world()
      await w.account({ obtainedAt: START })
      const { history } = w.services
      let at = START
      const days: (typeof reports extends fc.Arbitrary<infer T> ? T : never)[] = [before, later]
      for (const some of days) {
        at = await polled(w, some, at)
        const record = await history.changes(HUB)
        if (record === undefined) throw new Error('nothing was polled')
        const thinned = thinOut(record.current, record.changes, at, keep)
        expect(await history.replace(HUB, record, thinned)).toBe('replaced')
        const read = await history.changes(HUB)
        expect(read?.changes.map(inOrder)).toEqual(thinned.map(inOrder))
        expect(read?.current).toEqual(record.current)
      }
      await w.close()
    }),
    { numRuns: 12 },
  )
})

function inOrder({ before, ...change }: { before: [string, unknown][] }): object {
  return { ...change, before: [...before].sort(([a], [b]) => (a < b ? -1 : 1)) }
}
