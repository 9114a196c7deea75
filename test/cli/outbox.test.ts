import { beforeEach, describe, expect, test } from 'vitest'
import { encodeEntry } from '../../src/alerts/outbox.ts'
import type { Store } from '../../src/redis/connect.ts'
import { forgottenUntil } from '../../src/views/alert-log.ts'
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
  test('sends again what was given up since a moment, to a receiver if one is named', async () => {
    const one = await aMixedLot()
    expect((await run('outbox', 'replay', '--since', '2h')).out).toMatch(
      /^0 deliveries on the way again: no delivery was given up since \d{4}-/,
    )
    expect((await run('outbox', 'replay', '--since', '4h', '--receiver', 'ops-hook')).out).toMatch(/^0 /)
    expect(await run('outbox', 'replay', '--since', '4h', '--receiver', 'mail')).toMatchObject({
      code: 0,
      out: '1 delivery on the way again\n',
    })
    expect(await one.told()).toEqual(['b-1'])
    expect(JSON.parse((await run('outbox', 'replay', '--since', at(4), '--json')).out)).toEqual({
      replayed: 0,
      disabled: [],
    })
  })

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

  test('must know since when', async () => {
    expect((await run('outbox', 'replay')).code).toBe(2)
    expect((await run('outbox', 'replay', '--since', 'yesterday')).code).toBe(2)
  })
})

describe('alerts log', () => {
  const log = async (...args: string[]) =>
    JSON.parse((await run('alerts', 'log', '--json', ...args)).out).map((entry: Record<string, { id: string }>) => [
      entry.alert?.id,
      entry.fate,
    ])

  test('tells what became of each transition of the last day, oldest first', async () => {
    await aMixedLot()
    expect(await log()).toEqual([
      ['b-1', 'dead'],
      ['c-1', 'withheld'],
      ['d-1', 'pending'],
    ])
    const { code, out } = await run('alerts', 'log')
    expect(code).toBe(0)
    expect(out).toMatch(/^AGE +LEVEL .* AT /)
    expect(out).toMatch(/^\d+ (min|h) +critical.*acme\.example\.com.*dead.*plimsoll outbox replay.* UTC +b-1/m)
    expect(out).toMatch(/withheld.*no route is for it.*c-1/)
  })

  test('says from when on it has everything, where newer transitions have pushed older ones out', async () => {
    const one = aRelay(store, keys)
    const account = { hubId: 9, hubDomain: '' }
    await one.commit({ alert: anAlert({ account, measuredAt: at(3) }) })
    expect((await run('alerts', 'log')).err).toBe('')
    await one.commit(...Array.from({ length: 300 }, () => ({ alert: anAlert({ account, measuredAt: at(2) }) })))
    for (const args of [
      ['--account', '9'],
      ['--account', '9', '--json'],
    ]) {
      const { code, err } = await run('alerts', 'log', ...args)
      expect(code).toBe(0)
      expect(err).toBe(
        'plimsoll: what alerts did before 2026-11-21 08:00 UTC is not all kept: some of it may be missing here\n',
      )
    }
    for (const args of [
      ['--since', '2h'],
      ['--account', '10'],
    ]) {
      expect((await run('alerts', 'log', ...args)).err).toBe('')
    }
    const others = store.pipeline()
    const entry = encodeEntry({ alert: anAlert({ measuredAt: at(2) }) })
    for (let n = 0; n < 50_000; n++) others.xadd(keys.transitions, 'MAXLEN', 50_000, '*', 'alert', entry)
    await others.exec()
    expect(await forgottenUntil({ store, keys }, { since: clock.now() - 3 * HOUR })).toBe(Date.parse(at(2)))
  })

  test('says what holds back the ones that are pending, and until when', async () => {
    const one = aRelay(store, keys, { routes: [{ to: ['ops-mail'] }], receivers: ['ops-mail'] })
    one.silence(clock.now() + HOUR, clock.now() - 1)
    await one.commit({ alert: anAlert({ id: 'a-1', measuredAt: at(0) }) })
    await one.look(clock.now())
    await one.look(clock.now() + 60_000)
    const [entry] = JSON.parse((await run('alerts', 'log', '--json')).out)
    expect(entry).toMatchObject({
      fate: 'pending',
      why: expect.stringMatching(/^silence s1 until .* UTC \(ops-mail\)$/),
    })
    expect((await run('alerts', 'log')).out).toMatch(/pending +silence s1 until/)
  })

  test('says so when there is nothing to tell', async () => {
    expect((await run('alerts', 'log', '--since', '1m')).out).toMatch(/^no alert changed since /)
    expect((await run('alerts', 'list')).out).toBe('no alert is open\n')
    expect((await run('alerts', 'silences')).out).toBe('no silences in force\n')
  })

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

  test('goes back as far as it is asked, of one account, of one level', async () => {
    await aMixedLot()
    expect(await log('--since', '2d')).toHaveLength(4)
    expect((await log('--since', '2d'))[0]).toEqual(['a-1', 'delivered'])
    expect(await log('--account', '9')).toEqual([['d-1', 'pending']])
    expect(await log('--level', 'critical')).toEqual([['b-1', 'dead']])
  })
})

test('outbox replay knows a near miss of a receiver', async () => {
  const ran = await run('outbox', 'replay', '--since', '2h', '--receiver', 'ops-mial')
  expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining('no receiver has this name') })
})
