import { describe, expect, test } from 'vitest'
import { type Alert, compareLevels } from '../../src/alerts/alert.ts'
import { composeDigest, decodeDigest, encodeDigest, type LastDigest } from '../../src/alerts/digest.ts'
import { anAlert } from './an-alert.ts'

const NOW = Date.parse('2026-11-21T07:00:00.000Z')
const DAY = 86_400_000
const all = () => true

const open = (id: string, more: Partial<Alert> = {}): Alert =>
  anAlert({ id: `${id}-1`, series: { metric: 'customProperties.overall' }, ...more })
const lost = (id: string): Alert => anAlert({ id: `${id}-1`, kind: 'token' })
const at = (hubId: number) => ({ account: { hubId, hubDomain: '' } })

function draft(
  alerts: Alert[],
  last?: LastDigest,
  { period = 'day' as 'day' | 'week', max = 200, now = NOW, isMine = all as (alert: Alert) => boolean } = {},
) {
  const { message, made } = composeDigest(alerts, isMine, { period, max, now, last })
  return { data: message.data, message, made }
}

describe('a digest', () => {
  test('of nothing says that nothing is open', () => {
    expect(draft([]).message).toEqual({
      type: 'alert.digest',
      timestamp: '2026-11-21T07:00:00.000Z',
      data: {
        groupKey: 'digest/day',
        truncated: 0,
        alerts: [],
        period: 'day',
        totals: { accounts: 0, critical: 0, warning: 0 },
      },
    })
  })

  test('ranks critical before warning, then by consequence: all accounts, tokens, limits by days left and fullness', () => {
    const alerts = [
      open('w-90', { percent: 90 }),
      open('w-days', { percent: 70, daysLeft: 3 }),
      open('c-96', { level: 'critical', percent: 96 }),
      open('c-99', { level: 'critical', percent: 99 }),
      open('c-days', { level: 'critical', percent: 80, daysLeft: 0.5 }),
      { ...open('fleet', { level: 'critical', kind: 'fleet' }), account: undefined } as unknown as Alert,
      lost('w-token'),
      open('w-full', { percent: 100 }),
    ]
    const ranked = ['fleet', 'c-days', 'c-99', 'c-96', 'w-token', 'w-full', 'w-days', 'w-90'].map((id) => `${id}-1`)
    expect(draft(alerts).data.alerts.map(({ id }) => id)).toEqual(ranked)
    expect(draft(alerts.toReversed()).data.alerts.map(({ id }) => id)).toEqual(ranked)
  })

  test('shows the most urgent, and counts all', () => {
    const alerts = Array.from({ length: 10 }, (_, n) => [
      open(`a${n}`, { percent: n, ...at(n) }),
      open(`b${n}`, { percent: 50, ...at(n), level: n === 4 ? 'critical' : 'warning' }),
    ]).flat()
    const { data } = draft(alerts, undefined, { period: 'week', max: 3 })
    expect(data).toMatchObject({ truncated: 17, period: 'week', totals: { accounts: 10, critical: 1, warning: 19 } })
    expect(data.alerts.map(({ id }) => id)).toEqual(['b4-1', 'b0-1', 'b1-1'])
  })

  test('leaves out what the routes send to others', () => {
    const { data } = draft([open('a'), open('b', { level: 'critical' })], undefined, {
      isMine: ({ level }) => level === 'critical',
    })
    expect(data).toMatchObject({ truncated: 0, totals: { accounts: 1, critical: 1, warning: 0 } })
    expect(data.alerts.map(({ id }) => id)).toEqual(['b-1'])
  })
})

describe('compared with the one before, a digest', () => {
  const numbers = (usage: number, limit = 1_000) => ({ usage, limit, percent: usage / 10 })
  const yesterday = () =>
    draft([
      open('same', numbers(900)),
      open('up', numbers(900)),
      open('down', numbers(900)),
      open('rose'),
      open('gone'),
      open('eased', { level: 'critical' }),
    ]).made
  const now = { now: NOW + DAY }

  test('counts what is new, worse, better and resolved, and says how each stood', () => {
    const { data } = draft(
      [
        open('same', numbers(909)),
        open('up', numbers(910)),
        open('down', numbers(890)),
        open('new', numbers(990)),
        open('rose', { level: 'critical' }),
        open('eased', { level: 'warning' }),
      ],
      yesterday(),
      now,
    )
    expect(data.changes).toEqual({ new: 1, worse: 2, better: 2, resolved: 1 })
    const previous = Object.fromEntries(data.alerts.map((alert) => [alert.id, alert.previous]))
    const measuredAt = '2026-11-21T07:00:00.000Z'
    expect(previous['same-1']).toEqual({ level: 'warning', usage: 900, limit: 1_000, measuredAt })
    expect(previous['rose-1']).toEqual({ level: 'warning', measuredAt })
    expect(previous['eased-1']).toEqual({ level: 'critical', measuredAt })
    expect(previous['new-1']).toBeUndefined()
  })

  test('takes an alert that opened anew for another one, and a later transition for the same', () => {
    const { data } = draft([anAlert({ id: 'up-7' }), open('gone again')], yesterday(), now)
    expect(data.changes).toEqual({ new: 1, worse: 0, better: 0, resolved: 5 })
  })

  test('does not call resolved what is open for others now', () => {
    const { data } = draft([open('eased', { level: 'warning' })], yesterday(), { ...now, isMine: () => false })
    expect(data.changes).toEqual({ new: 0, worse: 0, better: 1, resolved: 5 })
    expect(data.alerts).toEqual([])
  })

  test('finds all the same after it was stored', () => {
    const last = decodeDigest(encodeDigest(yesterday()))
    expect(last).toEqual(yesterday())
    expect(draft([], last, now).data.changes).toEqual({ new: 0, worse: 0, better: 0, resolved: 6 })
  })

  test('knows also those that it did not show', () => {
    const alerts = Array.from({ length: 50 }, (_, n) => open(`a${n}`, { percent: n, ...at(n) }))
    const { made } = draft(alerts, undefined, { max: 10 })
    expect(draft([...alerts, open('new')], made, now).data.changes).toEqual({
      new: 1,
      worse: 0,
      better: 0,
      resolved: 0,
    })
  })

  test.each([
    '',
    '{}',
    '[1',
    'null',
    '["x",[]]',
    '[1,1,[["a",1,900,1000]]]',
    '[8640000000000001,[]]',
    '[1.5,[]]',
    '[1]',
    '[1,[null]]',
    '[1,[["up",null]]]',
    '[1,[[1,{"level":"warning"}]]]',
    '[1,[["up",{"level":"ok"}]]]',
    '[1,["up"]]',
    '[1,[["up",{"level":"warning","usage":"900"}]]]',
    '[1,[["up",{"level":"warning","limit":null}]]]',
  ])('has nothing to compare with where %j is stored', (stored) => {
    expect(decodeDigest(stored)).toBeUndefined()
  })
})

describe('a standing', () => {
  const warning = { level: 'warning' as const }
  test.each([
    ['the level rises', warning, { level: 'critical' as const }, 'worse'],
    ['it rises while the number falls', { ...warning, usage: 9 }, { level: 'critical' as const, usage: 5 }, 'worse'],
    ['there is no number', warning, warning, 'same'],
    ['a number comes', warning, { ...warning, usage: 5 }, 'same'],
    ['a count rises', { ...warning, usage: 5 }, { ...warning, usage: 6 }, 'worse'],
    ['a count falls', { ...warning, usage: 5 }, { ...warning, usage: 4 }, 'better'],
    [
      'fullness rises by a point',
      { ...warning, usage: 29, limit: 100 },
      { ...warning, usage: 30, limit: 100 },
      'worse',
    ],
    [
      'fullness rises by less',
      { ...warning, usage: 290, limit: 1_000 },
      { ...warning, usage: 299, limit: 1_000 },
      'same',
    ],
    ['the limit is raised', { ...warning, usage: 90, limit: 100 }, { ...warning, usage: 95, limit: 200 }, 'better'],
  ])('when %s', (_, before, now, is) => {
    expect(compareLevels(before, now)).toBe(is)
  })
})
