import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Alert, FleetChanges } from '../../src/alerts/alert.ts'
import { CHANGE_NAMES } from '../../src/alerts/changes.ts'
import { composeDigest, type DigestSchedule, digestDueAt } from '../../src/alerts/digest.ts'
import { WEEKDAYS } from '../../src/text/wall-clock.ts'

const NOW = Date.parse('2026-11-21T07:00:00.000Z')
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const daily: DigestSchedule = { every: 'day', at: '08:00', on: 'mon', timeZone: 'Europe/Berlin' }
const weekly: DigestSchedule = { ...daily, every: 'week' }

const NOTHING: FleetChanges = {
  since: '2026-11-20T07:00:00.000Z',
  until: '2026-11-21T07:00:00.000Z',
  counts: Object.fromEntries(CHANGE_NAMES.map((name) => [name, 0])) as FleetChanges['counts'],
  items: [],
  leftOut: 0,
}

const draft = (alerts: Alert[], { period = 'day' as 'day' | 'week', max = 200 } = {}) =>
  composeDigest(alerts, { period, max, now: NOW, changed: NOTHING })

describe('a digest', () => {
  test('of nothing says that nothing is open', () => {
    expect(draft([])).toEqual({
      type: 'alert.digest',
      timestamp: '2026-11-21T07:00:00.000Z',
      data: {
        groupKey: 'digest/day',
        truncated: 0,
        alerts: [],
        period: 'day',
        totals: { accounts: 0, critical: 0, warning: 0 },
        changed: NOTHING,
      },
    })
  })
})

describe('a digest was due last', () => {
  test.each([
    ['yesterday, when it is due later today', daily, '2026-11-21T06:59:59.999Z', '2026-11-20T07:00:00.000Z'],
    ['at its very moment', daily, '2026-11-21T07:00:00.000Z', '2026-11-21T07:00:00.000Z'],
    ['an hour earlier in summer', daily, '2026-03-29T07:00:00.000Z', '2026-03-29T06:00:00.000Z'],
    ['and later again in winter', daily, '2026-10-25T07:00:00.000Z', '2026-10-25T07:00:00.000Z'],
    ['on its day of the week', weekly, '2026-11-24T10:00:00.000Z', '2026-11-23T07:00:00.000Z'],
    [
      'at the end of the hour that is left out',
      night('Europe/Berlin'),
      '2026-03-29T02:00Z',
      '2026-03-29T01:00:00.000Z',
    ],
    ['once, though its hour comes twice', night('Europe/Berlin'), '2026-10-25T03:00Z', '2026-10-25T00:30:00.000Z'],
    [
      'on the other side of the date line',
      { ...daily, timeZone: 'Pacific/Kiritimati' },
      '2026-11-21T18:00:00Z',
      '2026-11-21T18:00:00.000Z',
    ],
  ])('%s', (_, schedule, now, at) => {
    expect(new Date(digestDueAt(schedule, Date.parse(now))).toISOString()).toBe(at)
  })
})

function night(timeZone: string): DigestSchedule {
  return { ...daily, at: '02:30', timeZone }
}

/** What a clock shows, asked minute by minute of the clock itself. */
function slowNext({ every, at, on, timeZone }: DigestSchedule, now: number): number {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    dateStyle: 'short',
    timeStyle: 'short',
    calendar: 'gregory',
  })
  const weekday = new Intl.DateTimeFormat('en-US', { timeZone, weekday: 'short' })
  const over = new Set<string>()
  // Two days before, because a day may have had its moment already when its hour comes again.
  for (let minute = Math.floor(now / MINUTE) - 2 * 1_440; ; minute++) {
    const [date = '', time = ''] = format.format(minute * MINUTE).split(' ')
    if (time < at || over.has(date)) continue
    over.add(date)
    if (minute * MINUTE <= now) continue
    if (every === 'day' || weekday.format(minute * MINUTE).toLowerCase() === on) return minute * MINUTE
  }
}

test('is what a clock on the wall says that is looked at every minute, around changes of the clocks above all', () => {
  const ZONES = [
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Africa/Cairo',
    'America/Santiago',
    'Africa/Casablanca',
    'Asia/Kathmandu',
    'UTC',
  ]
  const CHANGES = [
    '2026-03-29T01:00Z',
    '2026-10-25T01:00Z',
    '2026-03-08T07:00Z',
    '2026-11-01T06:00Z',
    '2026-10-03T15:30Z',
    '2026-04-04T15:00Z',
    '2026-04-23T22:00Z',
    '2026-10-29T21:00Z',
    '2026-09-06T04:00Z',
    '2026-04-05T03:00Z',
    '2026-02-15T02:00Z',
  ]
  const two = (number: number) => String(number).padStart(2, '0')
  const schedules = fc.record({
    every: fc.constantFrom('day' as const, 'day' as const, 'week' as const),
    at: fc
      .tuple(fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 23 })), fc.integer({ min: 0, max: 59 }))
      .map(([h, m]) => `${two(h)}:${two(m)}`),
    on: fc.constantFrom(...WEEKDAYS),
    timeZone: fc.constantFrom(...ZONES),
  })
  const moments = fc
    .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -50 * HOUR, max: 50 * HOUR }))
    .map(([change, more]) => Date.parse(change) + more)
  fc.assert(
    fc.property(schedules, moments, (schedule, now) => {
      const next = slowNext(schedule, now)
      expect(digestDueAt(schedule, next)).toBe(next)
      const dueAt = digestDueAt(schedule, next - 1)
      expect(dueAt).toBeLessThanOrEqual(now)
      expect(digestDueAt(schedule, now)).toBe(dueAt)
      expect(digestDueAt(schedule, dueAt)).toBe(dueAt)
    }),
    { numRuns: 150 },
  )
})
