import { describe, expect, test } from 'vitest'
import { endpointAnnouncer, fleetAnnouncer } from '../../../src/alerts/kinds/fleet-alert.ts'
import type { ProviderResult } from '../../../src/provider/failure.ts'
import { EndpointText } from '../../../src/redis/steps.ts'
import type { EndpointState } from '../../../src/tokens/endpoint/state.ts'
import type { EndpointDeps, TokenEndpoint } from '../../../src/tokens/endpoint/token-endpoint.ts'
import { outboxOf } from '../../support/accounts.ts'
import { openEndpoint } from '../../support/endpoint.ts'
import { failure } from '../../support/fake-provider.ts'
import { eventually } from '../../support/fleet.ts'
import { HandClock } from '../../support/hand-clock.ts'
import { logLines } from '../../support/log-lines.ts'
import { redisOfFile } from '../../support/of-file.ts'

const redis = redisOfFile()
const SECOND = 1_000
const HOUR = 3_600_000

const fleetAlerts = fleetAnnouncer({ repeatEveryMs: 24 * HOUR, page: 'https://plimsoll.example.com/' })
const down = failure('transient', { status: 503 }).failure
const wrong = failure('client', { status: 401, code: 'invalid_client' }).failure
const tooMany = (retryAfterMs?: number) =>
  failure('transient', { status: 429, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }).failure

/** Daemons of one installation, by a clock of their own making. */
function installation(more: Partial<EndpointDeps> = {}) {
  const keys = redis.freshKeys()
  const clock = new HandClock()
  const announce = endpointAnnouncer(redis.store, keys, fleetAlerts, async (now) => now + 4 * 60 * SECOND)
  const daemon = (of: Partial<EndpointDeps> = {}) =>
    openEndpoint(redis.store, keys, clock, { announce, ...more, ...of })
  return {
    keys,
    clock,
    daemon,
    one: daemon(),
    state: async (): Promise<EndpointState> => JSON.parse((await redis.store.hget(keys.fleet, 'endpoint')) ?? 'null'),
    outbox: () => outboxOf(redis.store, keys, 0),
    fleetAlerts: () => redis.store.hgetall(keys.account(0).alerts),
  }
}

/** Calls that go through at once. */
async function admitted(endpoint: TokenEndpoint, calls: number): Promise<number> {
  let count = 0
  const waiting = Array.from({ length: calls }, () =>
    endpoint.enter().then((admission) => {
      if (admission.is === 'admitted') count++
    }),
  )
  await Promise.race([Promise.all(waiting), endpoint.room(0, undefined).then(() => endpoint.room(0, undefined))])
  return count
}

/** Ten accounts of a large fleet fail. */
async function breakDown(endpoint: TokenEndpoint, what = down) {
  await endpoint.room(0, 1_000)
  return Promise.all(Array.from({ length: 10 }, (_, n) => endpoint.failed(n + 1, what)))
}

describe('two daemons', () => {
  test('know both that refresh tokens rotate as soon as one of them has seen it', async () => {
    const { daemon, state } = installation()
    const [one, two] = [daemon(), daemon()]
    one.succeeded({ rotated: false })
    await one.room(0, undefined)
    await two.room(0, undefined)
    expect([one.rotates, two.rotates]).toEqual([false, false])
    one.succeeded({ rotated: true })
    expect(one.rotates).toBe(true)
    // No clock is moved: it need not wait for the next report.
    await eventually('it is written', async () => (await state()).rotates)
    await two.room(0, undefined)
    expect(two.rotates).toBe(true)
    expect(daemon().rotates).toBe(false)
  })

  test('share the permits there are', async () => {
    const { daemon, clock, state } = installation()
    const [one, two] = [daemon(), daemon()]
    const calls = [await admitted(one, 5), await admitted(two, 50), await admitted(one, 50)]
    expect(calls[0]).toBe(5)
    expect(calls.reduce((sum, count) => sum + count, 0)).toBe(8)
    clock.move(100)
    await two.room(0, undefined)
    expect((await state()).pace.permits).toBeLessThan(1)
    one.close()
    two.close()
  })

  test('count together what came of the calls of both, also when they report in the same moment', async () => {
    const { daemon, state } = installation()
    const daemons = Array.from({ length: 8 }, () => daemon())
    await admitted(daemons[0] as TokenEndpoint, 8)
    for (const one of daemons) for (let n = 0; n < 25; n++) one.succeeded({ rotated: false })
    await Promise.all(daemons.map((one) => one.room(0, undefined)))
    expect((await state()).pace.perSecond).toBe(50 + 2 * 200)
  })

  test('open the breaker together, and tell it once', async () => {
    let woken = 0
    const logged = logLines()
    const given = { alerted: async () => void woken++, log: logged.log }
    const { daemon, outbox, fleetAlerts, keys } = installation(given)
    const [one, two] = [daemon(), daemon()]
    await one.room(0, 1_000)
    const standings = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? one : two).failed(n + 1, down)),
    )
    expect(standings.every(({ fleetTrouble }) => fleetTrouble)).toBe(true)
    expect(await outbox()).toMatchObject([{ kind: 'fleet', level: 'critical', reason: 'entered', status: 'firing' }])
    expect(Object.keys(await fleetAlerts())).toEqual(['provider'])
    expect(await redis.store.smembers(keys.alerting)).toEqual(['0'])
    expect(woken).toBe(1)
    expect(JSON.stringify(await outbox())).toContain('The provider says transient')
    expect(logged.lines()).toContainEqual(expect.objectContaining({ level: 'error', code: 'endpoint.open' }))
  })
})

describe('the alert about the fleet', () => {
  test('names the trouble and the first token to end, and is closed once when it is over', async () => {
    const { daemon, clock, outbox, fleetAlerts } = installation()
    const [one, two] = [daemon(), daemon()]
    await breakDown(one, wrong)
    clock.move(HOUR)
    expect((await two.enter()).is).toBe('admitted')
    two.succeeded({ rotated: false })
    await two.room(0, undefined)
    expect(await outbox()).toHaveLength(1)
    clock.move(31 * SECOND)
    await Promise.all([one.room(0, undefined), two.room(0, undefined)])
    const [entered, recovered, ...more] = await outbox()
    const named =
      /^All 1,000 accounts: tokens can't be refreshed \(client secret rejected\)\. The first token expires in 4 min \(/
    expect(entered).toMatchObject({ reason: 'entered', cause: 'credentials', message: expect.stringMatching(named) })
    const over = { reason: 'recovered', status: 'resolved', message: 'Tokens of all accounts are refreshed again.' }
    expect([recovered, more]).toMatchObject([over, []])
    expect(await fleetAlerts()).toEqual({})
  })

  test('stays committed though nobody could be woken', async () => {
    const { one, outbox, state } = installation({ alerted: () => Promise.reject(new Error('no queue')) })
    await breakDown(one)
    expect(await outbox()).toHaveLength(1)
    expect((await state()).breaker.is).toBe('open')
  })
})

describe('a failure', () => {
  test('elsewhere takes back the permits that this daemon had not used yet', async () => {
    const { daemon, clock } = installation()
    const [one, two] = [daemon(), daemon()]
    await admitted(one, 4)
    clock.move(100)
    await admitted(one, 1)
    await breakDown(two)
    await one.room(0, undefined)
    expect(await one.enter()).toEqual({ is: 'closed', until: clock.now() + 5 * SECOND })
  })

  test('turns away those who wait when it opens the breaker, and lets one through as a probe when its time has come', async () => {
    const { one, clock } = installation()
    await admitted(one, 8)
    const waiting = Array.from({ length: 20 }, () => one.enter())
    await breakDown(one)
    const until = clock.now() + 5 * SECOND
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ is: 'closed', until })))
    expect(await one.room(1_500, undefined)).toEqual({ calls: 0, until, isProbe: true })
    clock.move(5 * SECOND)
    expect(await one.room(1_500, undefined)).toMatchObject({ calls: 1 })
    const probes = await Promise.all(Array.from({ length: 5 }, () => one.enter()))
    expect(probes.filter(({ is }) => is === 'admitted')).toHaveLength(1)
  })

  test('lets through as a probe what comes while a report is under way that counted none', async () => {
    const { daemon, clock, keys } = installation()
    const text = new EndpointText(redis.store, keys)
    const change = text.change.bind(text)
    let admission: Promise<{ is: string }> | undefined
    const probeAt = clock.now() + 5 * SECOND
    const reporting: typeof text.change = (decide) =>
      change(async (stored) => {
        const decided = await decide(stored)
        if (clock.now() === probeAt) admission ??= one.enter()
        return decided
      })
    const one = daemon({ text: Object.assign(text, { change: reporting }) })
    await breakDown(one)
    clock.move(5 * SECOND)
    await one.room(0, undefined)
    clock.move(100)
    expect(await admission).toEqual({ is: 'admitted' })
  })

  test('with 429 and a long Retry-After turns away those who wait; with a short one they wait', async () => {
    const { one, clock } = installation()
    await admitted(one, 8)
    const waiting = one.enter()
    const { fleetTrouble, until } = await one.failed(1, tooMany(30 * SECOND))
    expect([fleetTrouble, until]).toEqual([false, clock.now() + 30 * SECOND])
    expect((await waiting).is).toBe('closed')
    clock.move(30 * SECOND)
    await admitted(one, 1)
    await one.failed(1, tooMany(SECOND))
    let answer: string | undefined
    void one.enter().then(({ is }) => {
      answer = is
    })
    await one.room(0, undefined)
    expect(answer).toBeUndefined()
    for (let n = 0; n < 100 && answer === undefined; n++) {
      clock.move(50)
      await one.room(0, undefined)
    }
    expect(answer).toBe('admitted')
    one.close()
  })
})

describe('a report', () => {
  test('is not lost when Redis refuses the write, and those who wait are turned away meanwhile', async () => {
    const logged = logLines()
    const { one, clock, state } = installation({ log: logged.log })
    await one.room(0, 1_000)
    const before = ((await redis.store.config('GET', 'maxmemory')) as string[])[1] ?? '0'
    await redis.store.config('SET', 'maxmemory', '1')
    try {
      for (let n = 0; n < 7; n++) one.succeeded({ rotated: false })
      await one.failed(1, down)
      expect(await one.enter()).toEqual({ is: 'closed', until: clock.now() + SECOND })
    } finally {
      await redis.store.config('SET', 'maxmemory', before)
    }
    expect(logged.text()).toContain('endpoint.no-redis')
    await one.room(0, undefined)
    expect(await state()).toMatchObject({
      breaker: { lastSuccessAt: clock.now(), suspects: { unreachable: [[1, clock.now()]] } },
    })
  })

  test('goes out by itself a moment after a success', async () => {
    const { one, clock, state } = installation()
    one.succeeded({ rotated: false })
    clock.move(250)
    await eventually('the success is reported', async () => (await state())?.breaker.lastSuccessAt === clock.now())
  })
})

test('a call that was not needed leaves its permit to another', async () => {
  const { one } = installation()
  expect(await admitted(one, 8)).toBe(8)
  one.leave()
  expect(await one.enter()).toEqual({ is: 'admitted' })
})

test('of those who wait the chunk that was begun first goes first, and before all who is waited for', async () => {
  const { one, clock } = installation()
  await admitted(one, 8)
  const [first, second] = [one.nextBatch(), one.nextBatch()]
  const through: string[] = []
  const enter = (name: string, batch?: number) => one.enter(batch).then(() => through.push(name))
  const waiting = [enter('a1', first), enter('b1', second), enter('a2', first), enter('b2', second), enter('now')]
  clock.move(SECOND)
  await Promise.all(waiting)
  expect(through).toEqual(['now', 'a1', 'a2', 'b1', 'b2'])
})

test('who stands in line already takes up room', async () => {
  const { one } = installation()
  await admitted(one, 8)
  const { calls } = await one.room(SECOND, undefined)
  void Promise.all(Array.from({ length: 30 }, () => one.enter()))
  expect(calls - (await one.room(SECOND, undefined)).calls).toBe(30)
  one.close()
})

test('no refresh waits for longer than five seconds, however slow the endpoint is', async () => {
  const { one, clock, keys, state } = installation()
  await one.room(0, undefined)
  const before = await state()
  const slow = { ...before, pace: { ...before.pace, perSecond: 0.5, permits: 0 } }
  await redis.store.hset(keys.fleet, 'endpoint', JSON.stringify(slow))
  const found = { admitted: 0, closed: 0 }
  const waiting = Array.from({ length: 9 }, () => one.enter().then(({ is }) => found[is]++))
  for (let n = 0; n < 60; n++) {
    clock.move(100)
    await one.room(0, undefined)
  }
  expect(found).toEqual({ admitted: 2, closed: 7 })
  one.close()
  await Promise.all(waiting)
})

describe('codes of installs', () => {
  let addresses = 0
  /** Another one each time. */
  const anywhere = () => `address ${++addresses}`
  const answering = (answer: ProviderResult<string>) => {
    const sent = { count: 0 }
    const send = async () => {
      sent.count++
      return { answer }
    }
    return { sent, send }
  }
  const worked = { ok: true as const, value: 'tokens' }
  const refused = failure('rejected', { code: 'BAD_AUTH_CODE' })

  test('wait for the end of a pause that another daemon was told of', async () => {
    const { daemon, clock } = installation()
    const [one, two] = [daemon(), daemon()]
    const { send, sent } = answering(worked)
    await two.room(0, undefined)
    await one.failed(1, tooMany(30 * SECOND))
    const until = clock.now() + 30 * SECOND
    const answers = await Promise.all(Array.from({ length: 100 }, () => two.sendCode(send, anywhere())))
    expect(sent.count).toBe(0)
    expect(
      answers.every((answer) => answer.is === 'closed' && answer.until >= until && answer.until < until + SECOND),
    ).toBe(true)
    clock.move(31 * SECOND)
    await two.room(0, undefined)
    expect((await two.sendCode(send, anywhere())).is).toBe('sent')
    expect((await one.enter()).is).toBe('admitted')
  })

  test('that are answered 429 close the door for everybody, and may be sent again', async () => {
    const { daemon, clock } = installation()
    const [one, two] = [daemon(), daemon()]
    const { send, sent } = answering({ ok: false, failure: tooMany(20 * SECOND) })
    for (const door of [one, two]) {
      const answer = await door.sendCode(send, anywhere())
      expect(answer).toMatchObject({ is: 'closed' })
      expect('until' in answer && answer.until).toBeGreaterThanOrEqual(clock.now() + 20 * SECOND)
    }
    expect(sent.count).toBe(1)
    await two.room(0, undefined)
    expect((await two.enter()).is).toBe('closed')
  })

  test('that are refused, or end in an error, say nothing of the fleet', async () => {
    const { one, clock, state, outbox } = installation()
    await one.room(0, 3)
    for (const answer of [refused, failure('client', { status: 401 }), failure('transient', { status: 503 })]) {
      for (let n = 0; n < 20; n++) {
        expect(await one.sendCode(answering(answer).send, anywhere())).toEqual({ is: 'sent', answer })
        clock.move(SECOND)
      }
    }
    await one.room(0, undefined)
    const { breaker } = await state()
    expect(breaker).toMatchObject({ is: 'closed', suspects: { credentials: [], refused: [], unreachable: [] } })
    expect(await outbox()).toEqual([])
  })

  test('of an address that floods wait for those of others', async () => {
    const { one, clock } = installation()
    const sent: string[] = []
    const from = (address: string) =>
      one.sendCode(async () => {
        sent.push(address)
        return { answer: worked }
      }, address)
    const all = [...Array.from({ length: 30 }, () => from('a flood')), from('a customer')]
    let isOver = false
    void Promise.all(all).finally(() => (isOver = true))
    await eventually('all', async () => {
      clock.move(100)
      return isOver
    })
    expect(sent.indexOf('a customer')).toBeLessThan(8)
  })

  test('are eight at a time, so that a provider that hangs leaves connections for refreshes; the others wait a while', async () => {
    const { one, clock } = installation()
    const answers: (() => void)[] = []
    const hangs = () => new Promise<{ answer: typeof worked }>((end) => answers.push(() => end({ answer: worked })))
    const all = Array.from({ length: 10 }, () => one.sendCode(hangs, anywhere()))
    await eventually('eight of them', async () => answers.length === 8)
    await one.room(0, undefined)
    expect(answers).toHaveLength(8)
    answers[0]?.()
    expect((await all[0])?.is).toBe('sent')
    await eventually('the ninth', async () => {
      clock.move(20)
      return answers.length === 9
    })
    clock.move(6 * SECOND)
    await one.room(0, undefined)
    expect((await all[9])?.is).toBe('closed')
    for (const end of answers) end()
    await Promise.all(all)
    one.close()
  })

  test('that wait, or come, while the daemon closes are turned away', async () => {
    const { daemon, clock } = installation()
    const one = daemon()
    const { send, sent } = answering(worked)
    const all = Array.from({ length: 10 }, () => one.sendCode(send, anywhere()))
    await Promise.all(all.slice(0, 8))
    one.close()
    const closed = { is: 'closed', until: clock.now() }
    expect(await Promise.all([...all.slice(8), one.sendCode(send, anywhere())])).toEqual([closed, closed, closed])
    expect(sent.count).toBe(8)
  })
})
