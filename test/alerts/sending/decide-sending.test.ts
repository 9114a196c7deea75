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

test.each<[string, Item, SendVerdict['is']]>([
  ['this very transition', item({}, told(1)), 'knows'],
  ['one of that number that its node has lost', item({ id: 'a-2' }, waited(told(2, { place: '2-6' }))), 'sent'],
  [
    'the end of what began again after its node had lost that',
    item({ id: 'a-3' }, waited(told(2, { isOver: true }))),
    'sent',
  ],
  ['its end, and that is what is new', item({ id: 'a-3', ...OVER }, told(2, { isOver: true })), 'knows'],
  [
    'the level that was left, and not the one in force',
    { ...item({ id: 'a-2', reason: 'escalated' }, told(1)), isFor: 'beginning' },
    'knows',
  ],
  [
    'nothing, and that level was left before anybody looked',
    { ...item({ id: 'a-2', reason: 'escalated' }, waited()), isFor: 'beginning' },
    'sent',
  ],
])('a receiver that knows %s', (_, one, is) => {
  expect(decide(one)).toMatchObject([{ is }])
})

test("an end is not for a customer where the beginning was in the operators' digest of first readings", () => {
  const contacts = { group: { by: [], waitMs: WAIT, intervalMs: INTERVAL, max: 200, contacts: ['mail'] } }
  const over = item({ id: 'a-2', ...OVER }, {}, { beganWithFirstReading: true })
  expect(decide(over, contacts)).toMatchObject([{ is: 'skips' }])
  expect(decide(over)).toMatchObject([{ is: 'waits' }])
})

describe('a group', () => {
  const closes = (items: Item | readonly Item[], lately: [string, number][] = []) =>
    decide(items, { recent: new Map(lately) }).map((one) => ('until' in one ? one.until : one.is))
  const GROUP = RECENT.group('rule=customProperties.overall')

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

  test('takes what follows within the interval: what ends also after one of ends, what begins only after one of those', () => {
    const one = [item(of(7)), ...ended(1)]
    expect(groups(one, [[RECENT.mass(RULE), NOW - INTERVAL]])).toEqual([RULE, RULE])
    expect(groups(one, [[RECENT.ended(RULE), NOW - INTERVAL]])).toEqual(['account=7', RULE])
    expect(groups(one, [[RECENT.mass(RULE), NOW - INTERVAL - 1]])).toEqual(['account=7', 'account=1'])
  })

  test.each([
    [['account', 'level'] as const, (n: number) => `account=${n}|level=warning`],
    [['account', 'kind'] as const, (n: number) => `account=${n}|kind=limit`],
    [[] as const, () => ''],
  ])('is none where alerts are grouped by %s', (by, name) => {
    expect(groupsOf(decide(begun(5), { group: { ...BY_ACCOUNT.group, by } }))).toEqual([1, 2, 3, 4, 5].map(name))
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
