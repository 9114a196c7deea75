import { describe, expect, test } from 'vitest'
import { acknowledgeState } from '../../../src/alerts/acknowledge.ts'
import type { AlertLevel } from '../../../src/alerts/alert.ts'
import { encodeState } from '../../../src/alerts/alert-state.ts'
import { deliveryAnnouncer } from '../../../src/alerts/kinds/delivery-alert.ts'
import { fleetAnnouncer } from '../../../src/alerts/kinds/fleet-alert.ts'
import {
  type AlertContent,
  closeAlert,
  type NotifiedSubject,
  notifyAlert,
} from '../../../src/alerts/kinds/notified-alert.ts'
import { decodeEntry } from '../../../src/alerts/outbox.ts'
import type { AlertWrites } from '../../../src/redis/steps.ts'
import { stateIn } from '../../support/state-in.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const HOUR = 3_600_000
const DAY = 24 * HOUR
const ACCOUNT = { hubId: 123, hubDomain: 'acme.example.com' }

/** An alert of its own, step by step on the state that the step before left. */
function anAlert(more: Partial<NotifiedSubject> = {}) {
  let stored = ''
  const step = (now: number, write: (subject: NotifiedSubject) => AlertWrites) => {
    const writes = write({ field: 'token', account: ACCOUNT, url: 'https://a.b', ...more, stored, now })
    for (const [, before, after] of writes.changes) {
      expect(before).toBe(stored)
      stored = after
    }
    return writes.entries.map(decodeEntry)[0]
  }
  return {
    tell: (now: number, level: AlertLevel, rest: Partial<AlertContent> = {}) =>
      step(now, (subject) => notifyAlert(subject, { level, message: 'it fails', ...rest }))?.alert,
    close: (now: number) => step(now, (subject) => closeAlert(subject, 'it works'))?.alert,
    step,
    acknowledge: (at: number, until: number) => {
      stored = encodeState(acknowledgeState(stateIn(stored), { by: 'ana', at, until }))
    },
    state: () => (stored === '' ? undefined : stateIn(stored)),
  }
}

describe('an alert that is not about a number', () => {
  test('is opened, told again, worse and better, and closed, under one id with a number each', () => {
    const one = anAlert()
    const told = [
      one.tell(NOW, 'warning'),
      one.tell(NOW + 1, 'warning'),
      one.tell(NOW + 2, 'critical'),
      one.tell(NOW + 3, 'warning'),
      one.close(NOW + 4),
    ]
    expect(told.map((alert) => [alert?.reason, alert?.status, alert?.level])).toEqual([
      ['entered', 'firing', 'warning'],
      ['repeat', 'firing', 'warning'],
      ['escalated', 'firing', 'critical'],
      ['eased', 'firing', 'warning'],
      ['recovered', 'resolved', 'warning'],
    ])
    expect(told.map((alert) => alert?.id.split('-')[1])).toEqual(['1', '2', '3', '4', '5'])
    expect(new Set(told.map((alert) => alert?.id.split('-')[0])).size).toBe(1)
    expect(new Set(told.map((alert) => alert?.since))).toEqual(new Set([new Date(NOW).toISOString()]))
    expect(one.state()).toBeUndefined()
    expect(one.close(NOW + 5)).toBeUndefined()
  })

  test('keeps the rule that it was opened under, and says its cause', () => {
    const one = anAlert()
    expect(one.tell(NOW, 'warning', { rule: 'uninstall', cause: 'scopes' })).toMatchObject({
      rule: 'uninstall',
      cause: 'scopes',
      account: ACCOUNT,
    })
    expect(one.tell(NOW, 'critical', { rule: 'other', cause: 'failing' })).toMatchObject({
      rule: 'uninstall',
      cause: 'failing',
    })
    expect(one.close(NOW)).toMatchObject({ rule: 'uninstall', cause: 'failing' })
  })
})

test('the alert about all accounts names none, and leads to the status page; it repeats after a day', () => {
  const announce = fleetAnnouncer({ repeatEveryMs: DAY, page: 'https://a.b/' })
  const one = anAlert({ field: 'data' })
  const say = (now: number) =>
    one.step(now, ({ stored }) => announce({ trouble: 'data', is: 'firing', stored, message: 'x', now }))?.alert
  expect(say(NOW)).toEqual({
    id: expect.any(String),
    kind: 'fleet',
    status: 'firing',
    level: 'critical',
    reason: 'entered',
    rule: 'fleet',
    cause: 'data',
    measuredAt: '2026-11-21T10:00:00.000Z',
    since: '2026-11-21T10:00:00.000Z',
    message: 'x',
    url: 'https://a.b/',
  })
  expect(say(NOW + DAY - 1)).toBeUndefined()
  expect(say(NOW + DAY)).toMatchObject({ reason: 'repeat' })
})

test('the alert about a receiver is not for the receiver, from its beginning to its end', () => {
  const announce = deliveryAnnouncer({ repeatEveryMs: DAY, page: 'https://a.b/deliveries' })
  const one = anAlert({ field: 'delivery/ops-hook' })
  const news = [
    { is: 'firing', level: 'warning', message: 'It fails.' },
    { is: 'over', message: 'It works.' },
  ] as const
  const told = news.map((each, n) => one.step(NOW + n, ({ stored, now }) => announce('ops-hook', stored, each, now)))
  expect(told).toMatchObject([
    { notTo: 'ops-hook', alert: { kind: 'delivery', status: 'firing', level: 'warning' } },
    { notTo: 'ops-hook', alert: { kind: 'delivery', status: 'resolved', since: told[0]?.alert.since } },
  ])
  expect(told[0]?.alert).not.toHaveProperty('account')
})

describe('acknowledged, an alert that is not about a number', () => {
  const fleet = fleetAnnouncer({ repeatEveryMs: DAY, page: 'https://a.b' })
  const delivery = deliveryAnnouncer({ repeatEveryMs: DAY, page: 'https://a.b' })
  const fails = (level: AlertLevel) => ({ is: 'firing', level, message: 'x' }) as const

  test('of the whole fleet is not told again for as long as was said, but when it is over', () => {
    const one = anAlert({ field: 'data' })
    const say = (is: 'firing' | 'over', now: number) =>
      one.step(now, ({ stored }) => fleet({ trouble: 'data', is, stored, message: 'x', now }))?.alert.reason
    expect(say('firing', NOW)).toBe('entered')
    one.acknowledge(NOW, NOW + 3 * DAY)
    expect([1, 2, 3, 3.5, 4].map((days) => say('firing', NOW + days * DAY))).toEqual([
      undefined,
      undefined,
      'repeat',
      undefined,
      'repeat',
    ])
    one.acknowledge(NOW + 4 * DAY, NOW + 9 * DAY)
    expect(say('over', NOW + 5 * DAY)).toBe('recovered')
  })

  test('is told when it gets worse, and is then known to nobody; what gets better stays known', () => {
    const one = anAlert({ field: 'delivery/ops' })
    const say = (level: AlertLevel, now: number) =>
      one.step(now, ({ stored }) => delivery('ops', stored, fails(level), now))?.alert.reason
    expect(say('critical', NOW)).toBe('entered')
    one.acknowledge(NOW, NOW + 9 * DAY)
    expect(say('warning', NOW + DAY)).toBe('eased')
    expect(say('warning', NOW + 3 * DAY)).toBeUndefined()
    expect(one.state()).toHaveProperty('acknowledged')
    expect(say('critical', NOW + 4 * DAY)).toBe('escalated')
    expect(one.state()).not.toHaveProperty('acknowledged')
    expect(say('critical', NOW + 5 * DAY)).toBe('repeat')
  })
})
