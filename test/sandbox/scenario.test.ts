import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SERVED_REPORTS } from '../../src/sandbox/limits/all-reports.ts'
import {
  REPORTED_PAIRS,
  type ServedAssociationReport,
  servedAssociations,
} from '../../src/sandbox/limits/association-records.ts'
import { servedCustomProperties } from '../../src/sandbox/limits/custom-properties.ts'
import type { Scenario } from '../../src/sandbox/scenario.ts'
import { ASSOCIATIONS, CUSTOM_PROPERTIES, HUB, visit } from './visit.ts'

const HUBS = Array.from({ length: 25 }, (_, place) => HUB + place)
const hubId = fc.integer({ min: 1, max: 2 ** 31 })
const elapsedMs = fc.integer({ min: 0, max: 10 * 60_000 })
const scenario = fc.constantFrom<Scenario>('steady', 'climbing')

interface ServedCustomPropertyReport {
  overallLimit: number
  overallUsage: number
  overallPercentage: number
  byObjectType: { objectTypeId: string; usage: number; limit: number; percentage: number }[]
}

function customPropertyReport(scenario: Scenario, hub: number, at: number): ServedCustomPropertyReport {
  const moment = { scenario, hubId: hub, elapsedMs: at }
  return servedCustomProperties.body(moment, {}, (counts) => counts) as ServedCustomPropertyReport
}

function associationReport(scenario: Scenario, hub: number, pair: { from: string; to: string }, at: number) {
  const moment = { scenario, hubId: hub, elapsedMs: at }
  return servedAssociations.body(moment, pair, (counts) => counts) as ServedAssociationReport
}

function associationsOf(kind: Scenario, hub: number, at: number): ServedAssociationReport[] {
  return REPORTED_PAIRS.map(([from, to]) => associationReport(kind, hub, { from, to }, at))
}

function overall(kind: Scenario, hub: number, at: number): number {
  return customPropertyReport(kind, hub, at).overallPercentage
}

function fullestType({ byObjectType }: ServedCustomPropertyReport): number {
  return Math.max(...byObjectType.map(({ percentage }) => percentage))
}

describe('any report', () => {
  test('is the same for the same account at the same moment', () => {
    fc.assert(
      fc.property(scenario, hubId, elapsedMs, (kind, hub, at) => {
        expect(customPropertyReport(kind, hub, at)).toEqual(customPropertyReport(kind, hub, at))
        expect(associationsOf(kind, hub, at)).toEqual(associationsOf(kind, hub, at))
      }),
    )
  })

  test('of custom properties keeps usage within limits and percentages true to three decimals', () => {
    fc.assert(
      fc.property(scenario, hubId, elapsedMs, (kind, hub, at) => {
        const { overallUsage, overallLimit, overallPercentage, byObjectType } = customPropertyReport(kind, hub, at)
        const parts = [...byObjectType, { usage: overallUsage, limit: overallLimit, percentage: overallPercentage }]
        for (const { usage, limit, percentage } of parts) {
          expect(Number.isInteger(usage) && usage >= 0 && usage <= limit).toBe(true)
          expect(percentage).toBeCloseTo((100 * usage) / limit, 3)
          expect(Number(percentage.toFixed(3))).toBe(percentage)
        }
        expect(byObjectType.reduce((sum, { usage }) => sum + usage, 0)).toBeLessThanOrEqual(overallUsage)
        expect(new Set(byObjectType.map(({ objectTypeId }) => objectTypeId)).size).toBe(8)
      }),
    )
  })

  test('of associations shows at most ten of each, near ones from 80 % on and below the limit', () => {
    fc.assert(
      fc.property(scenario, hubId, elapsedMs, (kind, hub, at) => {
        for (const report of associationsOf(kind, hub, at)) {
          expect(report.atLimitFromRecordSamples).toHaveLength(Math.min(10, report.totalRecordsAtLimit))
          expect(report.nearLimitFromRecordSamples).toHaveLength(Math.min(10, report.totalRecordsNearLimit))
          for (const { label, objectId, percentage, usage } of report.nearLimitFromRecordSamples) {
            expect(label).not.toBe('')
            expect(Number.isSafeInteger(objectId)).toBe(true)
            expect(usage).toBeLessThan(report.limit)
            expect(percentage).toBeGreaterThanOrEqual(80)
            expect(percentage).toBeCloseTo((100 * usage) / report.limit, 3)
          }
          const ids = [...report.atLimitFromRecordSamples, ...report.nearLimitFromRecordSamples].map(
            (it) => it.objectId,
          )
          expect(new Set(ids).size).toBe(ids.length)
        }
      }),
    )
  })
})

const COUNTED = SERVED_REPORTS.filter((report) => report.counts !== undefined)

describe.each(COUNTED)('the counts of $name', ({ counts }) => {
  /** In percent, the fullest of an account. */
  const fullest = (kind: Scenario, hub: number, at: number) => {
    const limited = counts?.({ scenario: kind, hubId: hub, elapsedMs: at }).filter(({ limit }) => limit !== undefined)
    return Math.max(...(limited ?? []).map(({ usage, limit = 0 }) => (100 * usage) / limit))
  }

  test('are whole, within limits, and the same for the same account at the same moment', () => {
    fc.assert(
      fc.property(scenario, hubId, elapsedMs, (kind, hub, at) => {
        const moment = { scenario: kind, hubId: hub, elapsedMs: at }
        expect(counts?.(moment)).toEqual(counts?.(moment))
        for (const { usage, limit } of counts?.(moment) ?? []) {
          expect(Number.isInteger(usage) && usage >= 0).toBe(true)
          expect(usage).toBeLessThanOrEqual(limit ?? usage)
        }
      }),
    )
  })

  test('stay quiet where it is steady; climbing, many pass 80 and then 95 %, others never, and some fall back', () => {
    for (const hub of HUBS) {
      expect(fullest('steady', hub, 0)).toBeLessThan(75)
      expect(fullest('steady', hub, 600_000)).toBe(fullest('steady', hub, 0))
    }
    const above = (level: number, at: number) => HUBS.filter((hub) => fullest('climbing', hub, at) >= level).length
    expect(above(80, 0)).toBeLessThan(HUBS.length)
    expect(above(95, 22_500)).toBeGreaterThan(HUBS.length / 5)
    expect(above(95, 22_500)).toBeGreaterThan(above(95, 0))
    expect(HUBS.some((hub) => fullest('climbing', hub, 22_500) > fullest('climbing', hub, 600_000))).toBe(true)
  })
})

describe('steady', () => {
  test('never moves, differs between accounts, and stays where common thresholds are silent', () => {
    expect(new Set(HUBS.map((hub) => JSON.stringify(customPropertyReport('steady', hub, 0)))).size).toBe(HUBS.length)
    for (const hub of HUBS) {
      expect(customPropertyReport('steady', hub, 600_000)).toEqual(customPropertyReport('steady', hub, 0))
      expect(associationsOf('steady', hub, 600_000)).toEqual(associationsOf('steady', hub, 0))
      expect(overall('steady', hub, 0)).toBeLessThan(75)
      expect(fullestType(customPropertyReport('steady', hub, 0))).toBeLessThan(75)
      for (const report of associationsOf('steady', hub, 0)) {
        expect(report.totalRecordsAtLimit).toBe(0)
        expect(report.totalRecordsNearLimit).toBeLessThan(10)
        for (const { percentage } of report.nearLimitFromRecordSamples) expect(percentage).toBeLessThan(90)
      }
    }
  })
})

describe('climbing', () => {
  const above = (level: number, at: number) => HUBS.filter((hub) => overall('climbing', hub, at) >= level)

  test('starts with few accounts over 80 %, and has a good part of them over 95 % within 25 seconds', () => {
    expect(above(80, 0).length).toBeGreaterThan(0)
    expect(above(80, 0).length).toBeLessThan(HUBS.length / 5)
    expect(above(80, 16_000).length).toBeGreaterThan(HUBS.length / 3)
    expect(above(95, 22_500).length).toBeGreaterThan(HUBS.length / 3)
    expect(above(80, 22_500).length).toBeLessThan(HUBS.length)
  })

  test('passes 80 % a while before 95 %, so that both are seen', () => {
    for (const hub of above(95, 22_500)) {
      const seconds = Array.from({ length: 240 }, (_, step) => step / 10)
      const crossing = (level: number) =>
        seconds.find((second) => overall('climbing', hub, second * 1_000) >= level) ?? 0
      expect(crossing(95) - crossing(80)).toBeGreaterThan(2)
      expect(crossing(95)).toBeLessThan(24)
    }
  })

  test('fills some object types and some records up to their limits', () => {
    expect(HUBS.some((hub) => fullestType(customPropertyReport('climbing', hub, 22_500)) > 99)).toBe(true)
    const atLimit = (at: number) =>
      HUBS.filter((hub) => associationsOf('climbing', hub, at).some((report) => report.totalRecordsAtLimit > 0))
    const near = (at: number) =>
      HUBS.filter((hub) => associationsOf('climbing', hub, at).some((report) => report.totalRecordsNearLimit >= 10))
    expect(near(9_000).length).toBeGreaterThan(atLimit(9_000).length)
    expect(atLimit(22_500).length).toBeGreaterThan(atLimit(0).length + 3)
    expect(near(22_500).length).toBeLessThan(HUBS.length)
  })

  test('lets some accounts fall back again, and some stay', () => {
    const recovered = above(95, 22_500).filter((hub) => overall('climbing', hub, 30_000) < 75)
    const stayed = above(95, 22_500).filter((hub) => overall('climbing', hub, 600_000) >= 95)
    expect(recovered.length).toBeGreaterThan(1)
    expect(stayed.length).toBeGreaterThan(recovered.length)
  })

  test('is what the endpoints answer as the clock moves', async () => {
    const { connect, read, clock } = await visit({ scenario: 'climbing' })
    const { access_token: token } = await connect(HUB)
    const start = (await (await read(CUSTOM_PROPERTIES, token)).json()) as ServedCustomPropertyReport
    expect(start).toEqual(customPropertyReport('climbing', HUB, 0))
    clock.move(22_000)
    expect(await (await read(CUSTOM_PROPERTIES, token)).json()).toEqual(customPropertyReport('climbing', HUB, 22_000))
    const pair = { from: '0-1', to: '0-2' }
    expect(await (await read(ASSOCIATIONS, token)).json()).toEqual(associationReport('climbing', HUB, pair, 22_000))
    expect(start.overallPercentage).toBeLessThan(80)
  })
})
