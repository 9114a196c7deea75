import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Alert } from '../../../src/alerts/alert.ts'
import { composeGroup } from '../../../src/alerts/groups/compose-group.ts'
import { waitingAlert } from '../../../src/alerts/groups/group.ts'
import { holdOf } from '../../../src/alerts/groups/held.ts'
import type { FleetTrouble } from '../../../src/alerts/kinds/fleet-alert.ts'
import { INTERVAL, NOW } from '../a-relay.ts'
import { anAlert } from '../an-alert.ts'

const compose = (alerts: readonly Alert[], max = 200) =>
  composeGroup({
    ...{ key: 'mail|rule=x', group: { max, intervalMs: INTERVAL }, now: NOW },
    ...{ holdOf: () => undefined, heardOf: () => ({ is: 'told', at: 0, order: 0, group: '' }) },
    waiting: alerts.map((alert, n) => waitingAlert(`7-${n + 1}`, alert)),
  })

test('what is most urgent comes first: critical, few days left, full', () => {
  const series = { metric: 'customProperties.overall' }
  const ids = compose([
    anAlert({ id: 'warning', series, percent: 99, daysLeft: 0 }),
    anAlert({ id: 'fuller', series, level: 'critical', percent: 97 }),
    anAlert({ id: 'full', series, level: 'critical', percent: 96 }),
    anAlert({ id: 'soon', series, level: 'critical', percent: 50, daysLeft: 2 }),
    anAlert({ id: 'sooner', series, level: 'critical', percent: 40, daysLeft: 1 }),
  ]).messages[0]?.message.data.alerts.map(({ id }) => id)
  expect(ids).toEqual(['sooner', 'soon', 'fuller', 'full', 'warning'])
})

const transition = fc.record({
  alert: fc.constantFrom('aaaa', 'bbbb', 'cccc', 'dddd'),
  status: fc.constantFrom('firing' as const, 'resolved' as const),
  level: fc.constantFrom('warning' as const, 'critical' as const),
  percent: fc.nat(120),
})

test('no committed id is missing from what is sent, and none is sent that is not the newest of its alert', () => {
  fc.assert(
    fc.property(fc.array(transition, { maxLength: 30 }), (found) => {
      const seen = new Map<string, number>()
      const alerts = found.map(({ alert, ...more }) => {
        seen.set(alert, (seen.get(alert) ?? 0) + 1)
        return anAlert({ ...more, id: `${alert}-${seen.get(alert)}` })
      })
      const { messages, places } = compose(alerts)
      const told = messages.flatMap(({ message }) => message.data.alerts)
      expect(told.map(({ id }) => id).sort()).toEqual([...seen].map(([alert, last]) => `${alert}-${last}`).sort())
      expect(told.flatMap(({ id, supersedes = [] }) => [id, ...supersedes]).sort()).toEqual(
        alerts.map(({ id }) => id).sort(),
      )
      expect([...places].sort()).toEqual(messages.flatMap(({ transitions }) => transitions.map(([ref]) => ref)).sort())
      expect(places).toHaveLength(alerts.length)
    }),
  )
})

test('a message that is cut carries all of its transitions', () => {
  const { messages } = compose([anAlert(), anAlert(), anAlert()], 1)
  expect(messages).toMatchObject([{ message: { data: { truncated: 2 } }, transitions: expect.any(Array) }])
  expect(messages[0]?.transitions.map(([ref]) => ref).toSorted()).toEqual(['7-1', '7-2', '7-3'])
})

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
