import { expect, test } from 'vitest'
import { claimReceivers, deliverDue } from '../../jobs/deliver.ts'
import { sweepReceivers } from '../../jobs/sweep-receivers.ts'
import type { Alert } from '../../src/alerts/alert.ts'
import { testMessage } from '../../src/alerts/kinds/delivery-alert.ts'
import { decodeEntry } from '../../src/alerts/outbox.ts'
import { CLAIM_MS } from '../../src/delivery/deliveries.ts'
import type { AttemptOutcome, Receiver } from '../../src/delivery/receiver.ts'
import { readNextAttempt } from '../../src/redis/present-receivers.ts'
import { eventually } from '../support/fleet.ts'
import { worldOfFile } from '../support/world.ts'

const world = worldOfFile()
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const PAGE = 'https://plimsoll.example.com/deliveries'

/** Two receivers, one of which answers as the test says; time moves by hand. */
async function open(names: readonly string[] = ['ops-hook', 'ops-mail']) {
  const { services, clock, keys, store } = await world()
  const { deliveries, receiverStore } = services
  const far = {
    outcome: { outcome: 'delivered', answer: 200 } as AttemptOutcome,
    takesMs: 40,
    sent: [] as string[],
    fault: undefined as Error | undefined,
    meanwhile: async () => {},
  }
  const receiverOf = (name: string, address = 'old'): Receiver => ({
    name,
    type: 'webhook',
    address,
    send: async ({ id }) => {
      far.sent.push(`${name} ${id}`)
      await far.meanwhile()
      if (far.fault !== undefined) throw far.fault
      clock.move(far.takesMs)
      return far.outcome
    },
    close: async () => undefined,
  })
  const deps = { ...services, receivers: new Map(names.map((name) => [name, receiverOf(name)])) }
  const never = new AbortController().signal
  const stop = { stopping: never, abandon: never }
  let count = 0
  return {
    keys,
    clock,
    store,
    deliveries,
    receiverStore,
    far,
    deps,
    receiverOf,
    /** As SIGHUP does it. */
    moveTo: async (address: string) => {
      const moved = names.map((name) => receiverOf(name, address))
      for (const receiver of moved) deps.receivers.set(receiver.name, receiver)
      await deliveries.enable(moved, clock.now())
    },
    /** Another daemon on the same Redis, as one that was just started. */
    sweep: () => sweepReceivers(deps),
    post: async (receiver: string) => {
      const id = `msg_${++count}`
      const message = JSON.stringify(testMessage(receiver, clock.now(), PAGE))
      await store.planEvents(keys.delivery.receiversDue, clock.now(), '', id, receiver, count, 'alert.test', message)
      return id
    },
    /** Whatever is due is tried. */
    try: () => deliverDue(deps, stop),
    /** Whatever is due is tried, until the clock has moved on by `ms`. */
    live: async (ms: number) => {
      const end = clock.now() + ms
      while (clock.now() < end) {
        await deliverDue(deps, stop)
        const next = (await readNextAttempt({ store, keys }, names)) ?? end
        if (next > clock.now()) clock.move(Math.min(next, end) - clock.now())
      }
    },
    told: async (): Promise<(Alert & { notTo?: string | undefined })[]> => {
      const entries = await store.xrange(keys.transitions, '-', '+')
      return entries.map(([, fields]) => decodeEntry(fields[1] ?? '')).map(({ alert, notTo }) => ({ ...alert, notTo }))
    },
  }
}

test('a daemon whose machine slept sends nothing that another daemon has taken over, and leaves it to that', async () => {
  const one = await open()
  const id = await one.post('ops-hook')
  const begin = one.deliveries.begin.bind(one.deliveries)
  one.deliveries.begin = async (...claimed) => {
    const begun = await begin(...claimed)
    one.deliveries.begin = begin
    one.clock.move(CLAIM_MS + 1)
    await claimReceivers(one.deps, ['ops-hook'])
    return begun
  }
  await one.try()
  expect(one.far.sent).toEqual([])
  one.clock.move(CLAIM_MS + 1)
  await one.try()
  expect(one.far.sent).toEqual([`ops-hook ${id}`])
})

const reasons = (alerts: readonly Alert[]) => alerts.map(({ level, reason }) => `${level} ${reason}`)

test('a receiver that has only failed for an hour is told of through the others, once, and when it delivers again', async () => {
  const one = await open()
  one.far.outcome = { outcome: 'retry', answer: 500, reason: 'answered 500' }
  await one.post('ops-hook')
  await one.sweep()
  await one.live(50 * MINUTE)
  await one.sweep()
  expect(await one.told()).toEqual([])
  await one.live(15 * MINUTE)
  await one.sweep()
  await one.sweep()
  const [alert, ...more] = await one.told()
  expect(more).toEqual([])
  expect(alert).toMatchObject({ kind: 'delivery', level: 'warning', notTo: 'ops-hook' })
  expect(alert?.message).toContain('answered 500')
  one.far.outcome = { outcome: 'delivered' }
  await one.live(3 * HOUR)
  await one.sweep()
  expect(reasons(await one.told())).toEqual(['warning entered', 'warning recovered'])
})

test('two daemons that look at the same time tell it once', async () => {
  const one = await open()
  one.far.outcome = { outcome: 'retry', reason: 'connection refused' }
  await one.post('ops-hook')
  await one.live(2 * HOUR)
  await Promise.all([one.sweep(), one.sweep(), one.sweep()])
  expect(await one.told()).toHaveLength(1)
})

test('a receiver that wants no more is told of at once, as critical, until it is enabled again', async () => {
  const one = await open()
  one.far.outcome = { outcome: 'disable', answer: 410, reason: 'answered 410: this receiver wants no more messages' }
  await one.post('ops-hook')
  await one.try()
  await one.sweep()
  expect(await one.told()).toMatchObject([{ level: 'critical', notTo: 'ops-hook' }])
  // While it is switched off nothing is tried.
  await one.post('ops-hook')
  await one.try()
  expect(one.far.sent).toHaveLength(1)
  await one.deliveries.enable([...one.deps.receivers.values()], one.clock.now())
  await one.sweep()
  expect(reasons(await one.told())).toEqual(['critical entered', 'critical recovered'])
})

test.each([
  ['a receiver that wants no more', { outcome: 'disable', answer: 410, reason: 'answered 410' } as const],
  ['a receiver that fails', { outcome: 'retry', answer: 500, reason: 'answered 500' } as const],
])('what an address answered says nothing about the one that came with SIGHUP meanwhile: %s', async (_, outcome) => {
  const one = await open(['ops-hook'])
  await one.moveTo('old')
  one.far.outcome = outcome
  one.far.meanwhile = () => one.moveTo('new')
  await one.post('ops-hook')
  await one.try()
  expect(await one.deliveries.disabled()).toEqual({})
  expect(await one.receiverStore.read()).toMatchObject([{ receiver: 'ops-hook', failures: 0 }])
  one.far.outcome = { outcome: 'delivered', answer: 200 }
  one.far.meanwhile = async () => {}
  await one.live(6_000)
  expect((await one.deliveries.log(9)).map(({ outcome: is }) => is)).toEqual(['delivered', 'retry'])
})

test('what was given up because the old address wants no more is tried at the new one, and not again at the old one', async () => {
  const one = await open(['ops-hook'])
  await one.moveTo('old')
  one.far.outcome = { outcome: 'disable', answer: 410, reason: 'answered 410' }
  for (let n = 0; n < 2; n++) await one.post('ops-hook').then(one.try)
  expect(await one.deliveries.countDead()).toBe(2)
  await one.moveTo('old')
  expect([await one.deliveries.countDead(), await one.deliveries.disabled()]).toEqual([2, {}])
  one.far.outcome = { outcome: 'delivered', answer: 200 }
  await one.moveTo('new')
  await one.live(1)
  expect(await one.deliveries.countDead()).toBe(0)
  expect(one.far.sent).toHaveLength(3)
})

test('a test that arrives enables a receiver that was switched off, and is in the log', async () => {
  const one = await open()
  await one.sweep()
  await one.store.hset(one.keys.delivery.disabled, 'ops-hook', 'answered 410')
  await one.sweep()
  const recordTest = (id: string, outcome: AttemptOutcome, ms: number) =>
    one.receiverStore.recordTest({ id, receiver: 'ops-hook', ms, now: one.clock.now() }, outcome)
  const failed: AttemptOutcome = { outcome: 'retry', reason: 'answered 500', answer: 500 }
  expect(await recordTest('msg_a', failed, 30)).toBe('recorded')
  const delivered: AttemptOutcome = { outcome: 'delivered', answer: 204 }
  expect(await recordTest('msg_b', delivered, 20)).toBe('enabled')
  expect(await recordTest('msg_c', delivered, 20)).toBe('recorded')
  await one.sweep()
  expect(reasons(await one.told())).toEqual(['critical entered', 'critical recovered'])
  expect((await one.deliveries.log(10)).map(({ outcome, type, answer }) => [outcome, type, answer])).toEqual([
    ['delivered', 'alert.test', 204],
    ['delivered', 'alert.test', 204],
    ['failed', 'alert.test', 500],
  ])
})

test('the alert of a receiver that left the config is closed', async () => {
  const one = await open()
  await one.sweep()
  await one.store.hset(one.keys.delivery.disabled, 'ops-hook', 'answered 410')
  await one.sweep()
  one.deps.receivers.delete('ops-hook')
  one.clock.move(11 * MINUTE)
  await one.sweep()
  expect((await one.told()).at(-1)).toMatchObject({ reason: 'recovered', message: expect.stringContaining('config') })
})

test('each attempt is logged with what it took, what was answered and when the next one is', async () => {
  const one = await open()
  one.far.outcome = { outcome: 'retry', answer: 503, reason: 'answered 503: Service Unavailable' }
  const id = await one.post('ops-hook')
  await one.live(1)
  one.far.outcome = { outcome: 'delivered', answer: 204 }
  await one.live(6_000)
  const [second, first] = await one.deliveries.log(10)
  expect(first).toMatchObject({ id, attempt: 1, outcome: 'retry', ms: 40, answer: 503 })
  expect(Date.parse(first?.nextAt ?? '')).toBe(Date.parse(first?.at ?? '') + 5_000)
  expect(second).toMatchObject({ id, attempt: 2, outcome: 'delivered', ms: 40, answer: 204, nextAt: null })
})

test('what is for a receiver that a daemon does not have in its config is left to one that has', async () => {
  const one = await open()
  const id = await one.post('of-another')
  await one.live(DAY)
  expect([one.far.sent, await one.deliveries.log(1)]).toEqual([[], []])
  one.deps.receivers.set('of-another', one.receiverOf('of-another'))
  await one.try()
  expect(one.far.sent).toEqual([`of-another ${id}`])
})

test('two workers never send to one receiver at once, and one that died over it holds it no longer than its claim', async () => {
  const one = await open()
  await one.post('ops-hook')
  await Promise.all([one.try(), one.try(), one.try()])
  expect(one.far.sent).toHaveLength(1)
  await one.post('ops-hook')
  await claimReceivers(one.deps, ['ops-hook'])
  one.clock.move(CLAIM_MS - 1)
  await one.try()
  expect(one.far.sent).toHaveLength(1)
  one.clock.move(2)
  await one.try()
  expect(one.far.sent).toHaveLength(2)
})

test.each(['{', '{"type":"alert.firing"}'])(
  'a message that cannot be read is given up, and holds up no other: %s',
  async (message) => {
    const one = await open()
    const id = await one.post('ops-hook')
    await one.store.hset(one.keys.delivery.delivery(id), 'message', message)
    await one.post('ops-hook')
    await one.try()
    expect(one.far.sent).toHaveLength(1)
    expect(await one.deliveries.head(id)).toMatchObject({ state: 'dead', reason: 'the stored message can not be read' })
  },
)

test('a message that cannot be made fails like any other: it is tried later, in the log, and told of through the others', async () => {
  const one = await open()
  one.far.fault = new Error('no such column')
  await one.post('ops-hook')
  await one.sweep()
  await one.live(2 * HOUR)
  await one.sweep()
  expect(one.far.sent.length).toBeLessThan(10)
  expect(await one.deliveries.log(1)).toMatchObject([{ outcome: 'retry', reason: expect.stringContaining('log') }])
  expect(await one.told()).toMatchObject([{ kind: 'delivery', notTo: 'ops-hook' }])
})

test('a message of which an alert is none fails like any other, and holds up no other', async () => {
  const one = await open()
  const id = await one.post('ops-hook')
  await one.store.hset(one.keys.delivery.delivery(id), 'message', '{"type":"alert.firing","data":{"alerts":[null]}}')
  await one.post('ops-hook')
  await one.try()
  expect(one.far.sent).toHaveLength(1)
  expect(await one.deliveries.head(id)).toMatchObject({ state: 'pending', attempts: 1 })
})

test('a receiver that hangs keeps no other waiting, however long it hangs', async () => {
  const one = await open()
  const hangs = Promise.withResolvers<void>()
  one.far.meanwhile = () => hangs.promise
  await one.post('ops-mail')
  const working = one.try()
  await eventually('it is under way', async () => one.far.sent.length === 1)
  one.clock.move(29_000)
  one.far.meanwhile = async () => {}
  await one.post('ops-hook')
  await eventually('the other is sent to', async () => one.far.sent.length === 2)
  hangs.resolve()
  await working
})

const paused = (retryAfterMs: number): AttemptOutcome => ({
  outcome: 'retry',
  answer: 429,
  reason: 'answered 429',
  retryAfterMs,
})

test('a 429 with Retry-After holds for the receiver: nothing goes out to it before, not even what waited for its turn', async () => {
  const one = await open()
  one.far.outcome = paused(2 * MINUTE)
  for (let n = 0; n < 12; n++) await one.post('ops-hook')
  await one.try()
  const tried = one.far.sent.length
  // So many are under way at a time.
  expect(tried).toBeLessThanOrEqual(8)
  one.far.outcome = { outcome: 'delivered', answer: 200 }
  await one.post('ops-mail')
  await one.try()
  expect(one.far.sent).toHaveLength(tried + 1)
  await one.live(2 * MINUTE - 2_000)
  await one.post('ops-hook')
  await one.live(500)
  expect(one.far.sent).toHaveLength(tried + 1)
  await one.live(MINUTE)
  expect(one.far.sent).toHaveLength(tried + 1 + 13)
})

test.each([
  ['another address', (one: Awaited<ReturnType<typeof open>>) => one.moveTo('new')],
  [
    'a test that arrives',
    ({ receiverStore, clock }: Awaited<ReturnType<typeof open>>) => {
      const test = { id: 'msg_test', receiver: 'ops-hook', ms: 1, now: clock.now() }
      return receiverStore.recordTest(test, { outcome: 'delivered' })
    },
  ],
])('a receiver that asked for a day gets messages again at once after %s', async (_, change) => {
  const one = await open(['ops-hook'])
  await one.moveTo('old')
  one.far.outcome = paused(DAY)
  await one.post('ops-hook')
  await one.try()
  one.far.outcome = { outcome: 'delivered', answer: 200 }
  await one.post('ops-hook')
  await one.live(10 * MINUTE)
  expect(one.far.sent).toHaveLength(1)
  await change(one)
  await one.try()
  expect(one.far.sent).toHaveLength(3)
})

test('one that fails while another one is told to wait is not tried in that pause', async () => {
  const one = await open(['ops-hook'])
  const asked = Promise.withResolvers<void>()
  let count = 0
  one.far.meanwhile = async () => {
    if (++count === 1) await asked.promise
    one.far.outcome = count === 2 ? paused(HOUR) : { outcome: 'retry', reason: 'answered 500' }
  }
  const record = one.deliveries.record.bind(one.deliveries)
  one.deliveries.record = async (...args) => {
    const recorded = await record(...args)
    one.far.outcome = { outcome: 'retry', reason: 'answered 500' }
    count++
    asked.resolve()
    return recorded
  }
  await one.post('ops-hook')
  await one.post('ops-hook')
  await one.try()
  expect(one.far.sent).toHaveLength(2)
  await one.live(HOUR - MINUTE)
  expect(one.far.sent).toHaveLength(2)
})

test('a receiver that takes one message in a second gets all within minutes', async () => {
  const one = await open(['ops-hook'])
  let takenAt = 0
  let taken = 0
  one.far.meanwhile = async () => {
    const takes = one.clock.now() - takenAt >= 1_000
    if (takes) takenAt = one.clock.now()
    if (takes) taken++
    one.far.outcome = takes ? { outcome: 'delivered' } : paused(1_000)
  }
  for (let n = 0; n < 30; n++) await one.post('ops-hook')
  await one.live(2 * MINUTE)
  expect(taken).toBe(30)
})

test('a mail server that refuses the login of an old config keeps nothing from the new one', async () => {
  const one = await open(['ops-hook'])
  await one.moveTo('old')
  one.far.outcome = { outcome: 'disable', reason: '535', waits: true }
  one.far.meanwhile = () => one.moveTo('new')
  await one.post('ops-hook')
  await one.try()
  one.far.outcome = { outcome: 'delivered' }
  await one.live(6_000)
  expect(one.far.sent).toHaveLength(2)
})

test('what an address asked for before SIGHUP does not hold for the one that came meanwhile', async () => {
  const one = await open(['ops-hook'])
  await one.moveTo('old')
  one.far.outcome = paused(DAY)
  one.far.meanwhile = () => one.moveTo('new')
  await one.post('ops-hook')
  await one.try()
  await one.post('ops-hook')
  await one.try()
  expect(one.far.sent).toHaveLength(2)
})

test('a message has its last attempt after three days, whatever its receiver asked for', async () => {
  const one = await open()
  one.far.outcome = paused(DAY)
  await one.post('ops-hook')
  await one.try()
  await one.post('ops-hook')
  await one.live(3 * DAY - HOUR)
  expect(await one.deliveries.countDead()).toBe(0)
  await one.live(2 * HOUR)
  expect(await one.deliveries.countDead()).toBe(2)
})
