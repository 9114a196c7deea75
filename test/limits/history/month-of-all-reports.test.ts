import { expect, test } from 'vitest'
import { type Change, changeBetween, encodeBlock, encodeChange } from '../../../src/limits/history/change.ts'
import { writePollState } from '../../../src/limits/poll-state-text.ts'
import { mergeReadings, type Readings } from '../../../src/limits/readings.ts'
import { REPORTS } from '../../../src/limits/reports/all-reports.ts'
import type { ReportedValue } from '../../../src/limits/reports/report.ts'
import { dice } from '../../support/dice.ts'
import { reportsOf } from '../../support/large-reports.ts'
import { type Fetched, polledState, readBody } from '../reports.ts'

const START = Date.UTC(2026, 1, 1)
const HUB = 20_000_000
const EVERY_MS = 15 * 60_000
const POLLS = (30 * 86_400_000) / EVERY_MS
/** Of ten polls one finds up to three series changed. */
const [CHANGED, MOST_SERIES] = [10, 3]
const CHANGES_OF_A_DAY = 10

const type = (objectTypeId: string) => ({
  objectTypeId,
  singularLabel: 'Thing',
  pluralLabel: `Things of ${objectTypeId}`,
})
const numbers = (usage: number, limit: number) => ({ limit, usage, percentage: (usage * 100) / limit })
const overall = (usage: number, limit: number) => ({
  overallLimit: limit,
  overallUsage: usage,
  overallPercentage: (usage * 100) / limit,
})
const byOrigin = (ids: readonly string[], usage: number, limit: number) => ({
  hubspotDefinedObjectTypes: ids.map((id) => ({ ...type(id), ...numbers(usage, limit) })),
  customObjectTypes: { ...overall(usage, limit), byObjectType: [] },
})
const TYPES = ['0-1', '0-2', '0-3', '0-5', '0-7', '0-8', '0-14', '0-136']

/** As much as a large account has: beside the largest reports of properties and associations, a dozen pairs with labels and records by the million. */
function allOf(at: number): Fetched {
  const { customProperties, associations } = reportsOf(HUB)
  const bodies: Record<string, object> = {
    customProperties,
    ...Object.fromEntries(Object.entries(associations).map(([pair, body]) => [`associations/${pair}`, body])),
    associationLabels: {
      results: TYPES.slice(0, 4).flatMap((from) =>
        TYPES.slice(0, 3).map((to) => ({
          fromObjectType: type(from),
          toObjectType: type(to),
          allLabels: [],
          ...numbers(9, 50),
        })),
      ),
    },
    calculatedProperties: overall(80, 200),
    customObjectTypes: numbers(6, 10),
    pipelines: byOrigin(['0-3', '0-5', '0-123'], 20, 100),
    records: byOrigin(TYPES, 4_000_000, 15_000_000),
  }
  const read = Object.entries(bodies).map(([key, body]) => [key, readBody(key, body)] as const)
  return { at, reports: new Map(read) }
}

test('a month of all reports of one account, and its last numbers, take less than 9 kB', () => {
  const roll = dice(HUB)
  let readings: Readings = mergeReadings(undefined, allOf(START))
  const changes: Change[] = []
  for (let n = 1; n < POLLS; n++) {
    if (roll(100) >= CHANGED) continue
    const at = START + n * EVERY_MS
    const after = moved(readings, at, roll)
    const change = changeBetween(readings, after, at, Number.POSITIVE_INFINITY)
    if (change !== undefined) changes.push(change)
    readings = after
  }
  expect(Object.keys(readings).length).toBeGreaterThanOrEqual(REPORTS.length)
  expect(changes.length).toBeGreaterThan(250)
  const tended = changes.slice(0, -CHANGES_OF_A_DAY)
  const since = changes.slice(-CHANGES_OF_A_DAY).map(encodeChange).join('')
  expect(encodeBlock(tended).length + since.length + writePollState(polledState(START, readings)).length).toBeLessThan(
    9_000,
  )
})

/** Some of its numbers, by little; of records, which are many, by more. */
function moved(before: Readings, at: number, roll: (sides: number) => number): Readings {
  const count = Object.values(before).reduce((sum, { values }) => sum + values.length, 0)
  const chosen = new Set(Array.from({ length: 1 + roll(MOST_SERIES) }, () => roll(count)))
  let n = 0
  const move = (value: ReportedValue) =>
    chosen.has(n++) ? { ...value, usage: value.usage + 1 + roll(value.usage > 10_000 ? 5_000 : 20) } : value
  return Object.fromEntries(Object.entries(before).map(([key, { values }]) => [key, { at, values: values.map(move) }]))
}
