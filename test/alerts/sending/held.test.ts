import { describe, expect, test } from 'vitest'
import { sendAlerts } from '../../../src/alerts/sending/send-alerts.ts'
import { SilenceStore } from '../../../src/alerts/silence-store.ts'
import { readAlertLog } from '../../../src/views/alert-log.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { aRelay, DAY, INTERVAL, NOW, overtakenAt, WAIT } from '../a-relay.ts'
import { anAlert } from '../an-alert.ts'

const redis = redisOfFile()
const relay = (more: Parameters<typeof aRelay>[2] = {}) => aRelay(redis.store, redis.freshKeys(), more)

const ENTERED = anAlert({ id: 'aaaa-1' })
const OVER = anAlert({ id: 'aaaa-2', reason: 'recovered', status: 'resolved' })

const SILENCED = async () => [{ id: 's', matchers: [], author: '', comment: '', createdAt: NOW - 1, endsAt: NOW + DAY }]

test('what ends a silence just as an alert is held back is seen at once', async () => {
  const one = relay()
  const silence = one.silence(NOW + DAY)
  await one.commit({ alert: ENTERED })
  const store = overtakenAt(redis.store, 'recordSends', async () => {
    silence.endsAt = NOW
    await one.recheckWaiting()
  })
  expect((await sendAlerts({ ...one.deps, store }, NOW)).next).toBe(NOW)
  expect(await one.look(NOW)).toBe(NOW + WAIT)
  await one.look(NOW + WAIT)
  expect(await one.told()).toEqual(['aaaa-1'])
})

test('a silence that somebody ended holds nothing back once the clock is set back', async () => {
  const keys = redis.freshKeys()
  const silences = new SilenceStore(redis.store, keys, {})
  const one = aRelay(redis.store, keys, { silences })
  const matchers = [{ name: 'kind', value: '*' } as const]
  const { id } = await silences.add({ matchers, author: 'me', comment: '', createdAt: NOW, endsAt: NOW + 2 * DAY })
  await one.pass(NOW, { alert: ENTERED })
  await silences.end(id, NOW + DAY)
  expect(await one.look(NOW)).toBe(NOW + WAIT)
  await one.look(NOW + WAIT)
  expect(await one.told()).toEqual(['aaaa-1'])
  expect([await silences.active(NOW), await silences.current(NOW)]).toEqual([[], []])
})

test('a limit that moved is told after a silence, however long that lasted', async () => {
  const one = relay()
  one.silence(NOW + 10 * DAY)
  await one.pass(NOW, { alert: anAlert({ id: 'bbbb-1', kind: 'limit-changed' }) })
  for (const day of [4, 8]) await one.pass(NOW + day * DAY, { alert: anAlert({ id: `cccc${day}-1` }) })
  await one.look(NOW + 10 * DAY)
  await one.look(NOW + 10 * DAY + WAIT)
  expect(await one.told()).toContain('bbbb-1')
})

test('what waits, and what was never sent, says why', async () => {
  const one = relay()
  one.silence(NOW + DAY)
  await one.pass(NOW, { alert: ENTERED })
  await one.expectBalance({ pending: 1, waiting: 1, waits: [{ why: expect.stringMatching(/^silence s1 until /) }] })
  expect(await one.look(NOW + WAIT)).toBe(NOW + DAY)
  await one.commit({ alert: OVER })
  await one.look(NOW + INTERVAL)
  await one.expectBalance({ pending: 0, waiting: 0 })
  const fates = (await readAlertLog(one, { since: 0 })).map(({ fate: { is, why } }) => `${is}: ${why}`)
  expect(fates).toEqual(Array(2).fill('withheld: ended before silence s1 did'))
})

describe('of two that look at once', () => {
  test.each([
    ['holds', true, { waiting: 1, deliveries: 0 }],
    ['tells', false, { waiting: 0, deliveries: 1 }],
  ] as const)('the one that %s first decides', async (_, firstHolds, balance) => {
    const one = relay()
    await one.commit({ alert: ENTERED })
    await one.look(NOW)
    const silenced = { ...one.deps, silences: { active: SILENCED } }
    const [slow, fast] = firstHolds ? [one.deps, silenced] : [silenced, one.deps]
    const store = overtakenAt(redis.store, 'recordSends', () => sendAlerts(fast, NOW + WAIT))
    expect((await sendAlerts({ ...slow, store }, NOW + WAIT)).next).toBe(NOW + WAIT)
    await one.expectBalance(balance)
  })

  test('one has another config and a clock that is minutes ahead: the beginning is not told after what is worse', async () => {
    const one = relay()
    const ahead = { ...one.deps, group: { ...one.deps.group, by: ['kind'] as const } }
    await one.commit({ alert: ENTERED })
    await sendAlerts(ahead, NOW)
    let others = 1
    const store = overtakenAt(redis.store, 'recordSends', async () => {
      if (others-- < 1) return
      await one.commit({ alert: anAlert({ id: 'aaaa-2', level: 'critical', reason: 'escalated' }) })
      await one.look(NOW)
      await one.look(NOW + WAIT)
    })
    await sendAlerts({ ...ahead, store }, NOW + INTERVAL)
    await sendAlerts(ahead, NOW + INTERVAL)
    expect(await one.told()).toEqual(['aaaa-2'])
  })
})

describe('of two daemons with different configs, as in a rolling restart', () => {
  const CRITICAL = { match: { level: ['critical' as const] }, to: ['pager'] }
  const configs = (own: string, other: string) => async () => ({ own, others: [other] })
  /** The new config knows a receiver and a route that the old one lacks. */
  const bothConfigs = () => {
    const one = relay({
      routes: [CRITICAL, { to: ['mail'] }],
      receivers: ['pager', 'mail'],
      configs: configs('new', 'old'),
    })
    const old = { ...one.deps, routes: [CRITICAL], receivers: ['pager'], configs: configs('old', 'new') }
    return { one, old }
  }

  test('what both hold back is next checked, and written, when that ends', async () => {
    const { one, old } = bothConfigs()
    one.silence(NOW + DAY)
    await one.commit({ alert: anAlert({ level: 'critical' }) })
    const looks = []
    for (const at of [NOW, NOW + 1_000, NOW + 2_000])
      for (const deps of [one.deps, old]) looks.push(await one.look(at, deps))
    expect(looks.slice(2)).toEqual(Array(4).fill(NOW + DAY))
  })

  test('a transition that the other has not seen is checked again soon, and by none once it stopped', async () => {
    const { one } = bothConfigs()
    await one.commit({ alert: ENTERED })
    expect(await one.look(NOW)).toBe(NOW + 1_000)
    const noted = () => redis.store.hvals(one.keys.decided)
    const before = await noted()
    await one.look(NOW + 500)
    expect(await noted()).toEqual(before)
    one.deps.configs = async () => ({ own: 'new', others: [] })
    expect(await one.look(NOW + 1_000)).toBe(NOW + WAIT)
  })

  test('nothing is left of what the other settled just before', async () => {
    const { one, old } = bothConfigs()
    await one.commit({ alert: ENTERED })
    await one.look(NOW, old)
    const store = overtakenAt(redis.store, 'settleNews', () => one.look(NOW + 1_000))
    await one.look(NOW + 1_000, { ...old, store })
    expect(await redis.store.exists(one.keys.unsent, one.keys.decided)).toBe(0)
  })
})

test('alerts that are held back are not read for a new one, however many', async () => {
  const one = relay({ routes: [{ to: ['mail', 'hook', 'pager'] }] })
  one.silence(NOW + DAY)
  await one.commit(...Array.from({ length: 2_000 }, () => ({ alert: anAlert() })))
  await one.look(NOW)
  const sent = { commands: 0, fields: 0 }
  const counting = new Proxy(redis.store, {
    get: (real, name) => {
      const value = Reflect.get(real, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        sent.commands++
        sent.fields += args.length
        return value.apply(real, args)
      }
    },
  })
  await one.commit({ alert: anAlert() })
  await sendAlerts({ ...one.deps, store: counting }, NOW + 1_000)
  await one.expectBalance({ waiting: 3 * 2_001, inOutbox: 0 })
  expect(sent.commands).toBeLessThan(50)
  expect(sent.fields).toBeLessThan(200)
  expect(await one.look(NOW + 2_000)).toBe(NOW + DAY)
})
