import { describe, expect, test } from 'vitest'
import type { Alert } from '../../../src/alerts/alert.ts'
import { numberOf } from '../../../src/alerts/outbox.ts'
import {
  type AlertNews,
  decideSending,
  type Item,
  RECENT,
  type SendingInput,
  type SendVerdict,
} from '../../../src/alerts/sending/decide-sending.ts'
import type { SendState, SentLast } from '../../../src/alerts/sending/send-state.ts'
import { INTERVAL, NOW, WAIT } from '../a-relay.ts'
import { anAlert } from '../an-alert.ts'

const LONG_AGO = NOW - 10 * INTERVAL
const OVER = { status: 'resolved', reason: 'recovered' } as const
const SILENCE = { id: 's1', matchers: [], author: '', comment: '', createdAt: LONG_AGO, endsAt: NOW + 1 }
const SILENCED = { silences: [SILENCE], routes: [{ to: ['mail'] }], fleet: [] }

function news(alert: Alert, more: Partial<AlertNews> = {}): AlertNews {
  return {
    alert: alert.id.replace(/-\d+$/, ''),
    place: `${numberOf(alert)}-7`,
    decided: 0,
    beganWithFirstReading: false,
    entry: { alert },
    ...more,
  }
}

const item = (alert: Partial<Alert>, known: SendState = {}, more: Partial<AlertNews> = {}): Item => ({
  news: news(anAlert({ id: 'a-1', ...alert }), more),
  isFor: true,
  sendState: known,
})

const told = (number: number, more: Partial<SentLast> = {}): SendState => ({
  lastSent: { place: `${number}-7`, number, at: LONG_AGO, group: 'rule=x', ...more },
})

/** It has been in its group for as long as that waits. */
const waited = (known: SendState = {}): SendState => ({ ...known, waits: { is: 'group', since: NOW - WAIT } })

function decide(items: Item | readonly Item[], more: Partial<SendingInput> = {}): SendVerdict[] {
  return decideSending({
    receiver: 'mail',
    items: [items].flat(),
    recent: new Map(),
    connectedAt: 0,
    now: NOW,
    circumstances: { silences: [], routes: [{ to: ['mail'] }], fleet: [] },
    group: { by: ['rule'], waitMs: WAIT, intervalMs: INTERVAL, max: 200 },
    ...more,
  })
}

const of = (hubId: number, more: Partial<Alert> = {}) => ({
  id: `h${hubId}-1`,
  account: { hubId, hubDomain: '' },
  ...more,
})
const BY_ACCOUNT = { group: { by: ['account' as const], waitMs: WAIT, intervalMs: INTERVAL, max: 200 } }
const groupsOf = (verdicts: readonly SendVerdict[]) => verdicts.map((one) => ('group' in one ? one.group : one.is))

describe('what a receiver knows', () => {
  test.each<[string, Item]>([
    ['this very transition', item({}, told(1))],
    ['its end, and that is what is new', item({ id: 'a-3', ...OVER }, told(2, { isOver: true }))],
    ['nothing, and it is none of its business', { ...item({}), isFor: false }],
    ['nothing of an end that is none of its business', { ...item({ id: 'a-2', ...OVER }), isFor: false }],
    [
      'the level that was left, and not the one in force',
      { ...item({ id: 'a-2', reason: 'escalated' }, told(1)), isFor: 'beginning' },
    ],
  ])('it is sent nothing that knows %s', (_, one) => {
    expect(decide(one)).toEqual([{ is: 'knows' }])
  })

  test.each<[string, Item]>([
    ['an older one', item({ id: 'a-2' }, waited(told(1)))],
    ['one of that number that its node has lost', item({ id: 'a-2' }, waited(told(2, { place: '2-6' })))],
    [
      'the end of what begins again after its node has lost that',
      item({ id: 'a-3' }, waited(told(2, { isOver: true }))),
    ],
    ['nothing', item({}, waited())],
    ['nothing, though it is for others by now', { ...item({ id: 'a-2' }, waited()), isFor: false }],
    [
      'nothing, and the level that it is for was left before anybody looked',
      { ...item({ id: 'a-2', reason: 'escalated' }, waited()), isFor: 'beginning' },
    ],
    ['the beginning of what is over', item({ id: 'a-2', ...OVER }, waited(told(1)))],
    [
      'the beginning, though it is for others by now',
      { ...item({ id: 'a-2', ...OVER }, waited(told(1))), isFor: false },
    ],
    ['nothing, and it is over by now', item({ id: 'a-2', ...OVER }, waited())],
  ])('it is sent this that knows %s', (_, one) => {
    expect(decide(one)).toEqual([{ is: 'sent', group: 'rule=customProperties.overall' }])
  })

  test('an end is not for who was spared the beginning: all before was decided without it', () => {
    const over = { id: 'a-3', ...OVER }
    expect(decide(item(over, {}, { decided: 2 }))).toMatchObject([
      { is: 'skips', lastSent: { isOver: true, number: 3 } },
    ])
    expect(decide(item(over, {}, { decided: 1 }))).toMatchObject([{ is: 'waits' }])
    expect(decide(item(over, waited(), { decided: 2 }))).toMatchObject([{ is: 'sent' }])
  })

  test("nor for a customer, of what began with a first reading: that was the operators' digest", () => {
    const contacts = { group: { by: [], waitMs: WAIT, intervalMs: INTERVAL, max: 200, contacts: ['mail'] } }
    const over = item({ id: 'a-2', ...OVER }, {}, { beganWithFirstReading: true })
    expect(decide(over, contacts)).toMatchObject([{ is: 'skips' }])
    expect(decide(over)).toMatchObject([{ is: 'waits' }])
  })

  test('a repeat just after the alert was sent is not sent, but noted', () => {
    const repeat = { id: 'a-2', reason: 'repeat' } as const
    const lately = waited(told(1, { at: NOW - INTERVAL + 1 }))
    expect(decide(item(repeat, lately))).toMatchObject([
      { is: 'skips', why: 'sent a short while ago', lastSent: { number: 2, place: '2-7', at: NOW - INTERVAL + 1 } },
    ])
    expect(decide(item(repeat, waited(told(1, { at: NOW - INTERVAL }))))).toMatchObject([{ is: 'sent' }])
    expect(decide(item({ ...repeat, id: 'a-3' }, lately))).toMatchObject([{ is: 'sent' }])
    expect(decide(item({ ...repeat, reason: 'worse' }, lately))).toMatchObject([{ is: 'sent' }])
  })
})

describe('what holds an alert back', () => {
  const held = { is: 'silence' as const, id: 's1', until: NOW + 1 }

  test('what fires waits for its end, however much it was told before', () => {
    for (const known of [{}, waited(), told(1), waited(told(1))])
      expect(decide(item({ id: 'a-2' }, known), { circumstances: SILENCED })).toEqual([{ is: 'held', held }])
  })

  test('what is over is sent to who was sent the beginning', () => {
    expect(decide(item({ id: 'a-2', ...OVER }, waited(told(1))), { circumstances: SILENCED })).toMatchObject([
      { is: 'sent' },
    ])
  })

  test.each<[string, SendState, boolean]>([
    ['nobody had looked at while it fired', {}, true],
    ['was held back', { waits: { is: 'held', since: NOW - WAIT, held } }, true],
    ['was held back, and waited in its group since', { waits: { is: 'group', since: NOW - WAIT, held } }, true],
    ['waited in its group before that', waited(), false],
  ])('what is over is spared who was never sent it, where it %s', (_, known, isSpared) => {
    const [verdict] = decide(item({ id: 'a-2', ...OVER }, known), { circumstances: SILENCED })
    expect(verdict).toMatchObject(isSpared ? { is: 'skips', why: 'ended before silence s1 did' } : { is: 'sent' })
  })

  test('it waits in its group from the moment on that nothing holds it back any more', () => {
    const known: SendState = { waits: { is: 'held', since: LONG_AGO, held } }
    expect(decide(item({}, known))).toMatchObject([{ is: 'waits', since: NOW, until: NOW + WAIT }])
  })
})

describe('a group', () => {
  const closes = (items: Item | readonly Item[], lately: [string, number][] = []) =>
    decide(items, { recent: new Map(lately) }).map((one) => ('until' in one ? one.until : one.is))
  const GROUP = RECENT.group('rule=customProperties.overall')

  test('waits for more from its first alert on, and is sent with all of them', () => {
    expect(closes(item({}))).toEqual([NOW + WAIT])
    expect(closes([item({}), item({ id: 'b-1' }, { waits: { is: 'group', since: NOW - 10 } })])).toEqual([
      NOW + WAIT - 10,
      NOW + WAIT - 10,
    ])
    expect(closes([item({}), item({ id: 'b-1' }, waited())])).toEqual(['sent', 'sent'])
  })

  test('keeps its distance from its last message', () => {
    expect(closes(item({}, waited()), [[GROUP, NOW - 5]])).toEqual([NOW - 5 + INTERVAL])
  })

  test.each<[string, Partial<Alert>, [string, number][], boolean]>([
    ['entered at critical', { level: 'critical' }, [], true],
    ['escalated', { level: 'critical', reason: 'escalated' }, [], true],
    ['entered at warning', {}, [], false],
    ['repeated', { level: 'critical', reason: 'repeat' }, [], false],
    ['flapping', { level: 'critical' }, [[RECENT.level(anAlert({ level: 'critical' })), NOW - 1]], false],
    ['flapping slowly', { level: 'critical' }, [[RECENT.level(anAlert({ level: 'critical' })), NOW - INTERVAL]], true],
    ['after a mass event', { level: 'critical' }, [[RECENT.burst('rule=customProperties.overall'), NOW - 1]], false],
    [
      'escalated after one',
      { level: 'critical', reason: 'escalated' },
      [[RECENT.burst('rule=customProperties.overall'), NOW - 1]],
      true,
    ],
  ])('is sent sooner where something just got worse: one that is %s', (_, alert, lately, isUrgent) => {
    const known = alert.reason === undefined ? waited() : waited(told(1, { at: LONG_AGO }))
    const one = item({ ...alert, id: alert.reason === undefined ? 'a-1' : 'a-2' }, known)
    expect(closes(one, [[GROUP, NOW - 5], ...lately])).toEqual([isUrgent ? 'sent' : NOW - 5 + INTERVAL])
  })

  test('of first readings settles, but not for ever', () => {
    const first = (since: number) => ({
      ...item({ id: `f${since}-1` }, { waits: { is: 'group' as const, since } }),
      news: news(anAlert({ id: `f${since}-1` }), { entry: { alert: anAlert(), firstReading: true } }),
    })
    const until = (items: Item[], connectedAt = 0) =>
      decide(items, { connectedAt }).map((one) => ('until' in one ? one.until : one.is))
    expect(until([first(NOW - WAIT), first(NOW - 10)])).toEqual(Array(2).fill(NOW + WAIT - 10))
    expect(until([first(NOW - WAIT)], NOW - 1)).toEqual([NOW + WAIT - 1])
    expect(until([first(NOW - WAIT)], NOW + WAIT + INTERVAL)).toEqual([NOW - WAIT + INTERVAL])
    expect(until([first(NOW - INTERVAL)], NOW)).toEqual(['sent'])
    const planned = (at: number) => {
      const { news, ...one } = first(NOW - WAIT)
      return {
        ...one,
        news,
        sendState: { waits: { is: 'group' as const, since: NOW - WAIT, until: at, group: 'digest' } },
      }
    }
    // No write at each look while it moves.
    expect(until([planned(NOW + 5), planned(NOW + WAIT + 5)], NOW)).toEqual([NOW + 5, NOW + WAIT])
    expect(until([planned(NOW)], NOW)).toEqual([NOW + WAIT])
    expect(groupsOf(decide([first(NOW - INTERVAL)]))).toEqual(['digest'])
  })
})

describe('a mass', () => {
  test('is what was held back at many accounts, whatever came of it meanwhile', () => {
    const held: SendState = { waits: { is: 'held', since: LONG_AGO, held: { is: 'silence', until: NOW - 1 } as never } }
    const some = [1, 2, 3, 4, 5].map((hubId) => item(of(hubId, { id: `h${hubId}-3`, reason: 'repeat' }), held))
    const at = { ...BY_ACCOUNT, now: NOW }
    expect(new Set(groupsOf(decide(some, at))).size).toBe(1)
    expect(new Set(groupsOf(decide(some.slice(1), at))).size).toBe(4)
  })

  const RULE = 'rule=customProperties.overall'
  const begun = (count: number, since = NOW) =>
    Array.from({ length: count }, (_, n) => item(of(n + 1), { waits: { is: 'group', since } }))
  const ended = (count: number) =>
    Array.from({ length: count }, (_, n) =>
      item({ ...of(n + 1), id: `h${n + 1}-2`, ...OVER }, told(1, { group: `account=${n + 1}` })),
    )
  const groups = (items: readonly Item[], lately: [string, number][] = []) =>
    groupsOf(decide(items, { ...BY_ACCOUNT, recent: new Map(lately) }))

  test('are five accounts in one trouble, not four, nor five alerts of one account', () => {
    expect(groups(begun(5))).toEqual(Array(5).fill(RULE))
    expect(groups(begun(4))).toEqual([1, 2, 3, 4].map((n) => `account=${n}`))
    expect(groups([1, 2, 3, 4, 5].map((n) => item({ ...of(1), id: `x${n}-1` })))).toEqual(Array(5).fill('account=1'))
  })

  test('begins within the time that a group waits', () => {
    expect(groups(begun(5, NOW - WAIT + 1))).toEqual(Array(5).fill(RULE))
    expect(groups(begun(5, NOW - WAIT))).toEqual([1, 2, 3, 4, 5].map((n) => `account=${n}`))
  })

  test('that waits stays one', () => {
    const [first, ...others] = begun(5, NOW - WAIT)
    if (first === undefined) throw new Error()
    const waiting = { ...first, sendState: { waits: { is: 'group' as const, since: NOW - WAIT, group: RULE } } }
    expect(groups([waiting, ...others])).toEqual([RULE, ...[2, 3, 4, 5].map((n) => `account=${n}`)])
  })

  test('are five that end; four of them and one that begins are none', () => {
    expect(groups(ended(5))).toEqual(Array(5).fill(RULE))
    expect(groups([...ended(4), item(of(9))])).toEqual([1, 2, 3, 4, 9].map((n) => `account=${n}`))
  })

  test('takes what follows within the interval: what ends also after one of ends, what begins only after one of those', () => {
    const one = [item(of(7)), ...ended(1)]
    expect(groups(one, [[RECENT.mass(RULE), NOW - INTERVAL]])).toEqual([RULE, RULE])
    expect(groups(one, [[RECENT.ended(RULE), NOW - INTERVAL]])).toEqual(['account=7', RULE])
    expect(groups(one, [[RECENT.mass(RULE), NOW - INTERVAL - 1]])).toEqual(['account=7', 'account=1'])
  })

  test('goes on with what was sent with it, and not with what was sent by itself', () => {
    const repeat = (n: number, group: string) => item({ ...of(n), id: `h${n}-2`, reason: 'repeat' }, told(1, { group }))
    expect(groups([1, 2, 3, 4, 5].map((n) => repeat(n, `account=${n}`)))).toEqual(
      [1, 2, 3, 4, 5].map((n) => `account=${n}`),
    )
    expect(groups([repeat(1, RULE)])).toEqual([RULE])
    expect(groups([1, 2, 3, 4, 5].map((n) => repeat(n, 'another')))).toEqual(Array(5).fill(RULE))
  })

  test.each([
    [['account', 'level'] as const, (n: number) => `account=${n}|level=warning`],
    [['account', 'kind'] as const, (n: number) => `account=${n}|kind=limit`],
    [[] as const, () => ''],
  ])('is none where alerts are grouped by %s', (by, name) => {
    expect(groupsOf(decide(begun(5), { group: { ...BY_ACCOUNT.group, by } }))).toEqual([1, 2, 3, 4, 5].map(name))
  })

  test('is none of first readings, which have a digest', () => {
    const first = begun(5).map((one) => ({
      ...one,
      news: news(one.news.entry.alert, { entry: { ...one.news.entry, firstReading: true } }),
    }))
    expect(groups(first)).toEqual(Array(5).fill('digest'))
  })

  test('is none where each receives alerts of its own account alone', () => {
    const contacts = { group: { ...BY_ACCOUNT.group, contacts: ['mail'] } }
    expect(groupsOf(decide(begun(5), contacts))).toEqual([1, 2, 3, 4, 5].map((n) => `kind=limit|account=${n}`))
  })
})

test('of a very large group so much is sent at once, what came last with its next message', () => {
  const many = Array.from({ length: 20_001 }, (_, n) => item({ id: `n${n}-1` }, waited()))
  const late = { ...item({ id: 'late-1' }), sendState: { waits: { is: 'group' as const, since: NOW - 1 } } }
  const [first, ...verdicts] = decide([late, ...many.slice(1)])
  expect(first).toMatchObject({ is: 'waits', until: NOW + WAIT })
  expect(verdicts.filter(({ is }) => is === 'sent')).toHaveLength(20_000)
})
