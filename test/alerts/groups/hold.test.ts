import { expect, test } from 'vitest'
import type { Alert } from '../../../src/alerts/alert.ts'
import { holdOf } from '../../../src/alerts/groups/held.ts'
import type { FleetTrouble } from '../../../src/alerts/kinds/fleet-alert.ts'
import { anAlert } from '../an-alert.ts'
import { NOW } from '../outbox/a-relay.ts'

test.each([
  ['token-endpoint', { kind: 'token', level: 'warning' }, true],
  ['token-endpoint', { kind: 'token', level: 'critical' }, false],
  ['token-endpoint', { kind: 'poll', cause: 'failing' }, true],
  ['clock', { kind: 'token', level: 'warning' }, true],
  ['clock', { kind: 'poll', cause: 'scopes' }, true],
  ['coverage', { kind: 'poll', cause: 'failing' }, true],
  ['coverage', { kind: 'poll', cause: 'scopes' }, false],
  ['coverage', { kind: 'token', level: 'warning' }, false],
  ['coverage', { kind: 'limit' }, false],
  ['token-endpoint', { kind: 'fleet' }, false],
] satisfies [FleetTrouble, Partial<Alert>, boolean][])(
  'the trouble %s and an alert %o: held %s',
  (trouble, alert, held) => {
    const found = holdOf(anAlert(alert), 'mail', { silences: [], routes: [{ to: ['mail'] }], fleet: [trouble] }, NOW)
    expect(found).toEqual(held ? { is: 'fleet', trouble } : undefined)
  },
)

test("whoever does not get the fleet's alert is told of its accounts", () => {
  const routes = [{ match: { kind: ['fleet' as const] }, to: ['ops'] }, { to: ['mail', 'ops'] }]
  const hold = (receiver: string) =>
    holdOf(anAlert({ kind: 'token' }), receiver, { silences: [], routes, fleet: ['token-endpoint'] }, NOW)
  expect(hold('ops')).toEqual({ is: 'fleet', trouble: 'token-endpoint' })
  expect(hold('mail')).toBeUndefined()
})
