import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AssociationReport, associationReport, REPORTED_PAIRS } from '../../src/sandbox/association-report.ts'
import { type Count, REPORT_TABLE } from '../../src/sandbox/report-table.ts'
import type { Scenario } from '../../src/sandbox/scenario.ts'
import { ASSOCIATIONS, CUSTOM_PROPERTIES, HUB, visit } from './visit.ts'

const HUBS = Array.from({ length: 25 }, (_, place) => HUB + place)
const hubId = fc.integer({ min: 1, max: 2 ** 31 })
const elapsedMs = fc.integer({ min: 0, max: 10 * 60_000 })
const scenario = fc.constantFrom<Scenario>('steady', 'climbing')

const [PROPERTIES] = REPORT_TABLE.filter(({ name }) => name === 'customProperties')

function propertiesOf(scenario: Scenario, hub: number, at: number): Record<string, Count> {
  return PROPERTIES?.counts?.({ scenario, hubId: hub, elapsedMs: at }) ?? {}
}

function overall(scenario: Scenario, hub: number, at: number): number {
  return percent(propertiesOf(scenario, hub, at).overall)
}

function percent({ usage, limit = 1 }: Count = { usage: 0 }): number {
  return (100 * usage) / limit
}

function associationsOf(scenario: Scenario, hub: number, at: number): AssociationReport[] {
  return REPORTED_PAIRS.map((pair) => {
    const [from = '', to = ''] = pair.split('/')
    return associationReport({ scenario, hubId: hub, elapsedMs: at }, from, to)
  })
}

test('a report of associations shows at most ten of each, near ones from 80 % on and below the limit', () => {
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
        const ids = [...report.atLimitFromRecordSamples, ...report.nearLimitFromRecordSamples].map((it) => it.objectId)
        expect(new Set(ids).size).toBe(ids.length)
      }
    }),
  )
})

describe.each(REPORT_TABLE.filter(({ counts }) => counts !== undefined))('the counts of $name', ({ counts }) => {
  const countsOf = (scenario: Scenario, hub: number, at: number) =>
    Object.values(counts?.({ scenario, hubId: hub, elapsedMs: at }) ?? {})
  const fullest = (scenario: Scenario, hub: number, at: number) =>
    Math.max(...countsOf(scenario, hub, at).map((count) => (count.limit === undefined ? 0 : percent(count))))

  test('are whole and within their limits', () => {
    fc.assert(
      fc.property(scenario, hubId, elapsedMs, (kind, hub, at) => {
        for (const { usage, limit = usage } of countsOf(kind, hub, at)) {
          expect(Number.isInteger(usage) && usage >= 0 && usage <= limit).toBe(true)
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

test('steady associations never move, and stay where common thresholds are silent', () => {
  for (const hub of HUBS) {
    expect(associationsOf('steady', hub, 600_000)).toEqual(associationsOf('steady', hub, 0))
    for (const report of associationsOf('steady', hub, 0)) {
      expect(report.totalRecordsAtLimit).toBe(0)
      expect(report.totalRecordsNearLimit).toBeLessThan(10)
      for (const { percentage } of report.nearLimitFromRecordSamples) expect(percentage).toBeLessThan(90)
    }
  }
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
    const fullestType = (hub: number) => Math.max(...Object.values(propertiesOf('climbing', hub, 22_500)).map(percent))
    expect(HUBS.some((hub) => fullestType(hub) > 99)).toBe(true)
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
    const usage = async () =>
      ((await (await read(CUSTOM_PROPERTIES, token)).json()) as { overallUsage: number }).overallUsage
    expect(await usage()).toBe(propertiesOf('climbing', HUB, 0).overall?.usage)
    clock.move(22_000)
    expect(await usage()).toBe(propertiesOf('climbing', HUB, 22_000).overall?.usage)
    const moment = { scenario: 'climbing', hubId: HUB, elapsedMs: 22_000 } as const
    expect(await (await read(ASSOCIATIONS, token)).json()).toEqual(associationReport(moment, '0-1', '0-2'))
  })
})
