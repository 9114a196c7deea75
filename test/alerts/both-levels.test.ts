import { expect, test } from 'vitest'
import { decodeState, encodeState, openedState } from '../../src/alerts/alert-state.ts'
import { closeAlerts, type NotifiedSubject, notifyAlert } from '../../src/alerts/kinds/notified-alert.ts'
import { decodeEntry, encodeEntry, entryOf } from '../../src/alerts/outbox.ts'
import type { Route } from '../../src/alerts/route.ts'
import { redisOfFile } from '../support/of-file.ts'
import { aRelay, INTERVAL, NOW, WAIT } from './a-relay.ts'
import { anAlert } from './an-alert.ts'

const redis = redisOfFile()
const ROUTES: Route[] = [{ match: { level: ['critical'] }, to: ['pager'] }, { to: ['mail'] }]
const SUBJECT: NotifiedSubject = { field: 'token', stored: '', url: '', now: NOW }

/** A token alert that goes from level to level, and is over with an uninstall: the entries of the outbox, in their order. */
function passing(...levels: ('warning' | 'critical')[]) {
  const account = { hubId: 123, hubDomain: 'acme.example.com' }
  const entries: string[] = []
  let stored = ''
  for (const level of levels) {
    const writes = notifyAlert({ ...SUBJECT, account, stored }, { level, message: '' })
    stored = writes.changes[0]?.[2] ?? ''
    entries.push(...writes.entries)
  }
  entries.push(...closeAlerts(() => '', account, { token: stored }, NOW).entries)
  return entries.map(decodeEntry)
}

async function toldTo(entries: ReturnType<typeof passing>) {
  const one = aRelay(redis.store, redis.freshKeys(), { routes: ROUTES, receivers: ['mail', 'pager'] })
  const told: string[] = []
  let now = NOW
  for (const entry of entries) {
    await one.commit(entry)
    await one.look(now)
    now += WAIT + INTERVAL
    await one.look(now)
    for (const { receiver, message } of await one.pending())
      told.push(`${receiver} ${message.data.alerts.map(({ reason }) => reason).join()}`)
    await one.record('delivered', now)
  }
  return told.sort()
}

test('whoever was told that an alert is critical is told when it is not, and when it is over; others that it began', async () => {
  expect(await toldTo(passing('critical', 'warning'))).toEqual([
    'mail entered',
    'mail uninstalled',
    'pager eased',
    'pager entered',
    'pager uninstalled',
  ])
})

test('whoever was told of a warning is told when it is over, though it was critical by then', async () => {
  expect(await toldTo(passing('warning', 'critical'))).toEqual([
    'mail entered',
    'mail uninstalled',
    'pager escalated',
    'pager uninstalled',
  ])
})

test('an alert of one level, and its repeats at either, concern no other receivers', async () => {
  expect(await toldTo(passing('warning', 'warning'))).toEqual(['mail entered', 'mail repeat', 'mail uninstalled'])
  const repeat = anAlert({ reason: 'repeat' })
  expect(entryOf(repeat, { wasAtBoth: true })).toEqual({ alert: repeat })
  expect(decodeEntry(encodeEntry(entryOf(repeat, {})))).toEqual({ alert: repeat })
})

test('that an alert was at both levels is kept with its state, whatever else is', () => {
  const opened = openedState('critical', 'token', NOW)
  const acknowledged = { at: 1, by: 'ann', until: 2 }
  for (const state of [opened, { ...opened, cause: 'failing' as const }, { ...opened, acknowledged }]) {
    expect(decodeState(encodeState(state))).toEqual(state)
    expect(decodeState(encodeState({ ...state, wasAtBoth: true }))).toEqual({ ...state, wasAtBoth: true })
  }
})
