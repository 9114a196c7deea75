import { expect, test } from 'vitest'
import { deliveryAnnouncer } from '../../../src/alerts/kinds/delivery-alert.ts'
import type { News } from '../../../src/alerts/kinds/told-alert.ts'
import { decodeEntry } from '../../../src/alerts/outbox.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const HOUR = 3_600_000
const announce = deliveryAnnouncer({ repeatEveryMs: 24 * HOUR, page: 'https://plimsoll.example.com/deliveries' })
const firing = (level: 'warning' | 'critical'): News => ({ is: 'firing', level, message: 'It fails.' })
const over: News = { is: 'over', message: 'It delivers again.' }

/** One after the other, each on the state that the one before left; what was told each time. */
function story(...steps: [hours: number, news: News][]) {
  let state = ''
  return steps.map(([hours, news]) => {
    const { changes, entries } = announce('ops-hook', state, news, NOW + hours * HOUR)
    const [change] = changes
    if (change === undefined) return undefined
    expect(change.slice(0, 2)).toEqual(['delivery/ops-hook', state])
    state = change[2]
    return entries.map(decodeEntry).map(({ alert, notTo }) => ({ ...alert, notTo }))[0]
  })
}

test('is told when it opens, once, again when it is due, and when it is over', () => {
  const told = story(
    [0, firing('warning')],
    [1, firing('warning')],
    [24, firing('warning')],
    [25, firing('warning')],
    [26, over],
    [27, over],
  )
  expect(told.map((alert) => alert?.reason)).toEqual([
    'entered',
    undefined,
    'repeat',
    undefined,
    'recovered',
    undefined,
  ])
  expect(told[0]).toMatchObject({ kind: 'delivery', status: 'firing', level: 'warning', notTo: 'ops-hook' })
  expect(told[4]).toMatchObject({ status: 'resolved', level: 'warning', notTo: 'ops-hook', since: told[0]?.since })
  expect(told[0]).not.toHaveProperty('account')
})

test('gets worse when the receiver is switched off, and better when it only fails', () => {
  const told = story([0, firing('warning')], [1, firing('critical')], [2, firing('warning')])
  expect(told.map((alert) => [alert?.reason, alert?.level])).toEqual([
    ['entered', 'warning'],
    ['escalated', 'critical'],
    ['eased', 'warning'],
  ])
  expect(new Set(told.map((alert) => alert?.id)).size).toBe(3)
  expect(new Set(told.map((alert) => alert?.id.split('-')[0])).size).toBe(1)
})
