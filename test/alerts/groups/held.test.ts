import { describe, expect, test } from 'vitest'
import { encodeState, openedState } from '../../../src/alerts/alert-state.ts'
import { closeGroups } from '../../../src/alerts/groups/close-groups.ts'
import { checkHeld } from '../../../src/alerts/groups/held.ts'
import { collectOutbox } from '../../../src/alerts/relay.ts'
import { NOBODY } from '../../../src/redis/steps.ts'
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

async function pass(one: Relay, alert: Parameters<typeof anAlert>[0], now: number) {
  await one.commit({ alert: anAlert(alert) })
  await one.collect(now)
  await one.close(now + WAIT + INTERVAL)
}

describe('an alert under a silence', () => {
  test('waits, and is told when the silence ends, as it was committed', async () => {
    const one = relay()
    one.silence(NOW + DAY)
    await pass(one, ENTERED, NOW)
    expect(await one.told()).toEqual([])
    await one.expectBalance({ pending: 1, where: { outbox: 0, groups: 0, held: 1, deliveries: 0 } })
    expect(await one.checkHeld(NOW + DAY - WAIT)).toBe(NOW + DAY)
    expect(await one.checkHeld(NOW + DAY)).toBeUndefined()
    await one.expectBalance({ pending: 1, where: { groups: 1, held: 0 } })
    await one.close(NOW + DAY + WAIT)
    const [delivery] = await one.pending()
    expect(delivery?.message.data.alerts).toEqual([ENTERED])
    await one.expectBalance({ pending: 1, where: { deliveries: 1 } })
  })

  test('is told at once when somebody ends it', async () => {
    const one = relay()
    const silence = one.silence(NOW + DAY)
    await pass(one, ENTERED, NOW)
    silence.endsAt = NOW + INTERVAL
    const later = NOW + WAIT + INTERVAL
    expect(await one.checkHeld(later)).toBe(later + WAIT)
    await one.checkHeldNow(later)
    await one.checkHeld(later)
    await one.close(later + WAIT)
    expect(await one.told()).toEqual(['aaaa-1'])
  })

  test('is told within half a minute when somebody ends it just as the alert is held back', async () => {
    const one = relay()
    const silence = one.silence(NOW + DAY)
    await one.commit({ alert: ENTERED })
    await one.collect(NOW)
    const closedAt = NOW + WAIT
    const store = overtakenAt(redis.store, 'holdAlerts', async () => {
      silence.endsAt = closedAt
      await one.checkHeldNow(closedAt)
    })
    await closeGroups({ ...one.deps, store }, closedAt)
    expect(await one.checkHeld(closedAt)).toBe(closedAt + WAIT)
    await one.checkHeld(closedAt + WAIT)
    await one.close(closedAt + 2 * WAIT)
    expect(await one.told()).toEqual(['aaaa-1'])
  })

  test('goes on waiting where another silence holds it', async () => {
    const one = relay()
    one.silence(NOW + DAY)
    await pass(one, ENTERED, NOW)
    one.silence(NOW + 2 * DAY)
    expect(await one.checkHeld(NOW + DAY)).toBe(NOW + DAY + WAIT)
    await one.expectBalance({ where: { outbox: 0, groups: 0, held: 1, deliveries: 0 } })
  })

  test('that is over before it was told is told by nobody, and the log says why', async () => {
    const one = relay()
    one.silence(NOW + DAY)
    await pass(one, ENTERED, NOW)
    await pass(one, REPEAT, NOW + INTERVAL)
    await pass(one, OVER, NOW + 2 * INTERVAL)
    expect(await one.told()).toEqual([])
    expect(await redis.store.hlen(one.keys.delivery.held)).toBe(0)
    expect(await one.checkHeld(NOW)).toBeUndefined()
    await one.expectBalance({ committed: 3, withheld: 3, opened: 0, pending: 0 })
    const fates = (await readAlertLog(one, { since: 0 })).map(({ fate }) => fate)
    expect(fates).toEqual(Array(3).fill({ is: 'withheld', why: 'ended before silence s1 did' }))
  })

  test('that begins and is over within one closing of its group is told by nobody', async () => {
    const one = relay()
    one.silence(NOW + DAY)
    await one.pass(NOW, { alert: ENTERED }, { alert: OVER })
    await one.expectBalance({ withheld: 2, pending: 0 })
  })

  test('that the receiver heard of is told to be over, with what was held back since', async () => {
    const one = relay()
    await pass(one, ENTERED, NOW)
    one.silence(NOW + DAY, NOW)
    await pass(one, REPEAT, NOW + INTERVAL)
    await pass(one, OVER, NOW + 2 * INTERVAL)
    const told = (await one.pending()).flatMap(({ message }) => message.data.alerts)
    expect(told).toEqual([ENTERED, { ...OVER, supersedes: ['aaaa-2'] }])
    await one.expectBalance({ committed: 3, withheld: 0, pending: 3 })
  })

  test('that lasted longer than it takes to repeat is first told as entered, and not once more at once', async () => {
    const one = relay()
    one.silence(NOW + DAY)
    await pass(one, ENTERED, NOW)
    await pass(one, REPEAT, NOW + INTERVAL)
    await one.checkHeld(NOW + DAY)
    await one.close(NOW + DAY + WAIT)
    await pass(one, { id: 'aaaa-3', reason: 'repeat' }, NOW + DAY + WAIT + 5_000 - WAIT - INTERVAL)
    const told = (await one.pending()).flatMap(({ message }) => message.data.alerts)
    expect(told).toEqual([{ ...REPEAT, reason: 'entered', supersedes: ['aaaa-1'] }])
    await one.expectBalance({ committed: 3, withheld: 1, pending: 2 })
    await pass(one, { id: 'aaaa-4', reason: 'repeat' }, NOW + 2 * DAY)
    expect((await one.told()).at(-1)).toBe('aaaa-4')
  })

  test('is told when it escalates out of it, with all that was held back', async () => {
    const one = relay()
    one.silences.push({
      ...{ id: 's', author: '', comment: '', createdAt: NOW - 1, endsAt: NOW + DAY },
      matchers: [{ name: 'level', value: 'warning' }],
    })
    await pass(one, ENTERED, NOW)
    await pass(one, REPEAT, NOW + INTERVAL)
    await pass(one, { id: 'aaaa-3', reason: 'escalated', level: 'critical' }, NOW + 2 * INTERVAL)
    const [delivery] = await one.pending()
    expect(delivery?.message.data.alerts).toMatchObject([{ id: 'aaaa-3', supersedes: ['aaaa-1', 'aaaa-2'] }])
    await one.expectBalance({ pending: 3, where: { outbox: 0, groups: 0, held: 0, deliveries: 3 } })
    await one.record('delivered', NOW)
    await one.expectBalance({ delivered: 3, pending: 0 })
  })

  test('that was let go and is over before its group closes is told by nobody', async () => {
    const one = relay()
    one.silence(NOW + DAY)
    await pass(one, ENTERED, NOW)
    await one.checkHeld(NOW + DAY)
    await one.pass(NOW + DAY, { alert: OVER })
    await one.expectBalance({ withheld: 2, pending: 0 })
  })

  test('that begins and is over inside it is told by nobody, also where it ends before their group closes', async () => {
    const one = relay()
    one.silence(NOW + WAIT / 2)
    await one.commit({ alert: ENTERED })
    await one.collect(NOW)
    await one.commit({ alert: OVER })
    await one.collect(NOW + 1_000)
    await one.close(NOW + WAIT)
    expect(await one.told()).toEqual([])
    await one.expectBalance({ committed: 2, withheld: 2, pending: 0 })
    expect((await readAlertLog(one, { since: 0 })).map(({ fate }) => fate)).toEqual(
      Array(2).fill({ is: 'withheld', why: 'ended before silence s1 did' }),
    )
  })

  test('that only its end fell into is told: nothing held its beginning back', async () => {
    const one = relay()
    await one.commit({ alert: ENTERED })
    await one.collect(NOW)
    one.silence(NOW + WAIT / 2)
    await one.commit({ alert: OVER })
    await one.collect(NOW + 1_000)
    await one.close(NOW + WAIT)
    expect(await one.told()).toEqual([OVER.id])
    await one.expectBalance({ committed: 2, withheld: 0, pending: 2 })
  })

  test('that still fires when its group closes is told, where the silence has ended by then', async () => {
    const one = relay()
    one.silence(NOW + WAIT / 2)
    await one.pass(NOW, { alert: ENTERED })
    const [delivery] = await one.pending()
    expect(delivery?.message.data.alerts).toEqual([ENTERED])
    await one.expectBalance({ committed: 1, pending: 1 })
  })

  test('does not make others of its group wait', async () => {
    const one = relay()
    one.silences.push({
      ...{ id: 's', author: '', comment: '', createdAt: NOW - 1, endsAt: NOW + DAY },
      matchers: [{ name: 'account', value: '123' }],
    })
    await one.pass(NOW, { alert: ENTERED })
    const other = anAlert({ account: { hubId: 5, hubDomain: '' } })
    await one.commit({ alert: other })
    await one.collect(NOW + WAIT)
    await one.close(NOW + 2 * WAIT)
    expect(await one.told()).toEqual([other.id])
  })
})

describe("alerts that the fleet's speaks for", () => {
  test('wait for the end of its trouble, and are told if they still fire', async () => {
    const one = relay()
    const fleet = one.keys.account(NOBODY).alerts
    await redis.store.hset(fleet, 'coverage', encodeState(openedState('critical', 'fleet', NOW)))
    const poll = anAlert({ kind: 'poll', cause: 'failing', rule: 'poll' })
    await one.pass(NOW, { alert: poll })
    expect(await one.told()).toEqual([])
    expect(await one.checkHeld(NOW + 2 * WAIT)).toBe(NOW + 3 * WAIT)
    await redis.store.hdel(fleet, 'coverage')
    await one.checkHeld(NOW + 3 * WAIT)
    await one.close(NOW + 4 * WAIT)
    expect(await one.told()).toEqual([poll.id])
  })
})

describe('dying', () => {
  test.each([
    ['holdAlerts', 'before'],
    ['holdAlerts', 'after'],
    ['releaseHeld', 'before'],
    ['releaseHeld', 'after'],
    ['withholdAlerts', 'before'],
    ['withholdAlerts', 'after'],
  ] as const)('at %s (%s) neither loses nor doubles what is held back', async (command, done) => {
    const one = relay()
    one.silence(NOW + DAY)
    const dying = { ...one.deps, store: dyingAt(redis.store, command, done) }
    const survive = (work: Promise<unknown>) => work.catch((error: Error) => expect(error.message).toBe('dead'))
    const step = async (now: number) => {
      await one.collect(now)
      await survive(closeGroups(dying, now + WAIT + INTERVAL))
      await one.expectBalance({})
      await one.close(now + WAIT + INTERVAL)
      await survive(checkHeld(dying, now))
      await one.expectBalance({})
      await one.checkHeld(now)
      await one.close(now + WAIT + INTERVAL)
    }
    await one.commit({ alert: ENTERED })
    await step(NOW)
    await one.commit({ alert: REPEAT })
    await step(NOW + INTERVAL)
    await one.commit({ alert: OVER }, { alert: anAlert({ id: 'bbbb-1' }) })
    await step(NOW + 3 * INTERVAL)
    await one.expectBalance({ withheld: 3, pending: 1 })
    await step(NOW + DAY)
    await one.close(NOW + DAY + INTERVAL)
    expect(await one.told()).toEqual(['bbbb-1'])
    await one.expectBalance({ committed: 4, withheld: 3, pending: 1 })
  })
})

describe('of two workers that look at one group at once', () => {
  const SILENCED = async () => [
    { id: 's', matchers: [], author: '', comment: '', createdAt: NOW - 1, endsAt: NOW + DAY },
  ]

  test.each([
    ['holds', 'closeGroup', false, { held: 1, deliveries: 0 }],
    ['tells', 'holdAlerts', true, { held: 0, deliveries: 1 }],
  ] as const)('the one that %s first decides', async (_, command, overtakenHolds, where) => {
    const one = relay()
    await one.commit({ alert: ENTERED })
    await one.collect(NOW)
    const silenced = { ...one.deps, silences: { active: SILENCED } }
    const [slow, fast] = overtakenHolds ? [silenced, one.deps] : [one.deps, silenced]
    const store = overtakenAt(redis.store, command, () => closeGroups(fast, NOW + WAIT))
    await closeGroups({ ...slow, store }, NOW + WAIT)
    await one.expectBalance({ pending: 1, where: { outbox: 0, groups: 0, ...where } })
  })

  test('neither tells the end of what the other one has just let go', async () => {
    const one = relay()
    one.silence(NOW + DAY)
    await pass(one, ENTERED, NOW)
    await one.commit({ alert: OVER })
    await one.collect(NOW + INTERVAL)
    const closing = NOW + 3 * INTERVAL
    // The other takes back what was held, and is slow to close the group.
    const slow = { ...one.deps, store: dyingAt(redis.store, 'releaseHeld', 'after') }
    let others = 1
    const store = overtakenAt(redis.store, 'hlen', async () => {
      if (others-- > 0) await expect(closeGroups(slow, closing)).rejects.toThrow('dead')
    })
    await closeGroups({ ...one.deps, store }, closing)
    for (const now of [closing + WAIT, closing + INTERVAL, NOW + DAY, NOW + DAY + INTERVAL]) {
      await one.checkHeld(now)
      await one.close(now)
    }
    expect(await one.told()).toEqual([])
    await one.expectBalance({ withheld: 2, pending: 0 })
  })

  test('neither tells the beginning of what the other has just dropped as over', async () => {
    const one = relay()
    await one.commit({ alert: ENTERED })
    await one.collect(NOW)
    // The other closes the group where its end waits. It looked for what is held back just after that was let go to this one.
    const { ledger } = one.keys.delivery
    const over = 'mail|aaaa'
    const store = overtakenAt(redis.store, 'closeGroup', () =>
      redis.store.withholdAlerts(ledger, 'mail|other', '0', NOW + WAIT, INTERVAL, over, ''),
    )
    await closeGroups({ ...one.deps, store }, NOW + WAIT)
    await one.close(NOW + WAIT + INTERVAL)
    expect(await one.told()).toEqual([])
    await one.expectBalance({ withheld: 1, pending: 0 })
  })

  test('neither lets go what the other has just held back with more', async () => {
    const one = relay()
    await one.commit({ alert: ENTERED })
    await one.collect(NOW)
    const silenced = { ...one.deps, silences: { active: SILENCED } }
    await closeGroups(silenced, NOW + WAIT)
    await one.commit({ alert: REPEAT })
    await one.collect(NOW + WAIT)
    const closing = NOW + WAIT + INTERVAL
    let others = 1
    const store = overtakenAt(redis.store, 'releaseHeld', async () => {
      if (others-- > 0) await closeGroups(silenced, closing)
    })
    await checkHeld({ ...one.deps, store }, closing)
    await one.checkHeld(closing + WAIT)
    await one.close(closing + 2 * WAIT)
    expect(await one.told()).toEqual(['aaaa-2'])
    await one.expectBalance({ pending: 2, withheld: 0 })
  })

  /** The other one fetches what belongs to it just after this one has read the group, and dies before it closes the group. */
  async function fetchedBy(one: Relay, closing: number, ...at: [command: string, key?: string]) {
    const [command, key] = at
    const dying = { ...one.deps, store: dyingAt(redis.store, 'closeGroup', 'before') }
    let others = 1
    const fetch = async () => {
      if (others-- > 0) await expect(closeGroups(dying, closing)).rejects.toThrow('dead')
    }
    await closeGroups({ ...one.deps, store: overtakenAt(redis.store, command, fetch, key) }, closing)
    await one.close(closing)
    await one.expectBalance({ pending: 2, withheld: 0, where: { groups: 0, held: 0, deliveries: 2 } })
    return (await one.pending()).flatMap(({ message }) => message.data.alerts)
  }

  test('neither keeps to itself the end of what the other has just fetched from the digest', async () => {
    const one = relay()
    await one.commit({ alert: ENTERED, firstReading: true })
    await one.collect(NOW + 1)
    await one.commit({ alert: OVER })
    await one.collect(NOW)
    const told = await fetchedBy(one, NOW + WAIT, 'zmscore', one.keys.delivery.groupsDue)
    expect(told).toMatchObject([{ id: 'aaaa-3', supersedes: ['aaaa-1'] }])
  })

  test('neither tells what got worse without what the other has just let go', async () => {
    const one = relay()
    await one.commit({ alert: ENTERED })
    await one.collect(NOW)
    await closeGroups({ ...one.deps, silences: { active: SILENCED } }, NOW + WAIT)
    await one.commit({ alert: anAlert({ id: 'aaaa-2', level: 'critical', reason: 'escalated' }) })
    await one.collect(NOW + WAIT)
    const told = await fetchedBy(one, NOW + 2 * WAIT, 'hlen')
    expect(told).toMatchObject([{ id: 'aaaa-2', supersedes: ['aaaa-1'] }])
  })

  test('neither takes away what the other has told', async () => {
    const one = relay()
    await one.commit({ alert: ENTERED }, { alert: OVER })
    await one.collect(NOW)
    const store = overtakenAt(redis.store, 'withholdAlerts', () => closeGroups(one.deps, NOW + WAIT))
    await closeGroups({ ...one.deps, store, silences: { active: SILENCED } }, NOW + WAIT)
    await one.expectBalance({ pending: 2, withheld: 0 })
    expect(await one.told()).toEqual(['aaaa-3'])
  })
})

describe('of two workers, one of which has another config and a clock that is minutes ahead,', () => {
  const closedAt = NOW + INTERVAL

  /** The beginning of an alert waits in a group that the other one knows nothing of, and which closes late: it was closed just now. */
  async function begun() {
    const one = relay()
    const ahead = { ...one.deps, group: { ...one.deps.group, by: ['kind'] as const } }
    await one.commit({ alert: anAlert({ id: 'before-1' }) })
    await collectOutbox(ahead, NOW - WAIT)
    await closeGroups(ahead, NOW)
    await one.commit({ alert: ENTERED })
    await collectOutbox(ahead, NOW)
    return { one, ahead }
  }

  test('none tells the beginning of what the other has just told as worse', async () => {
    const { one, ahead } = await begun()
    let others = 1
    const store = overtakenAt(redis.store, 'closeGroup', async () => {
      if (others-- < 1) return
      await one.commit({ alert: anAlert({ id: 'aaaa-2', level: 'critical', reason: 'escalated' }) })
      await one.collect(NOW)
      await one.close(NOW + WAIT)
    })
    await closeGroups({ ...ahead, store }, closedAt)
    await closeGroups(ahead, closedAt)
    expect((await one.told()).sort()).toEqual(['aaaa-2', 'before-1'])
    await one.expectBalance({ pending: 2, withheld: 1, where: { outbox: 0, groups: 0, held: 0, deliveries: 2 } })
  })

  /** The one that is ahead takes its group on just after the other one has read its own, where `next` waits, and before it takes that on. */
  async function crossed(
    { one, ahead }: Awaited<ReturnType<typeof begun>>,
    next: Parameters<typeof anAlert>[0],
    commands: [ofTheOneAhead: string, ofTheOther: string],
  ) {
    const [isAboutTo, isDone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = overtakenAt(redis.store, commands[1], () => {
      isAboutTo.resolve()
      return isDone.promise
    })
    let closing: Promise<unknown> = Promise.resolve()
    const store = overtakenAt(redis.store, commands[0], async () => {
      await one.commit({ alert: anAlert(next) })
      await one.collect(NOW)
      closing = closeGroups({ ...one.deps, store: slow }, NOW + WAIT)
      await isAboutTo.promise
    })
    await closeGroups({ ...ahead, store }, closedAt)
    isDone.resolve()
    await closing
  }

  test('none keeps to itself the end of what the other has just told', async () => {
    const both = await begun()
    await crossed(both, OVER, ['closeGroup', 'withholdAlerts'])
    await both.one.close(NOW + WAIT)
    expect((await both.one.told()).sort()).toEqual(['aaaa-1', 'aaaa-3', 'before-1'])
    await both.one.expectBalance({ pending: 3, withheld: 0 })
  })

  test('none loses what the other has just held back', async () => {
    const both = await begun()
    both.one.silence(NOW + DAY)
    await crossed(both, REPEAT, ['holdAlerts', 'holdAlerts'])
    await both.one.expectBalance({ pending: 3, where: { outbox: 0, groups: 1, held: 1, deliveries: 1 } })
    await both.one.close(NOW + WAIT)
    await both.one.expectBalance({ pending: 3, where: { groups: 0, held: 2, deliveries: 1 } })
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
    const fleet = one.keys.account(NOBODY).alerts
    const opened = redis.store.hset(fleet, 'coverage', encodeState(openedState('critical', 'fleet', NOW)))
    return () => opened.then(() => redis.store.hdel(fleet, 'coverage'))
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
        ...{ id: `round${hubId}-${n}`, kind: 'poll' as const, cause: 'failing' as const, rule: 'poll' },
        account: { hubId, hubDomain: '' },
      })
      let now = NOW
      const twoSweeps = async (ms: number) => {
        now += ms
        const sweep = async () => {
          await one.collect(now)
          await one.checkHeld(now)
          await one.close(now)
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
      await one.checkHeldNow(now)
      for (let n = 0; n < 4; n++) await twoSweeps(INTERVAL)
      expect(await one.told()).toEqual([])
      await one.expectBalance({ committed: 160, withheld: 160, pending: 0 })
    },
  )
})

test('thousands of alerts are held back and let go, two workers at a time', { timeout: 240_000 }, async () => {
  const one = relay()
  one.silence(NOW + DAY)
  for (let n = 0; n < 20; n++) {
    await one.commit(
      ...Array.from({ length: 125 }, () => ({ alert: anAlert({ account: { hubId: n, hubDomain: '' } }) })),
    )
  }
  await one.collect(NOW)
  while ((await redis.store.zcard(one.keys.delivery.groupsDue)) > 0) {
    await Promise.all([one.close(NOW + WAIT), one.close(NOW + WAIT)])
  }
  await one.expectBalance({ where: { outbox: 0, groups: 0, held: 2_500, deliveries: 0 } })
  while ((await redis.store.hlen(one.keys.delivery.held)) > 0) {
    await Promise.all([one.checkHeld(NOW + DAY), one.checkHeld(NOW + DAY)])
  }
  await one.close(NOW + DAY + WAIT)
  expect((await one.pending()).map(({ message }) => message.data.truncated)).toEqual([2_300])
  await one.expectBalance({ where: { outbox: 0, groups: 0, held: 0, deliveries: 2_500 } })
})

test('what a daemon with a clock that is ahead holds back is checked within half a minute by the right clock', async () => {
  const one = aRelay(redis.store, redis.freshKeys())
  one.silence(NOW + 10 * DAY)
  await one.pass(NOW, { alert: anAlert({ id: 'a-1' }) })
  await one.checkHeld(NOW + DAY)
  one.silences.splice(0)
  await one.checkHeld(NOW + 2 * WAIT)
  expect(await redis.store.hlen(one.keys.delivery.held)).toBe(0)
  await one.close(NOW + 2 * WAIT + INTERVAL)
  expect(await one.told()).toEqual(['a-1'])
})
