import { expect, test } from 'vitest'
import type { Alert } from '../../../src/alerts/alert.ts'
import type { FleetTrouble } from '../../../src/alerts/kinds/fleet-alert.ts'
import { numberOf } from '../../../src/alerts/outbox.ts'
import { recentOf } from '../../../src/alerts/sending/compose-messages.ts'
import { type Item, RECENT } from '../../../src/alerts/sending/decide-sending.ts'
import { holdReason } from '../../../src/alerts/sending/hold.ts'
import type { SendState } from '../../../src/alerts/sending/send-state.ts'
import { NOW } from '../a-relay.ts'
import { anAlert } from '../an-alert.ts'

const item = (alert: Alert, known: SendState = {}, decided = 0): Item => ({
  news: {
    alert: alert.id.replace(/-\d+$/, ''),
    place: `${numberOf(alert)}-1`,
    decided,
    beganWithFirstReading: false,
    entry: { alert },
  },
  isFor: true,
  sendState: known,
})

const told = (number: number): SendState => ({
  lastSent: { place: '0-0', number, at: NOW, group: '' },
})

test('it is remembered what was sent: urgent levels, also of what is over by then; many of them; many accounts', () => {
  const of = (n: number, more: Partial<Alert> = {}) =>
    anAlert({ id: `h${n}-1`, level: 'critical', account: { hubId: n, hubDomain: '' }, ...more })
  const over = { status: 'resolved', reason: 'recovered' } as const
  const many = (count: number, more: Partial<Alert> = {}) =>
    Array.from({ length: count }, (_, n) => item(of(n + 1, more)))
  expect(recentOf('g', many(2))).toEqual([RECENT.group('g'), RECENT.level(of(1)), RECENT.level(of(2))])
  expect(recentOf('g', many(2, { reason: 'repeat' }))).toEqual([RECENT.group('g')])
  expect(recentOf('g', many(1, { id: 'x-2', ...over }))).toEqual([RECENT.group('g'), RECENT.level(of(1))])
  expect(recentOf('g', [item(of(1, { id: 'x-2', ...over }), told(1))])).toEqual([RECENT.group('g')])
  const eased = item(of(1, { id: 'x-3', level: 'warning', reason: 'eased' }), {
    waits: { is: 'group', since: NOW, hurried: 'critical' },
  })
  expect(recentOf('g', [eased])).toEqual([RECENT.group('g'), RECENT.level(of(1))])
  expect(recentOf('g', many(19))).not.toContain(RECENT.burst('g'))
  expect(recentOf('g', many(20))).toContain(RECENT.burst('g'))
  const quiet = { level: 'warning' } as const
  expect(recentOf('g', many(4, quiet))).not.toContain(RECENT.mass('g'))
  expect(recentOf('g', many(5, quiet))).toEqual([RECENT.group('g'), RECENT.mass('g')])
  expect(recentOf('g', many(5, { ...quiet, ...over }))).toEqual([RECENT.group('g'), RECENT.ended('g')])
})

test.each([
  ['token-endpoint', { kind: 'token', cause: 'failing' }, true],
  ['token-endpoint', { kind: 'token', level: 'critical' }, false],
  ['token-endpoint', { kind: 'poll', cause: 'failing' }, true],
  ['provider', { kind: 'token', cause: 'failing' }, true],
  ['provider', { kind: 'poll', cause: 'scopes' }, true],
  ['coverage', { kind: 'poll', cause: 'failing' }, true],
  ['coverage', { kind: 'poll', cause: 'scopes' }, false],
  ['coverage', { kind: 'token', cause: 'failing' }, false],
  ['coverage', { kind: 'limit' }, false],
  ['token-endpoint', { kind: 'fleet' }, false],
] satisfies [FleetTrouble, Partial<Alert>, boolean][])(
  'the trouble %s and an alert %o: held %s',
  (trouble, alert, held) => {
    const found = holdReason(
      anAlert(alert),
      'mail',
      { silences: [], routes: [{ to: ['mail'] }], fleet: [trouble] },
      NOW,
    )
    expect(found).toEqual(held ? { is: 'fleet', trouble } : undefined)
  },
)
