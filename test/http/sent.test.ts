import { expect, test } from 'vitest'
import type { LoggedAttempt } from '../../src/delivery/deliveries.ts'
import { notificationTable } from '../../src/http/pages/parts/notifications.ts'
import { attemptsTable } from '../../src/operations/deliveries.ts'
import type { NotificationShape } from '../../src/views/shapes/explanation.ts'
import { anAlert } from '../alerts/an-alert.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')

function attempt(more: Partial<LoggedAttempt>): LoggedAttempt {
  return {
    at: new Date(NOW - 60_000).toISOString(),
    id: 'd1',
    receiver: 'ops-hook',
    type: 'alert.firing',
    attempt: 1,
    outcome: 'retry',
    ms: 5,
    answer: 503,
    nextAt: new Date(NOW + 111_000).toISOString(),
    reason: 'answered 503',
    ...more,
  }
}

function notification(more: Partial<NotificationShape>): NotificationShape {
  const known = {
    transition: '1-1',
    at: new Date(NOW).toISOString(),
    alert: anAlert(),
    why: '',
    waiting: [],
    attempts: [],
  }
  return { ...known, fate: 'pending', ...more }
}

const words = (html: { toString(): string }) =>
  html
    .toString()
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')

test('a digest is named with the number of its alerts, not by the account of the first one', () => {
  const account = { hubId: 7, hubDomain: 'acme.example.com' }
  const carried = new Map([['d1', { first: anAlert({ account }), count: 104 }]])
  const table = (type: string) => JSON.stringify(attemptsTable([attempt({ type })], carried))
  expect(table('alert.digest')).toContain('"ops-hook","digest, 104 alerts"')
  expect(table('alert.digest')).not.toContain('acme')
  expect(table('alert.firing')).toMatch(/acme\.example\.com: .* and 103 more/)
})

test('each receiver of a notification has one line, with its last attempt and the next one', () => {
  const attempts = [
    attempt({ at: new Date(NOW - 120_000).toISOString() }),
    attempt({ id: 'd2', receiver: 'ops-mail', outcome: 'delivered', reason: '', nextAt: null }),
    attempt({ attempt: 2 }),
  ]
  const waiting = [{ receiver: 'ops-hook', where: 'delivery' as const, until: new Date(NOW + 111_000).toISOString() }]
  const table = notificationTable([notification({ attempts, waiting })], NOW).toString()
  expect(table).toMatch(
    /<summary>ops-hook: failed <time[^>]*>1 min ago<\/time>, next attempt <time[^>]*>in 111 s<\/time>/,
  )
  expect(words(table)).toContain('ops-mail: delivered 1 min ago')
  expect(words(table)).toContain('attempt 1: failed 2 min ago answered 503')
  expect(words(table)).not.toContain('waits to be delivered')
})
