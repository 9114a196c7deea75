import { beforeEach, describe, expect, test } from 'vitest'
import type { Store } from '../../src/redis/connect.ts'
import { aRelay } from '../alerts/a-relay.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { plimsollHere } from '../support/command.ts'
import { commandsOfFile } from './commands-of-file.ts'

const HOUR = 3_600_000
const installed = commandsOfFile()
const { clock, keys, run } = installed
let store: Store

beforeEach(async () => {
  store = installed.store
  await store.flushall()
})

const at = (hoursAgo: number) => new Date(clock.now() - hoursAgo * HOUR).toISOString()

/** One transition delivered, one given up, one that waits; one that no route is for. */
async function aMixedLot() {
  const one = aRelay(store, keys, { routes: [{ match: { kind: ['limit', 'token'] }, to: ['mail'] }] })
  const pass = async (more: Parameters<typeof anAlert>[0], now: number) => {
    await one.commit({ alert: anAlert(more) })
    await one.look(now)
    await one.look(now + HOUR)
  }
  await pass({ id: 'a-1', measuredAt: at(30) }, clock.now() - 30 * HOUR)
  await one.record('delivered', clock.now() - 30 * HOUR)
  await pass({ id: 'b-1', measuredAt: at(3), level: 'critical' }, clock.now() - 3 * HOUR)
  await one.record('dead', clock.now() - 3 * HOUR)
  await pass({ id: 'c-1', measuredAt: at(2), kind: 'poll', rule: 'poll' }, clock.now() - 2 * HOUR)
  await one.commit({
    alert: anAlert({ id: 'd-1', measuredAt: at(1), account: { hubId: 9, hubDomain: 'nine.example' } }),
  })
  return one
}

describe('outbox verify', () => {
  test('says that nothing was lost, and what is on its way', async () => {
    await aMixedLot()
    const { code, out } = await run('outbox', 'verify')
    expect(code).toBe(1)
    expect(out).toMatch(/on their way +1 new\n/)
    expect(out).toMatch(/dead +1 message: plimsoll alerts log shows why; plimsoll outbox replay --since 3d sends/)
    const json = await run('outbox', 'verify', '--json')
    expect(JSON.parse(json.out)).toMatchObject({
      open: 0,
      pending: 1,
      inOutbox: 1,
      waiting: 0,
      deliveries: 0,
      dead: 1,
      missing: [],
      waits: [],
      // No account has a state for what was sent, as it would where polls open alerts.
      unresolved: [{ receiver: 'mail' }, { receiver: 'mail' }],
    })
  })

  test('names who waits, and why', async () => {
    const one = aRelay(store, keys)
    one.silence(clock.now() + HOUR, clock.now() - HOUR)
    await one.commit({ alert: anAlert({ id: 'aaaa-1' }) })
    await one.look(clock.now())
    const { code, out } = await run('outbox', 'verify')
    expect(code).toBe(0)
    expect(out).toMatch(/waits +mail does not know of alert aaaa yet: silence s1 until /)
    expect(out).toMatch(/result +OK: every/)
  })

  test('fails where somebody was sent an alert as firing that is not open, and no end is on its way', async () => {
    const one = aRelay(store, keys)
    await one.commit({ alert: anAlert({ id: 'aaaa-1' }) })
    await one.look(clock.now())
    await one.look(clock.now() + HOUR)
    await one.look(clock.now() + 2 * HOUR)
    const { code, out } = await run('outbox', 'verify')
    expect(code).toBe(1)
    expect(out).toContain('mail was sent alert aaaa as firing; it is over, and no end is on its way')
    expect(out).toMatch(/result +not OK: was Redis restored/)
  })

  test('of a fleet that never told anything is balanced', async () => {
    expect(await run('outbox', 'verify')).toMatchObject({ code: 0, err: '' })
  })
})

describe('outbox replay', () => {
  test('leaves alone what a receiver was to get that is switched off, and says how to enable it', async () => {
    const one = await aMixedLot()
    await one.store.hset(one.keys.delivery.disabled, 'mail', 'answered 410')
    const { code, out } = await run('outbox', 'replay', '--since', '4h')
    expect(code).toBe(0)
    expect(out).toBe(
      '0 deliveries on the way again\n' +
        'mail is switched off, so nothing goes its way: enable it first: plimsoll alerts test mail\n',
    )
    expect(await one.deliveries.countDead()).toBe(1)
    await one.deliveries.enable([{ name: 'mail' }], Date.now())
    expect((await run('outbox', 'replay', '--since', '4h')).out).toBe('1 delivery on the way again\n')
  })
})

describe('alerts log', () => {
  test('a time without offset is in http.timeZone, as the times that are shown; for a replay, too', async () => {
    await aMixedLot()
    const tokyo = installed.written({ http: { timeZone: 'Asia/Tokyo' } })
    const there = async (...args: string[]) =>
      JSON.parse((await plimsollHere([...args, '--json', '--config', tokyo], installed.folder, { clock })).out)
    // The clock there is nine hours ahead.
    expect(await there('alerts', 'log', '--since', at(2.5 - 9).slice(0, 16))).toHaveLength(2)
    expect(await there('alerts', 'log', '--since', at(2.5))).toHaveLength(2)
    expect(await there('outbox', 'replay', '--since', at(4 - 9).slice(0, 16))).toMatchObject({ replayed: 1 })
    const { code, err } = await run('outbox', 'replay', '--since', at(-1))
    expect([code, err]).toEqual([2, expect.stringContaining('--since lies in the future')])
  })
})
