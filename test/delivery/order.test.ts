import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { deliverDue } from '../../jobs/deliver.ts'
import { sendEvents } from '../../jobs/send-events.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { alertOf, type Message } from '../../src/alerts/alert.ts'
import { sendAlerts } from '../../src/alerts/sending/send-alerts.ts'
import { Deliveries } from '../../src/delivery/deliveries.ts'
import type { AttemptOutcome, OutgoingDelivery, Receiver } from '../../src/delivery/receiver.ts'
import { Movement } from '../../src/heartbeat/movement.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { aRelay } from '../alerts/a-relay.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { eventually } from '../support/fleet.ts'
import { goByHand } from '../support/go-by-hand.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'
import { pendingIds } from '../support/take-due.ts'

/** All of them before a change of how messages are sent is taken over. */
const SCHEDULES = process.env.PLIMSOLL_FULL === '1' ? 1_000 : 10
const EVENTS = 40
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NAMES = ['mail', 'hook']
const ACCOUNT_EVENTS = ['connected', 'reauthorize', 'recovered', 'uninstalled'] as const

const redis = redisOfFile()
const hands = new HandClock()
const never = new AbortController().signal
const metrics = createMetrics()

/** From 0 up to, and not including, 1: the same of the same seed. */
function diceOf(seed: number) {
  let state = seed * 2_654_435_769
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (most: number) => Math.floor(next() * most)
  return { next, below, oneOf: <T>(some: readonly T[]) => some[below(some.length)] as T }
}
type Dice = ReturnType<typeof diceOf>

/** The far side of a receiver, with a record of its own: each message once, in the order in which they came. */
class FarSide {
  readonly got = new Map<string, Message>()
  copies = 0
  mood: 'well' | 'away' | 'busy' | 'lost' = 'well'
  readonly #clock: HandClock

  constructor(clock: HandClock) {
    this.#clock = clock
  }

  answer({ id, message }: OutgoingDelivery): AttemptOutcome {
    if (this.mood === 'away') return { outcome: 'retry', reason: 'answered 500', answer: 500 }
    const until = 10 * MINUTE - (this.#clock.now() % (10 * MINUTE))
    if (this.mood === 'busy') return { outcome: 'retry', reason: 'answered 429', answer: 429, retryAfterMs: until }
    if (this.got.has(id)) this.copies++
    else this.got.set(id, structuredClone(message))
    // It has the message, and its answer does not arrive.
    return this.mood === 'lost' ? { outcome: 'retry', reason: 'the connection broke' } : { outcome: 'delivered' }
  }
}

/** What a process sends by. */
function sendingDeps(
  relay: ReturnType<typeof aRelay>,
  store: Store,
  clock: HandClock,
  receivers: ReadonlyMap<string, Receiver>,
  random: () => number,
) {
  const { keys } = relay
  return {
    store,
    keys,
    clock,
    log: relay.deps.log,
    metrics,
    movement: new Movement(clock),
    due: new DueSets(store, keys, random),
    deliveries: new Deliveries(store, keys),
    receivers,
    queues: { wake: async () => {} } as never,
    random,
  }
}

/** A process with a clock of its own, which dies at one of its steps: what it asked for then is done, or is not, and never answered. */
class Daemon {
  readonly #work: () => Promise<void>[]
  readonly clock: HandClock
  steps = Number.POSITIVE_INFINITY

  constructor(
    store: Store,
    relay: ReturnType<typeof aRelay>,
    farSides: Map<string, FarSide>,
    dice: Dice,
    aheadMs: number,
    pass: (ms: number) => void,
  ) {
    const clock = new HandClock(hands.now() + aheadMs)
    this.clock = clock
    const isDead = async (before: boolean) => {
      for (let turns = dice.below(3); turns > 0; turns--) await setImmediate()
      return before && this.steps-- <= 0
    }
    const own = new Proxy(store, {
      get: (real, name) => {
        const value = Reflect.get(real, name)
        if (typeof value !== 'function') return value
        if (name === 'pipeline') return value.bind(real)
        return async (...args: unknown[]) => {
          const dies = await isDead(true)
          // Its machine sleeps.
          if (dice.below(60) === 0) pass(70_000)
          const done = dies && dice.below(2) === 0 ? undefined : value.apply(real, args)
          return dies ? new Promise(() => {}) : done
        }
      },
    })
    const receivers = new Map(
      [...farSides].map(([name, far]): [string, Receiver] => [name, this.#receiver(name, far, isDead, dice)]),
    )
    const deps = sendingDeps(relay, own, clock, receivers, dice.next)
    const sending = { ...relay.deps, store: own }
    const events = {
      ...deps,
      eventReceivers: { accounts: NAMES, acknowledgements: [] },
      alerts: {} as never,
      sending,
    }
    this.#work = () => [
      sendAlerts(sending, clock.now()).then(() => {}),
      sendEvents(events).then(() => {}),
      deliverDue(deps, { stopping: never, abandon: never }),
    ]
  }

  #receiver(name: string, far: FarSide, isDead: (before: boolean) => Promise<boolean>, dice: Dice): Receiver {
    return {
      name,
      type: 'webhook',
      close: async () => {},
      send: async (delivery) => {
        const age = this.clock.stopwatch()
        for (let turns = dice.below(20); turns > 0; turns--) await setImmediate()
        if (await isDead(true)) return new Promise(() => {})
        // As each receiver has it.
        if (age() > 25_000) return { outcome: 'retry', reason: 'timed out' }
        const answer = far.answer(delivery)
        await isDead(false)
        return answer
      },
    }
  }

  /** All that is due, up to its end or its death. */
  async works(): Promise<void> {
    const works = Promise.all(this.#work())
    while (this.steps > 0 || this.steps === Number.POSITIVE_INFINITY) {
      if ((await Promise.race([works.then(() => 'done'), setImmediate()])) === 'done') return
    }
  }
}

/** One schedule; what is wrong with what arrived. */
async function run(seed: number, store: Store): Promise<string[]> {
  const dice = diceOf(seed)
  const keys = redis.freshKeys()
  const relay = aRelay(store, keys, {
    routes: [{ to: NAMES }],
    receivers: NAMES,
    group: { by: ['rule'], waitMs: 0, intervalMs: 0 },
  })
  const farSides = new Map(NAMES.map((name) => [name, new FarSide(hands)]))
  const start = (n: number) => new Daemon(store, relay, farSides, dice, n * 10 * MINUTE, (ms) => pass(ms))
  const open = new Map<string, number>()
  const committed: string[] = []
  const happened: string[] = []
  let opened = 0
  const daemons: Daemon[] = []
  const pass = (ms: number) => {
    hands.move(ms)
    for (const { clock } of daemons) clock.move(ms)
  }
  daemons.push(...[0, 1].map(start))
  const transition = async (account: number) => {
    const id = [...open.keys()].find((alert) => alert.startsWith(`a${account}x`)) ?? `a${account}x${++opened}`
    const number = (open.get(id) ?? 0) + 1
    const isEnd = number > 1 && dice.below(3) === 0
    if (isEnd) open.delete(id)
    else open.set(id, number)
    const state = isEnd ? { status: 'resolved' as const, reason: 'recovered' as const } : {}
    const level = dice.below(2) === 0 ? 'warning' : 'critical'
    committed.push(`${id}-${number}`)
    const about = { account: { hubId: account, hubDomain: '' }, rule: `rule ${account % 2}` }
    await relay.commit({ alert: anAlert({ id: `${id}-${number}`, level, ...about, ...state }) })
  }
  const work = (n: number) => daemons[n]?.works()
  for (let n = 0; n < EVENTS; n++) {
    const which = dice.below(2)
    switch (dice.below(8)) {
      case 0:
      case 1:
        await transition(dice.below(4))
        break
      case 2: {
        const event = dice.oneOf(ACCOUNT_EVENTS)
        const hubId = 900 + dice.below(2)
        happened.push(
          `${hubId} ${await store.xadd(keys.accountEvents, `${hands.now()}-${n + 1}`, 'hubId', hubId, 'event', event)}`,
        )
        break
      }
      case 3:
        dice.oneOf([...farSides.values()]).mood = dice.oneOf(['well', 'well', 'away', 'busy', 'lost'] as const)
        break
      case 4: {
        const daemon = daemons[which]
        if (daemon !== undefined) daemon.steps = dice.below(30)
        await Promise.all([0, 1].map(work))
        if (daemon?.steps !== Number.POSITIVE_INFINITY) daemons[which] = start(which)
        break
      }
      case 5:
        pass(dice.oneOf([1_000, 20_000, MINUTE + 1, 15 * MINUTE, 3 * HOUR]))
        break
      default:
        await (dice.below(3) === 0 ? Promise.all([0, 1].map(work)) : work(which))
    }
  }
  for (const far of farSides.values()) far.mood = 'well'
  const isLeft = async () => (await pendingIds(store, keys)).length > 0 || (await store.zcard(keys.unsent)) > 0
  for (let rounds = 0; rounds < 30 && (rounds < 4 || (await isLeft())); rounds++) {
    pass(HOUR)
    await work(rounds % 2)
  }
  const left = await pendingIds(store, keys)
  const found = left.length > 0 ? [`${left.length} are on their way for ever`] : []
  for (const [name, { got }] of farSides) found.push(...judge(name, [...got.values()], committed, happened))
  await store.unlink(...(await store.keys(`${keys.queues}:*`)))
  return found
}

/** The order of arrival is the order of what happened, and nothing is lost. */
function judge(
  name: string,
  got: readonly Message[],
  committed: readonly string[],
  happened: readonly string[],
): string[] {
  const found: string[] = []
  const told = new Set<string>()
  const newest = new Map<string, number>()
  for (const { data } of got) {
    for (const alert of data.alerts) {
      const [of, number] = [alertOf(alert), Number(alert.id.split('-').at(-1))]
      if (number < (newest.get(of) ?? 0)) found.push(`${name}: ${alert.id} comes after ${of}-${newest.get(of)}`)
      newest.set(of, number)
      for (const id of [alert.id, ...(alert.supersedes ?? [])]) told.add(id)
    }
  }
  for (const id of committed) if (!told.has(id)) found.push(`${name}: ${id} never comes`)
  const events = got.filter(({ type }) => type.startsWith('account.'))
  for (const hubId of [900, 901]) {
    const came = events.flatMap(({ data, timestamp }) => (data.account?.hubId === hubId ? [Date.parse(timestamp)] : []))
    const was = happened.flatMap((one) => (one.startsWith(`${hubId} `) ? [Number(one.slice(4).split('-')[0])] : []))
    if (JSON.stringify(came) !== JSON.stringify(was))
      found.push(`${name}: events of ${hubId} come as ${came}, not ${was}`)
  }
  return found
}

test(`for each receiver and alert the order of arrival is the order of what happened, and nothing is lost: ${SCHEDULES} schedules`, async () => {
  const store = redis.connect()
  goByHand(store, hands)
  const begun = performance.now()
  const wrong: string[] = []
  for (let seed = 1; seed <= SCHEDULES && wrong.length === 0; seed++) {
    wrong.push(...(await run(seed, store)).map((what) => `seed ${seed}: ${what}`))
  }
  process.stdout.write(`${SCHEDULES} schedules in ${Math.round((performance.now() - begun) / 1_000)} s\n`)
  expect(wrong).toEqual([])
}, 1_800_000)

test('a worker that slept for longer than its claim sends nothing more to that receiver', async () => {
  const store = redis.connect()
  goByHand(store, hands)
  const relay = aRelay(store, redis.freshKeys(), {
    routes: [{ to: ['hook'] }],
    receivers: ['hook'],
    group: { by: ['rule'], waitMs: 0, intervalMs: 0 },
  })
  const transition = async (number: number) => {
    await relay.commit({ alert: anAlert({ id: `a-${number}`, level: number === 1 ? 'warning' : 'critical' }) })
    await sendAlerts(relay.deps, hands.now())
  }
  const [asleep, awake] = [aWorker(relay, store), aWorker(relay, store)]
  await transition(1)
  const slept = asleep.works()
  await eventually('the first message', async () => asleep.sent.length > 0)
  await transition(2)
  hands.move(MINUTE + 1)
  const worked = awake.works()
  await eventually('its copy', async () => awake.sent.length > 0)
  expect(awake.sent).toEqual(['a-1'])
  asleep.answer({ outcome: 'retry', reason: 'timed out' })
  await slept
  expect(asleep.sent).toEqual(['a-1'])
  awake.answer({ outcome: 'delivered' })
  await worked
  expect(awake.sent).toEqual(['a-1', 'a-2'])
})

/** Its first message is answered when the test says so, all others at once. */
function aWorker(relay: ReturnType<typeof aRelay>, store: Store) {
  const sent: string[] = []
  const first = Promise.withResolvers<AttemptOutcome>()
  const hook: Receiver = {
    name: 'hook',
    type: 'webhook',
    close: async () => {},
    send: ({ message }) => {
      sent.push(...message.data.alerts.map(({ id }) => id))
      return sent.length === 1 ? first.promise : Promise.resolve({ outcome: 'delivered' })
    },
  }
  const deps = sendingDeps(relay, store, hands, new Map([['hook', hook]]), () => 0.5)
  return { sent, answer: first.resolve, works: () => deliverDue(deps, { stopping: never, abandon: never }) }
}
