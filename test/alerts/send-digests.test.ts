import { describe, expect, test } from 'vitest'
import type { Alert, Message } from '../../src/alerts/alert.ts'
import { encodeState, openedState } from '../../src/alerts/alert-state.ts'
import type { DigestSchedule } from '../../src/alerts/digest.ts'
import { sweepDigests } from '../../src/alerts/digest.ts'
import { encodeEntry } from '../../src/alerts/outbox.ts'
import type { Route } from '../../src/alerts/route.ts'
import { StoredReadings } from '../../src/limits/stored-readings.ts'
import type { Store } from '../../src/redis/connect.ts'
import { properties, readings } from '../limits/reports.ts'
import { changePolls } from '../support/changed-polls.ts'
import { HandClock } from '../support/hand-clock.ts'
import { takeDue } from '../support/take-due.ts'
import { worldOfFile } from '../support/world.ts'
import { anAlert } from './an-alert.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const world = worldOfFile()
const daily: DigestSchedule = { every: 'day', at: '08:00', on: 'mon', timeZone: 'Europe/Berlin' }
const ROUTES: readonly Route[] = [{ match: { level: ['critical'] }, to: ['ops', 'pager'] }, { to: ['ops'] }]

interface Settings {
  digests?: Record<string, DigestSchedule>
  routes?: readonly Route[]
  max?: number
  /** How far its clock is ahead of the others', ms. */
  ahead?: number
  store?: Store
}

/** Daemons beside each other at 07:59 in Berlin. */
async function daemons(schedules: Record<string, DigestSchedule> = { ops: daily }) {
  const w = await world({ clock: new HandClock(Date.parse('2026-11-21T06:59:00.000Z')) })
  const { services, store, keys, clock } = w
  const daemon =
    ({ digests = schedules, routes = ROUTES, max = 200, ahead = 0, store: own = store }: Settings = {}) =>
    () =>
      sweepDigests({
        ...services,
        store: own,
        digests: new Map(Object.entries(digests)),
        clock: { now: () => clock.now() + ahead },
        sending: { routes, group: { by: [], waitMs: 0, intervalMs: 0, max } },
      })
  const seen: Message[] = []
  /** Delivers what is due; all that arrived by then. */
  const arrived = async (): Promise<Message[]> => {
    seen.push(...(await takeDue({ store, keys })).map(({ message }) => message))
    return seen
  }
  const reads = (hubId: number, usage: number) =>
    changePolls(store, keys, hubId, {
      polledAt: clock.now(),
      readings: StoredReadings.of(readings(clock.now(), properties(usage)), clock.now()),
    })
  const opens = async (hubId: number, level: 'warning' | 'critical', usage: number) => {
    const state = openedState(level, 'r', clock.now())
    await store.hset(keys.own(hubId), 'hubDomain', `a${hubId}.example.com`)
    await store.hset(keys.account(hubId).alerts, 'overall', encodeState(state))
    await reads(hubId, usage)
    await store.sadd(keys.alerting, hubId)
  }
  const closes = async (hubId: number) => {
    await store.del(keys.account(hubId).alerts)
    await store.srem(keys.alerting, hubId)
  }
  const said = (code: string) => w.logged.lines().filter((line) => line.code === code)
  return { ...w, daemon, arrived, opens, reads, closes, said }
}

const shown = ({ data }: Message) => data.alerts.map(({ account, level, percent }) => [account?.hubId, level, percent])

describe('a digest', () => {
  test('comes at its time with all that is open, the worst first', async () => {
    const { daemon, arrived, opens, clock, woken } = await daemons()
    await daemon()()
    await opens(1, 'warning', 850)
    await opens(2, 'critical', 970)
    await opens(3, 'warning', 900)
    await daemon()()
    expect(await arrived()).toEqual([])

    clock.move(MINUTE)
    await daemon()()
    expect(woken).toEqual(['alerts'])
    const [first] = await arrived()
    if (first === undefined) throw new Error('nothing arrived')
    expect(first).toMatchObject({ type: 'alert.digest', timestamp: '2026-11-21T07:00:00.000Z' })
    expect(first.data).toMatchObject({ period: 'day', truncated: 0, totals: { accounts: 3, critical: 1, warning: 2 } })
    expect(shown(first)).toEqual([
      [2, 'critical', 97],
      [3, 'warning', 90],
      [1, 'warning', 85],
    ])

    // In another process, until the next day and then.
    clock.move(DAY - MINUTE)
    await daemon()()
    expect(await arrived()).toHaveLength(1)
    clock.move(MINUTE)
    await daemon()()
    expect(await arrived()).toHaveLength(2)
  })

  test('has what changed since the last one, of what the routes send to its receiver', async () => {
    const { daemon, arrived, clock, keys, store, account } = await daemons()
    const logged = (hubId: number, more: Partial<Alert> = {}) => {
      const measuredAt = new Date(clock.now()).toISOString()
      const account = { hubId, hubDomain: `a${hubId}.example.com` }
      const alert = anAlert({ account, measuredAt, ...more })
      return store.xadd(keys.transitions, '*', 'alert', encodeEntry({ alert }))
    }
    const routes = [
      { match: { account: ['b*'] }, to: ['others'] },
      { match: { level: ['critical' as const] }, to: ['ops'] },
      { to: ['pager'] },
    ]
    const own = daemon({ routes })
    await logged(9)
    await own()
    clock.move(MINUTE)
    await own()
    expect((await arrived())[0]?.data.changed).toMatchObject({
      since: '2026-11-21T06:59:00.000Z',
      counts: { connected: 0, entered: 0 },
    })

    clock.move(HOUR)
    await account({ hubId: 1, hubDomain: 'a1.example.com' })
    await account({ hubId: 2, hubDomain: 'b2.example.com' })
    await logged(3, { level: 'critical' })
    await logged(4, { level: 'warning', reason: 'eased' })
    await logged(5, { level: 'warning' })
    await logged(6, { level: 'critical', account: { hubId: 6, hubDomain: 'b6.example.com' } })
    clock.move(DAY - HOUR)
    await own()
    const changed = (await arrived())[1]?.data.changed
    expect(changed).toMatchObject({ since: '2026-11-21T07:00:00.000Z', until: '2026-11-22T07:00:00.000Z', leftOut: 0 })
    expect(changed?.items.map(({ change, account }) => [change, account?.hubDomain])).toEqual([
      ['connected', 'a1.example.com'],
      ['entered', 'a3.example.com'],
      ['eased', 'a4.example.com'],
    ])
  })

  test('comes once, however many daemons look at the same moment', async () => {
    const { daemon, arrived, opens, clock, woken } = await daemons()
    await opens(1, 'warning', 850)
    const all = [daemon(), daemon(), daemon(), daemon()]
    await Promise.all(all.map((sweep) => sweep()))
    for (let day = 1; day <= 3; day++) {
      clock.move(day === 1 ? MINUTE : DAY)
      await Promise.all(all.map((sweep) => sweep()))
      expect(await arrived()).toHaveLength(day)
      expect(woken).toHaveLength(day)
    }
  })
})

test('a digest that was missed comes as soon as a daemon runs, once for several, with all that changed since the last', async () => {
  const { daemon, arrived, clock } = await daemons()
  await daemon()()
  clock.move(3 * DAY + 20 * HOUR)
  await daemon()()
  await daemon()()
  expect((await arrived()).map(({ data }) => data.changed?.since)).toEqual(['2026-11-21T06:59:00.000Z'])
  clock.move(5 * HOUR)
  await daemon()()
  expect(await arrived()).toHaveLength(2)
})

test('a digest that is new in the config comes at its next time, also at another one', async () => {
  const { daemon, arrived, clock } = await daemons()
  clock.move(2 * MINUTE)
  await daemon()()
  const later = daemon({ digests: { ops: { ...daily, at: '18:30' } } })
  await later()
  expect(await arrived()).toEqual([])
  clock.move(11 * HOUR)
  await later()
  expect(await arrived()).toHaveLength(1)
})

test('a digest that was sent by a clock a week ahead does not keep the next ones back', async () => {
  const { daemon, arrived, clock } = await daemons()
  await daemon({ ahead: 7 * DAY })()
  await daemon()()
  clock.move(MINUTE)
  await daemon()()
  expect(await arrived()).toHaveLength(1)
})

test('a receiver whose digest can not be made keeps no other from its own', async () => {
  const { daemon, arrived, clock, keys, store, said } = await daemons({ broken: daily, ops: daily })
  await daemon()()
  clock.move(MINUTE)
  await store.set(keys.delivery.lines('broken'), 'another type')
  await daemon()()
  expect(await arrived()).toHaveLength(1)
  expect(said('digest.error')).toMatchObject([{ receiver: 'broken' }])
  clock.move(DAY)
  await daemon({ digests: { ops: daily } })()
  expect(await arrived()).toHaveLength(2)
})

test('an account with more alerts than a call takes arguments has its digest', async () => {
  const { daemon, arrived, opens, clock, keys, store, said } = await daemons()
  await opens(1, 'warning', 850)
  const [stored = ''] = await store.hvals(keys.account(1).alerts)
  for (let from = 0; from < 130_000; from += 10_000) {
    const fields = Array.from({ length: 10_000 }, (_, n) => [`associations.records/0-1/0-${from + n}`, stored])
    await store.hset(keys.account(1).alerts, ...fields.flat())
  }
  await daemon()()
  clock.move(MINUTE)
  await daemon()()
  expect(said('digest.error')).toEqual([])
  expect((await arrived())[0]?.data).toMatchObject({ totals: { accounts: 1, warning: 130_001 } })
})
