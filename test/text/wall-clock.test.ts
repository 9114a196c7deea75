import { describe, expect, test } from 'vitest'
import { DAY_MS, firstMomentAt, wallClock, weekdayOf } from '../../src/text/wall-clock.ts'

const dayOf = (date: string) => Date.parse(date) / DAY_MS
const minuteOf = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))

test('a wall clock shows the day and the minute of its place', () => {
  const at = Date.parse('2026-11-21T22:30:59.999Z')
  expect(wallClock('UTC', at)).toEqual({ day: dayOf('2026-11-21'), minute: minuteOf('22:30') })
  expect(wallClock('Europe/Berlin', at)).toEqual({ day: dayOf('2026-11-21'), minute: minuteOf('23:30') })
  expect(wallClock('Asia/Kathmandu', at)).toEqual({ day: dayOf('2026-11-22'), minute: minuteOf('04:15') })
  expect(wallClock('America/New_York', -1)).toEqual({ day: -1, minute: minuteOf('18:59') })
})

test('weeks begin on Monday', () => {
  expect(['2026-11-23', '2026-11-29', '1970-01-01', '1969-12-31'].map((date) => weekdayOf(dayOf(date)))).toEqual([
    'mon',
    'sun',
    'thu',
    'wed',
  ])
})

describe('the first moment at which a clock shows a time', () => {
  test.each([
    ['on any day', 'Europe/Berlin', '2026-11-21', '08:00', '2026-11-21T07:00:00.000Z'],
    ['in summer', 'Europe/Berlin', '2026-07-21', '08:00', '2026-07-21T06:00:00.000Z'],
    ['on the day of the change, behind it', 'Europe/Berlin', '2026-03-29', '08:00', '2026-03-29T06:00:00.000Z'],
    ['and before it', 'Europe/Berlin', '2026-03-29', '01:30', '2026-03-29T00:30:00.000Z'],
    ['in an hour that is left out is its end', 'Europe/Berlin', '2026-03-29', '02:30', '2026-03-29T01:00:00.000Z'],
    ['in an hour that comes twice is in the first', 'Europe/Berlin', '2026-10-25', '02:30', '2026-10-25T00:30:00.000Z'],
    ['before it', 'Europe/Berlin', '2026-10-25', '01:59', '2026-10-24T23:59:00.000Z'],
    ['behind it', 'Europe/Berlin', '2026-10-25', '03:00', '2026-10-25T02:00:00.000Z'],
    ['where midnight is left out', 'Africa/Cairo', '2026-04-24', '00:15', '2026-04-23T22:00:00.000Z'],
    ['where half an hour is left out', 'Australia/Lord_Howe', '2026-10-04', '02:10', '2026-10-03T15:30:00.000Z'],
    ['beside the date line', 'Pacific/Kiritimati', '2026-11-21', '00:00', '2026-11-20T10:00:00.000Z'],
  ])('%s', (_, zone, date, time, moment) => {
    expect(new Date(firstMomentAt(zone, dayOf(date), minuteOf(time)) ?? Number.NaN).toISOString()).toBe(moment)
  })

  test('is none on a day that is left out', () => {
    expect(firstMomentAt('Pacific/Apia', dayOf('2011-12-30'), minuteOf('08:00'))).toBeUndefined()
    expect(firstMomentAt('Pacific/Apia', dayOf('2011-12-31'), minuteOf('08:00'))).toBe(Date.parse('2011-12-30T18:00Z'))
  })
})
