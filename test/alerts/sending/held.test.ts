import { describe, expect, test } from 'vitest'
import { encodeState, openedState } from '../../../src/alerts/alert-state.ts'
import { sendAlerts } from '../../../src/alerts/sending/send-alerts.ts'
import { NO_ACCOUNT, stepJson } from '../../../src/redis/steps.ts'
import { readAlertLog } from '../../../src/views/alert-log.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { aRelay, DAY, dyingAt, INTERVAL, NOW, overtakenAt, WAIT } from '../a-relay.ts'
import { anAlert } from '../an-alert.ts'

const redis = redisOfFile()
const relay = (more: Parameters<typeof aRelay>[2] = {}) => aRelay(redis.store, redis.freshKeys(), more)
type Relay = ReturnType<typeof relay>

const ENTERED = anAlert({ id: 'aaaa-1' })
const REPEAT = anAlert({ id: 'aaaa-2', reason: 'repeat' })
const OVER = anAlert({ id: 'aaaa-3', reason: 'recovered', status: 'resolved' })

const SILENCED = async () => [{ id: 's', matchers: [], author: '', comment: '', createdAt: NOW - 1, endsAt: NOW + DAY }]

async function pass(one: Relay, alert: Parameters<typeof anAlert>[0], now: number) {
  await one.commit({ alert: anAlert(alert) })
  await one.look(now)
  await one.look(now + WAIT + INTERVAL)
}

/** What became of each transition. */
async function fatesOf(one: Relay) {
  return (await readAlertLog(one, { since: 0 })).map(({ fate: { is, why } }) => (why === '' ? is : `${is}: ${why}`))
}

describe('an alert under a silence', () => {
  test('waits, and is told when the silence ends, as it was committed', async () => {
    const one = relay()
    one.silence(NOW + DAY)
    await pass(one, ENTERED, NOW)
    expect(await one.told()).toEqual([])
    await one.expectBalance({ pending: 1, waiting: 1, waits: [{ why: expect.stringMatching(/^silence s1 until /) }] })
    expect(await one.look(NOW + DAY - WAIT)).toBe(NOW + DAY)
    expect(await one.look(NOW + DAY)).toBe(NOW + DAY + WAIT)
    await one.expectBalance({
      waits: [{ receiver: 'mail', alert: 'aaaa', why: expect.stringContaining('in its group') }],
    })
    await one.look(NOW + DAY + WAIT)
    const [delivery] = await one.pending()
    expect(delivery?.message.data.alerts).toEqual([ENTERED])
    await one.expectBalance({ pending: 1, deliveries: 1, waits: [] })
  })

  test('is told at once when somebody ends it', async () => {
    const one = relay()
    const silence = one.silence(NOW + DAY)
    await pass(one, ENTERED, NOW)
    silence.endsAt = NOW + INTERVAL
    const later = NOW + WAIT + INTERVAL
    await one.recheckWaiting()
    expect(await one.look(later)).toBe(later + WAIT)
    await one.look(later + WAIT)
    expect(await one.told()).toEqual(['aaaa-1'])
  })

  test('is told at once when somebody ends it just as the alert is held back', async () => {
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

  test('that is over before it was told is told by nobody, and the log says why', async () => {
    const one = relay()
    one.silence(NOW + DAY)
    await pass(one, ENTERED, NOW)
    await pass(one, REPEAT, NOW + INTERVAL)
    await pass(one, OVER, NOW + 2 * INTERVAL)
    expect(await one.told()).toEqual([])
    await one.expectBalance({ pending: 0, waiting: 0 })
    expect(await fatesOf(one)).toEqual(Array(3).fill('withheld: ended before silence s1 did'))
    expect(await one.look(NOW + DAY)).toBeUndefined()
    expect(await one.told()).toEqual([])
  })

  test('that the receiver heard of is told to be over, with what was held back since', async () => {
    const one = relay()
    await pass(one, ENTERED, NOW)
    one.silence(NOW + DAY, NOW)
    await pass(one, REPEAT, NOW + INTERVAL)
    await pass(one, OVER, NOW + 2 * INTERVAL)
    const told = (await one.pending()).flatMap(({ message }) => message.data.alerts)
    expect(told).toEqual([ENTERED, { ...OVER, supersedes: ['aaaa-2'] }])
    expect(await fatesOf(one)).toEqual(['pending', 'pending', 'pending'])
  })

  test('that lasted longer than it takes to repeat is first told as entered, and not once more at once', async () => {
    const one = relay({ group: { intervalMs: 0 } })
    one.silence(NOW + DAY)
    await pass(one, ENTERED, NOW)
    await pass(one, REPEAT, NOW + INTERVAL)
    one.deps.group.intervalMs = INTERVAL
    await one.look(NOW + DAY)
    await one.look(NOW + DAY + WAIT)
    const told = (await one.pending()).flatMap(({ message }) => message.data.alerts)
    expect(told).toEqual([{ ...REPEAT, reason: 'entered', supersedes: ['aaaa-1'] }])
    // Something urgent of its group is sent sooner than the interval.
    await one.commit(
      { alert: anAlert({ id: 'aaaa-3', reason: 'repeat' }) },
      { alert: anAlert({ id: 'b-1', level: 'critical' }) },
    )
    await one.look(NOW + DAY + 2 * WAIT)
    await one.look(NOW + DAY + 3 * WAIT)
    expect((await one.told()).sort()).toEqual(['aaaa-2', 'b-1'])
    expect((await fatesOf(one))[2]).toBe('withheld: sent a short while ago')
    await pass(one, { id: 'aaaa-4', reason: 'repeat' }, NOW + 2 * DAY)
    expect((await one.told()).sort()).toEqual(['aaaa-2', 'aaaa-4', 'b-1'])
  })

  test('is told when it escalates out of it, with all that was held back', async () => {
    const one = relay()
    one.silences.push({
      id: 's',
      author: '',
      comment: '',
      createdAt: NOW - 1,
      endsAt: NOW + DAY,
      matchers: [{ name: 'level', value: 'warning' }],
    })
    await pass(one, ENTERED, NOW)
    await pass(one, REPEAT, NOW + INTERVAL)
    await pass(one, { id: 'aaaa-3', reason: 'escalated', level: 'critical' }, NOW + 2 * INTERVAL)
    const [delivery] = await one.pending()
    expect(delivery?.message.data.alerts).toMatchObject([{ id: 'aaaa-3', supersedes: ['aaaa-1', 'aaaa-2'] }])
    await one.record('delivered', NOW)
    expect(await fatesOf(one)).toEqual(['delivered', 'delivered', 'delivered'])
  })
})

/** An alert about all accounts opens; the function that it resolves with ends it. */
async function openTrouble({ keys }: Relay) {
  const open = encodeState(openedState('critical', 'fleet', NOW))
  const change = (before: string, after: string) => {
    const writes = { changes: [['coverage', before, after]], entries: [] }
    return redis.store.changeAlerts(keys.own(NO_ACCOUNT), NO_ACCOUNT, stepJson(writes))
  }
  await change('', open)
  return () => change(open, '')
}

describe("alerts that the fleet's speaks for", () => {
  test('wait for the end of its trouble, and are told if they still fire', async () => {
    const one = relay()
    const endTrouble = await openTrouble(one)
    const poll = anAlert({ kind: 'poll', cause: 'failing', rule: 'poll' })
    await one.pass(NOW, { alert: poll })
    expect(await one.told()).toEqual([])
    expect(await one.look(NOW + 2 * WAIT)).toBeGreaterThan(NOW + 3 * WAIT)
    await endTrouble()
    await one.look(NOW + 3 * WAIT)
    await one.look(NOW + 4 * WAIT)
    expect(await one.told()).toEqual([poll.id])
  })
})

describe('dying', () => {
  test.each([
    ['recordSends', 'before'],
    ['recordSends', 'after'],
    ['settleNews', 'before'],
    ['settleNews', 'after'],
  ] as const)('at %s (%s) neither loses nor doubles what is held back', async (command, done) => {
    const one = relay()
    one.silence(NOW + DAY)
    const dying = { ...one.deps, store: dyingAt(redis.store, command, done) }
    const step = async (now: number) => {
      for (const at of [now, now + WAIT + INTERVAL]) {
        await sendAlerts(dying, at).catch((error: Error) => expect(error.message).toBe('dead'))
        await one.expectBalance({})
        await one.look(at)
      }
    }
    await one.commit({ alert: ENTERED })
    await step(NOW)
    await one.commit({ alert: REPEAT })
    await step(NOW + INTERVAL)
    await one.commit({ alert: OVER }, { alert: anAlert({ id: 'bbbb-1' }) })
    await step(NOW + 3 * INTERVAL)
    await one.expectBalance({ waiting: 1, deliveries: 0 })
    await step(NOW + DAY)
    await one.look(NOW + DAY + INTERVAL)
    expect(await one.told()).toEqual(['bbbb-1'])
    await one.expectBalance({ waiting: 0, deliveries: 1 })
  })
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

  test('neither tells the beginning of what the other has just told to be over', async () => {
    const one = relay()
    await one.commit({ alert: ENTERED })
    await one.look(NOW)
    let others = 1
    const store = overtakenAt(redis.store, 'recordSends', async () => {
      if (others-- < 1) return
      await one.commit({ alert: OVER })
      await one.look(NOW + WAIT)
    })
    await sendAlerts({ ...one.deps, store }, NOW + WAIT)
    await one.look(NOW + WAIT)
    await one.look(NOW + WAIT + INTERVAL)
    expect(await one.told()).toEqual(['aaaa-3'])
  })

  test('neither settles what is new since it looked', async () => {
    const one = relay()
    await one.commit({ alert: ENTERED })
    let others = 1
    const store = overtakenAt(redis.store, 'settleNews', async () => {
      if (others-- > 0) await one.commit({ alert: OVER })
    })
    await sendAlerts({ ...one.deps, store }, NOW)
    await one.look(NOW + WAIT)
    await one.look(NOW + WAIT + INTERVAL)
    expect(await one.told()).toEqual(['aaaa-3'])
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

  test.each([
    ['first', true],
    ['last', false],
  ])('the one that only routes to others settles nothing, though it looks %s', async (_, isFirst) => {
    const { one, old } = bothConfigs()
    const both = async (now: number) => {
      if (isFirst) await sendAlerts(old, now)
      await one.look(now)
      if (!isFirst) await sendAlerts(old, now)
    }
    await one.commit({ alert: ENTERED })
    await both(NOW)
    await both(NOW + WAIT)
    await one.commit({ alert: OVER })
    await both(NOW + INTERVAL)
    await both(NOW + INTERVAL + WAIT)
    expect(await one.told()).toEqual([ENTERED.id, OVER.id])
    expect(await redis.store.exists(one.keys.unsent, one.keys.decided)).toBe(0)
  })

  test('what waits for a receiver that only one of them knows stays with that one', async () => {
    const { one, old } = bothConfigs()
    one.silence(NOW + DAY)
    await one.commit({ alert: ENTERED })
    await one.look(NOW)
    for (const later of [0, WAIT, INTERVAL, DAY])
      expect(await sendAlerts(old, NOW + later)).toMatchObject({ next: undefined })
    await one.look(NOW + DAY)
    await one.look(NOW + DAY + WAIT)
    expect(await one.told()).toEqual([ENTERED.id])
  })

  test('what the old one holds again, once the new one has begun, is soon checked by the new one', async () => {
    const { one, old } = bothConfigs()
    const holding = { ...old, silences: { active: SILENCED } }
    await one.commit({ alert: anAlert({ level: 'critical' }) })
    await sendAlerts({ ...holding, configs: async () => ({ own: 'old', others: [] }) }, NOW)
    await one.recheckWaiting()
    await sendAlerts(holding, NOW)
    expect(await one.look(NOW)).toBe(NOW + 60_000)
    expect(await one.look(NOW + 60_000)).toBe(NOW + 60_000 + WAIT)
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
})

/** What holds them back, and what ends that. */
const HOLDS = {
  'a silence': (one: Relay) => {
    const silence = one.silence(NOW + DAY)
    return () => {
      silence.endsAt = NOW
    }
  },
  'quiet hours': () => () => undefined,
  "the fleet's alert": (one: Relay) => {
    const opened = openTrouble(one)
    return async () => (await opened)()
  },
}

describe.each(Object.keys(HOLDS) as (keyof typeof HOLDS)[])('80 alerts that begin and end under %s', (hold) => {
  test.each([['account'], ['rule']] as const)(
    'grouped by %s are sent to nobody, however sweeps overlap',
    async (by) => {
      // From ten until twelve: the alerts begin and end in between.
      const quiet = hold === 'quiet hours' ? { quiet: [{ from: '09:00', to: '12:00', timeZone: 'UTC' }] } : {}
      const one = relay({ routes: [{ to: ['mail'], ...quiet }], group: { by: [by] } })
      const end = HOLDS[hold](one)
      const about = (hubId: number, n: number) => ({
        id: `round${hubId}-${n}`,
        kind: 'poll' as const,
        cause: 'failing' as const,
        rule: 'poll',
        account: { hubId, hubDomain: '' },
      })
      let now = NOW
      const twoSweeps = async (ms: number) => {
        now += ms
        const sweep = async () => {
          await one.look(now)
          await one.look(now)
        }
        await Promise.all([sweep(), sweep()])
      }
      for (let n = 0; n < 80; n++) {
        await one.commit({ alert: anAlert(about(n, 1)) })
        // Some end while they wait in their group, some once they are held, some as others are taken back.
        if (n % 8 === 7) await twoSweeps(15_000)
        if (n >= 40)
          await one.commit({ alert: anAlert({ ...about(n - 40, 2), status: 'resolved', reason: 'recovered' }) })
      }
      for (let n = 40; n < 80; n++) {
        await one.commit({ alert: anAlert({ ...about(n, 2), status: 'resolved', reason: 'recovered' }) })
        if (n % 8 === 7) await twoSweeps(15_000)
      }
      for (let n = 0; n < 4; n++) await twoSweeps(INTERVAL)
      await end()
      now = NOW + DAY
      await one.recheckWaiting()
      for (let n = 0; n < 4; n++) await twoSweeps(INTERVAL)
      expect(await one.told()).toEqual([])
      await one.expectBalance({ pending: 0 })
    },
  )
})

test('thousands of alerts are held back and let go, two at a time', async () => {
  const one = relay()
  one.silence(NOW + DAY)
  for (let n = 0; n < 20; n++) {
    await one.commit(
      ...Array.from({ length: 125 }, () => ({ alert: anAlert({ account: { hubId: n, hubDomain: '' } }) })),
    )
  }
  const both = (now: number) => Promise.all([one.look(now), one.look(now)])
  await both(NOW)
  await both(NOW)
  await one.expectBalance({ waiting: 2_500, deliveries: 0 })
  for (const now of [NOW + DAY, NOW + DAY, NOW + DAY + WAIT, NOW + DAY + WAIT]) await both(now)
  expect((await one.pending()).map(({ message }) => message.data.truncated)).toEqual([2_300])
  await one.expectBalance({ waiting: 0, deliveries: 1 })
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
