import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type DigestSchedule, digestMoments, judgeDigest } from '../../src/alerts/digest-schedule.ts'
import { WEEKDAYS } from '../../src/text/wall-clock.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const daily: DigestSchedule = { every: 'day', at: '08:00', on: 'mon', timeZone: 'Europe/Berlin' }
const weekly: DigestSchedule = { ...daily, every: 'week' }

const next = (schedule: DigestSchedule, now: string) =>
  new Date(digestMoments(schedule, Date.parse(now)).nextAt).toISOString()

describe('the next digest', () => {
  test.each([
    ['later today', daily, '2026-11-21T06:59:59.999Z', '2026-11-21T07:00:00.000Z'],
    ['tomorrow, when it is due just now', daily, '2026-11-21T07:00:00.000Z', '2026-11-22T07:00:00.000Z'],
    ['an hour earlier in summer', daily, '2026-03-28T07:00:00.000Z', '2026-03-29T06:00:00.000Z'],
    ['and later again in winter', daily, '2026-10-24T06:00:00.000Z', '2026-10-25T07:00:00.000Z'],
    ['on its day of the week', weekly, '2026-11-21T10:00:00.000Z', '2026-11-23T07:00:00.000Z'],
    ['a week later, when that is today and over', weekly, '2026-11-23T07:00:00.000Z', '2026-11-30T07:00:00.000Z'],
    [
      'at the end of the hour that is left out',
      { ...daily, at: '02:30' },
      '2026-03-28T02:00:00Z',
      '2026-03-29T01:00:00.000Z',
    ],
    [
      'once, though its hour comes twice',
      { ...daily, at: '02:30' },
      '2026-10-25T00:30:00Z',
      '2026-10-26T01:30:00.000Z',
    ],
    [
      'on the other side of the date line',
      { ...daily, timeZone: 'Pacific/Kiritimati' },
      '2026-11-21T10:00:00Z',
      '2026-11-21T18:00:00.000Z',
    ],
  ])('is %s', (_, schedule, now, at) => {
    expect(next(schedule, now)).toBe(at)
  })
})

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
      const { dueAt, nextAt } = digestMoments(schedule, now)
      expect(new Date(nextAt).toISOString()).toBe(new Date(slowNext(schedule, now)).toISOString())
      expect(dueAt).toBeLessThanOrEqual(now)
      expect(digestMoments(schedule, dueAt - 1).nextAt).toBe(dueAt)
      expect(digestMoments(schedule, dueAt).nextAt).toBe(nextAt)
    }),
    { numRuns: 150 },
  )
})

describe('a digest that was planned', () => {
  const due = Date.parse('2026-11-21T07:00:00.000Z')
  const judged = (schedule: DigestSchedule, plannedAt: number, now: number) => {
    const { is, dueAt, nextAt } = judgeDigest(schedule, plannedAt, now)
    return is === 'early' ? is : [is, dueAt - plannedAt, nextAt - plannedAt]
  }
  const DAY = 24 * HOUR

  test('is left alone before its moment, and sent at it', () => {
    expect(judged(daily, due, due - 1)).toBe('early')
    expect(judged(daily, due, due)).toEqual(['due', 0, DAY])
  })

  test('is sent late by less than half of the time to the next, and left out when it is later', () => {
    expect(judged(daily, due, due + 12 * HOUR - 1)).toEqual(['due', 0, DAY])
    expect(judged(daily, due, due + 12 * HOUR)).toEqual(['missed', 0, DAY])
    const monday = due + 2 * DAY
    expect(judged(weekly, monday, monday + 3.5 * DAY - 1)).toEqual(['due', 0, 7 * DAY])
    expect(judged(weekly, monday, monday + 3.5 * DAY)).toEqual(['missed', 0, 7 * DAY])
  })

  test('with others behind it is sent once, for the newest of them', () => {
    expect(judged(daily, due, due + 3 * DAY + HOUR)).toEqual(['due', 3 * DAY, 4 * DAY])
    expect(judged(daily, due, due + 3 * DAY + 13 * HOUR)).toEqual(['missed', 3 * DAY, 4 * DAY])
    expect(judged(daily, due, due + 40 * DAY + HOUR)).toEqual(['due', 40 * DAY, 41 * DAY])
    expect(judged(weekly, due + 2 * DAY, due + 2 * DAY + 70 * DAY + HOUR)).toEqual(['due', 70 * DAY, 77 * DAY])
  })
  test('is planned anew where its moment is none of the schedule', () => {
    expect(judgeDigest(daily, undefined, due).is).toBe('unplanned')
    expect(judged(daily, due - MINUTE, due - HOUR)).toEqual(['unplanned', MINUTE - DAY, MINUTE])
    expect(judged({ ...daily, timeZone: 'UTC' }, due, due + MINUTE)).toEqual(['unplanned', HOUR - DAY, HOUR])
    expect(judged(weekly, due, due)[0]).toBe('unplanned')
  })

  test('is planned anew where it lies behind the next one: by the schedule before', () => {
    const [monday, tuesday] = [due + 2 * DAY, due + 3 * DAY]
    expect(judged(daily, monday + 7 * DAY, tuesday)).toEqual(['unplanned', -7 * DAY + DAY, -7 * DAY + 2 * DAY])
    expect(judgeDigest(daily, due + 30 * DAY, due).is).toBe('unplanned')
    expect(judgeDigest(daily, due + 2 * DAY, due + HOUR).is).toBe('unplanned')
    expect(judgeDigest(daily, 8.64e15 + DAY, due).is).toBe('unplanned')
  })
})
