import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Alert } from '../../src/alerts/alert.ts'
import { digestDueAt } from '../../src/alerts/digest.ts'
import { endOfQuietTime, type QuietHours, type Route, receiversOf } from '../../src/alerts/route.ts'
import { quietUntil } from '../../src/alerts/sending/hold.ts'
import { showTimesIn } from '../../src/text/format-time.ts'
import { WEEKDAYS } from '../../src/text/wall-clock.ts'
import { anAlert } from './an-alert.ts'

const NIGHT: QuietHours = { from: '22:00', to: '07:00', timeZone: 'Europe/Berlin' }
const at = (iso: string) => Date.parse(iso)

function until(now: string, ...hours: QuietHours[]): string | undefined {
  const end = endOfQuietTime(hours, at(now))
  return end === undefined ? undefined : new Date(end).toISOString().replace(':00.000Z', 'Z')
}

test('quiet hours and digests without a zone of their own go by the zone in which people read times', () => {
  showTimesIn('Asia/Tokyo')
  onTestFinished(() => showTimesIn(undefined))
  expect(until('2026-11-21T14:00:00Z', { from: '22:00', to: '07:00' })).toBe('2026-11-21T22:00Z')
  const dueAt = digestDueAt({ every: 'day', at: '08:00' }, at('2026-11-22T14:00:00Z'))
  expect(new Date(dueAt).toISOString()).toBe('2026-11-21T23:00:00.000Z')
})

describe('quiet hours', () => {
  test.each([
    ['2026-11-21T20:59:59Z', undefined],
    ['2026-11-21T21:00:00Z', '2026-11-22T06:00Z'],
    ['2026-11-22T05:59:59.999Z', '2026-11-22T06:00Z'],
    ['2026-11-22T06:00:00Z', undefined],
  ])('pass midnight by the clock of their zone: at %s they last until %s', (now, end) => {
    expect(until(now, NIGHT)).toBe(end)
  })

  test('days are those on which they begin', () => {
    const friday = { ...NIGHT, days: ['fri'] as const }
    expect(until('2026-11-20T23:30:00Z', friday)).toBe('2026-11-21T06:00Z') // Saturday, 00:30
    expect(until('2026-11-21T23:30:00Z', friday)).toBeUndefined() // Sunday, 00:30
    expect(until('2026-11-19T23:30:00Z', friday)).toBeUndefined() // Friday, 00:30
  })

  test('whole days, and hours that touch or overlap, are one quiet time', () => {
    const weekend: QuietHours = { from: '00:00', to: '24:00', days: ['sat', 'sun'], timeZone: 'Europe/Berlin' }
    expect(until('2026-11-20T21:30:00Z', NIGHT, weekend)).toBe('2026-11-23T06:00Z') // From Friday to Monday, 07:00
    expect(until('2026-11-21T12:00:00Z', weekend)).toBe('2026-11-22T23:00Z')
    const morning = { ...NIGHT, from: '07:00', to: '09:00' }
    expect(until('2026-11-21T21:00:00Z', morning, NIGHT)).toBe('2026-11-22T08:00Z')
  })

  test('hours of several zones are joined too', () => {
    const london: QuietHours = { from: '06:30', to: '08:00', timeZone: 'Europe/London' }
    expect(until('2026-11-22T05:00:00Z', NIGHT, london)).toBe('2026-11-22T06:00Z')
    expect(until('2026-11-22T05:00:00Z', NIGHT, { ...london, from: '06:00' })).toBe('2026-11-22T08:00Z')
  })

  test('a night is an hour shorter or longer when the clocks are changed', () => {
    expect(until('2026-03-28T21:00:00Z', NIGHT)).toBe('2026-03-29T05:00Z')
    expect(until('2026-10-24T20:00:00Z', NIGHT)).toBe('2026-10-25T06:00Z')
  })

  test('an end that the clocks skip is the moment at which they do; one that comes twice is taken twice', () => {
    const short = { ...NIGHT, to: '02:30' }
    expect(until('2026-03-28T23:00:00Z', short)).toBe('2026-03-29T01:00Z') // 03:00 follows 01:59.
    expect(until('2026-10-24T23:00:00Z', short)).toBe('2026-10-25T00:30Z')
    expect(until('2026-10-25T00:45:00Z', short)).toBeUndefined()
    expect(until('2026-10-25T01:15:00Z', short)).toBe('2026-10-25T01:30Z') // 02:15 again.
  })

  test('what is always quiet has an end all the same, at which somebody looks again', () => {
    const end = endOfQuietTime([{ from: '00:00', to: '24:00', timeZone: 'Asia/Kathmandu' }], at('2026-11-21T10:00:00Z'))
    expect(end).toBeGreaterThan(at('2026-11-28T10:00:00Z'))
  })
})

const ROUTES: Route[] = [
  { match: { level: ['critical'], kind: ['limit'] }, to: ['pager', 'hook'] },
  { match: { kind: ['token', 'poll'] }, to: ['mail'] },
  { match: { rule: ['associations.*'] }, to: ['crm-team'] },
  { match: { account: ['7', '*.acme.com'] }, to: ['key-accounts'] },
  { match: { account: ['*'] }, to: ['some-account'] },
  { to: ['rest'] },
]

test.each<[string, Partial<Alert>, string[]]>([
  ['the first that matches', { level: 'critical', rule: 'associations.atLimit' }, ['pager', 'hook']],
  ['by kind', { kind: 'token', level: 'critical' }, ['mail']],
  ['by rule', { rule: 'associations.fullest' }, ['crm-team']],
  ['by hubId', { account: { hubId: 7, hubDomain: '' } }, ['key-accounts']],
  ['by domain', { account: { hubId: 8, hubDomain: 'EU.acme.com' } }, ['key-accounts']],
  ['by any account', { account: { hubId: 77, hubDomain: 'acme.com' } }, ['some-account']],
  ['else, as an alert that is about no account', { kind: 'fleet', account: undefined as never }, ['rest']],
])('routes decide: %s', (_, more, receivers) => {
  expect(receiversOf(ROUTES, anAlert(more))).toEqual(receivers)
})

test('an alert is under the quiet hours of the route that takes it, and of no other', () => {
  const routes = [
    { match: { level: ['critical'] as const }, to: ['a'] },
    { to: ['a'], quiet: [NIGHT] },
  ]
  const night = at('2026-11-21T23:00:00Z')
  expect(quietUntil(routes, anAlert({ level: 'warning' }), night, 'ops')).toBe(at('2026-11-22T06:00:00Z'))
  expect(quietUntil(routes, anAlert({ level: 'critical' }), night, 'ops')).toBeUndefined()
  expect(quietUntil([], anAlert(), night, 'ops')).toBeUndefined()
})

const ZONES = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu'] as const
/** Around the days on which some of them change their clocks, and a day like any other. */
const DAYS = ['2026-03-08', '2026-03-29', '2026-04-05', '2026-10-04', '2026-10-25', '2026-11-01', '2026-07-15']
const MINUTE = 60_000
const FAR_MINUTES = 5 * 1_440

describe('the end that is computed', () => {
  const time = (last: number) =>
    fc.integer({ min: 0, max: last }).map((quarter) => {
      const minutes = quarter * 15
      return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
    })
  const hours = fc
    .record({
      from: time(95),
      to: time(96),
      days: fc.option(fc.subarray([...WEEKDAYS], { minLength: 1 }), { nil: undefined }),
      timeZone: fc.constantFrom(...ZONES),
    })
    .filter(({ from, to }) => from !== to)
  const moment = fc
    .record({ day: fc.constantFrom(...DAYS), minutes: fc.integer({ min: -1_440, max: 2_880 }), ms: fc.nat(MINUTE - 1) })
    .map(({ day, minutes, ms }) => at(`${day}T00:00:00Z`) + minutes * MINUTE + ms)

  test('is the first minute at which no clock on the wall shows a quiet time', () => {
    fc.assert(
      fc.property(fc.array(hours, { minLength: 1, maxLength: 3 }), moment, (several, now) => {
        const slow = minuteByMinute(several, now)
        const end = endOfQuietTime(several, now)
        if (slow === 'later') expect(end).toBeGreaterThan(now + (FAR_MINUTES - 1) * MINUTE)
        else expect(end).toBe(slow)
      }),
      { numRuns: 400 },
    )
  })
})

/** Reads the clock once a minute, for as long as a test can wait. */
function minuteByMinute(hours: readonly QuietHours[], now: number): number | undefined | 'later' {
  if (!isQuiet(hours, now)) return undefined
  for (let minute = Math.floor(now / MINUTE) + 1, looks = 0; looks < FAR_MINUTES; minute++, looks++) {
    if (!isQuiet(hours, minute * MINUTE)) return minute * MINUTE
  }
  return 'later'
}

const NAMES: readonly string[] = WEEKDAYS

function isQuiet(hours: readonly QuietHours[], now: number): boolean {
  return hours.some(({ from, to, days = WEEKDAYS, timeZone = 'UTC' }) => {
    // Another way of asking the clock than the one that is tested; `HH:MM` compares as text.
    const [day = '', shown = ''] = clockOf(timeZone).format(now).toLowerCase().split(/,? /)
    const today = NAMES.indexOf(day)
    const begins = (index: number) => days.some((name) => name === WEEKDAYS[(index + 7) % 7])
    if (from < to) return begins(today) && shown >= from && shown < to
    return (begins(today) && shown >= from) || (begins(today - 1) && shown < to)
  })
}

const clocks = new Map<string, Intl.DateTimeFormat>()

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const known = clocks.get(timeZone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit' })
  clocks.set(timeZone, made)
  return made
}
