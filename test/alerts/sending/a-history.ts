import fc from 'fast-check'
import { expect } from 'vitest'
import { claimReceivers } from '../../../jobs/deliver.ts'
import { sendEvents } from '../../../jobs/send-events.ts'
import { DueSets } from '../../../src/accounts/due-sets.ts'
import { storeAcknowledgement, withdrawAcknowledgement } from '../../../src/alerts/acknowledge.ts'
import { alertId, decodeState, encodeState, openedState, type SeriesState } from '../../../src/alerts/alert-state.ts'
import type { AlertsDeps, GroupBy } from '../../../src/alerts/deps.ts'
import { sweepDigests } from '../../../src/alerts/digest.ts'
import { closeAlert, type NotifiedSubject, notifyAlert } from '../../../src/alerts/kinds/notified-alert.ts'
import { decodeEntry, encodeEntry } from '../../../src/alerts/outbox.ts'
import type { QuietHours, Route } from '../../../src/alerts/route.ts'
import { sendAlerts } from '../../../src/alerts/sending/send-alerts.ts'
import type { AttemptRecord } from '../../../src/delivery/after-attempt.ts'
import { CLAIM_MS, Deliveries } from '../../../src/delivery/deliveries.ts'
import type { Store } from '../../../src/redis/connect.ts'
import type { Keys } from '../../../src/redis/keys.ts'
import { NO_ACCOUNT, stepJson } from '../../../src/redis/steps.ts'
import { readAlertLog } from '../../../src/views/alert-log.ts'
import { aRelay, DAY, type Dying, dyingAt, INTERVAL, NOW, overtakenAt, WAIT } from '../a-relay.ts'
import type { Daemon, Judge } from './judge.ts'

/** More than a mass takes. */
const ACCOUNTS = [1, 2, 3, 4, 5, 6, 7]
const RECEIVERS = ['mail', 'hook', 'pager']
const STEPS = ['recordSends', 'settleNews', 'beginAttempt', 'recordAttempt', 'sendDigest', 'planAcknowledgement']

export const QUIET: QuietHours = { from: '10:40', to: '11:20', timeZone: 'UTC' }
const CRITICAL: Route = { match: { level: ['critical'] }, to: ['hook'] }
const BOTH: Route = { match: { account: ['2'] }, to: ['mail', 'hook'] }
/** The new config knows a receiver that the old one lacks, and no quiet hours. */
const CONFIGS: Record<string, readonly Route[]> = {
  old: [CRITICAL, BOTH, { to: ['mail'], quiet: [QUIET] }],
  new: [CRITICAL, BOTH, { match: { account: ['1', '3'] }, to: ['pager', 'mail'] }, { to: ['mail'] }],
}
const RUNNING = [['old'], ['old', 'new'], ['new']]

const death = fc.option(
  fc.record({ at: fc.constantFrom(...STEPS), done: fc.constantFrom<Dying>('before', 'after', 'again') }),
)
type Death = { at: string; done: Dying } | null
const account = fc.constantFrom(...ACCOUNTS)
const receiver = fc.constantFrom(...RECEIVERS)
const step = <const T extends string>(is: T) => ({ is: fc.constant(is) })

/** What happens to the fleet, and what operators do. */
const CALM = [
  { weight: 8, arbitrary: fc.record({ ...step('commit'), account, over: fc.boolean(), worse: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      ...step('wave'),
      accounts: fc.subarray(ACCOUNTS, { minLength: 4 }),
      over: fc.boolean(),
      worse: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ ...step('first'), account }) },
  { weight: 4, arbitrary: fc.record(step('time')) },
  { weight: 2, arbitrary: fc.record({ ...step('silence'), account, intervals: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.record(step('unsilence')) },
  { weight: 1, arbitrary: fc.record({ ...step('trouble'), isOver: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ ...step('acknowledge'), account }) },
  { weight: 1, arbitrary: fc.record({ ...step('withdraw'), account }) },
  { weight: 2, arbitrary: fc.record(step('digest')) },
  {
    weight: 5,
    arbitrary: fc.record({
      ...step('attempt'),
      receiver,
      dies: death,
      outcome: fc.constantFrom('delivered' as const, 'retry' as const, 'dead' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...step('replay'), receiver: fc.option(receiver) }) },
]
/** A poll, and another sweep, do their work just before a step of this one, or die at one of their own. */
const ROUGH = [
  {
    weight: 6,
    arbitrary: fc.record({
      ...step('look'),
      dies: death,
      overtaken: overtaking(),
      over: fc.boolean(),
      worse: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...step('reload'), running: fc.constantFrom(...RUNNING) }) },
  { weight: 1, arbitrary: fc.record(step('forget')) },
]

function overtaking() {
  return fc.option(
    fc.record({ at: fc.constantFrom(...STEPS, 'hmget', 'zrange'), dies: death, commits: fc.option(account) }),
  )
}

const pause = fc.constantFrom(1_000, WAIT / 2, WAIT, INTERVAL, INTERVAL + WAIT)
const eventOf = fc.oneof(...CALM, ...ROUGH)
type HistoryEvent = typeof eventOf extends fc.Arbitrary<infer T> ? T : never
export type History = readonly { ms: number; event: HistoryEvent }[]

const historyOf = (event: fc.Arbitrary<HistoryEvent>): fc.Arbitrary<History> =>
  fc.array(fc.record({ ms: pause, event }), { minLength: 10, maxLength: 40 })
/** Every sweep comes when it is due, and ends. */
export const calm = historyOf(fc.oneof(...CALM))
/** Sweeps come by chance, die and overtake each other; daemons with other configs come and go. */
export const rough = historyOf(eventOf)

/** A fleet of which each account has one alert at most, written as polls write it. */
class Fleet {
  readonly stored = new Map<number, string>()
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  state(hubId: number): SeriesState | undefined {
    return decodeState(this.stored.get(hubId))
  }

  idOf(hubId: number): string {
    return alertId(hubId, fieldOf(hubId), this.state(hubId)?.since ?? 0)
  }

  /** The transition that it commits; undefined where there is nothing to end. */
  async next(hubId: number, what: { over: boolean; worse: boolean; first?: boolean }, now: number) {
    const field = fieldOf(hubId)
    const subject: NotifiedSubject = {
      field,
      stored: this.stored.get(hubId) ?? '',
      account: { hubId, hubDomain: '' },
      url: '',
      now,
    }
    const level = what.worse ? 'critical' : 'warning'
    const writes = what.over
      ? closeAlert(subject, 'over')
      : notifyAlert(subject, { level, rule: 'r', cause: 'failing', message: 'it fails' })
    const [change] = writes.changes
    const entry = writes.entries.map(decodeEntry)[0]
    if (change === undefined || entry === undefined) return undefined
    const marked =
      what.first === true && entry.alert.reason === 'entered' ? { ...entry, firstReading: true as const } : entry
    const json = stepJson({ changes: writes.changes, entries: [encodeEntry(marked)] })
    const is = await this.#store.changeAlerts(this.#keys.own(hubId), hubId, json)
    if (is !== 'changed') throw new Error(is)
    this.stored.set(hubId, change[2])
    return marked
  }

  async reread(hubId: number): Promise<void> {
    this.stored.set(hubId, (await this.#store.hget(this.#keys.account(hubId).alerts, fieldOf(hubId))) ?? '')
  }
}

/** The trouble of all accounts is that of some of these. */
const fieldOf = (hubId: number) => (hubId % 2 === 0 ? 'poll' : 'overall')

export async function live(history: History, by: GroupBy, judge: Judge, store: Store, keys: Keys): Promise<void> {
  const isCalm = judge.isCalm
  const relay = aRelay(store, keys)
  const fleet = new Fleet(store, keys)
  const listened = judge.listen(store)
  let now = NOW
  let running: readonly string[] = ['old']
  const daemonOf = (config: string): Daemon => ({ config, routes: CONFIGS[config] ?? [] })
  const depsOf = (config: string, through: Store): AlertsDeps => ({
    ...relay.deps,
    store: through,
    routes: CONFIGS[config] ?? [],
    receivers: config === 'old' ? ['mail', 'hook'] : RECEIVERS,
    group: { by: [by], waitMs: WAIT, intervalMs: INTERVAL, max: 3, perAlert: ['hook'] },
    configs: async () => ({ own: config, others: running.filter((other) => other !== config) }),
  })
  const jobsOf = (config: string, through: Store) => ({
    store: through,
    keys,
    log: relay.deps.log,
    clock: { now: () => now },
    alerts: { rules: [], pageOf: () => '', page: '' },
    sending: depsOf(config, through),
    registry: { alerting: async () => ACCOUNTS.filter((hubId) => fleet.state(hubId) !== undefined) },
    queues: { wake: async () => {} },
  })
  const sweep = async (config: string, through = listened) => {
    judge.looking = daemonOf(config)
    const { next } = await sendAlerts(depsOf(config, through), now)
    const acknowledgements = config === 'old' ? ['mail', 'hook'] : RECEIVERS
    const eventReceivers = { accounts: [], acknowledgements }
    const again = await sendEvents({ ...jobsOf(config, through), eventReceivers } as never)
    const moments = [next, again].filter((at) => at !== undefined)
    return moments.length === 0 ? undefined : Math.min(...moments)
  }
  /** All that is due up to then, at its moment. */
  const passTime = async (ms: number) => {
    const until = now + ms
    for (;;) {
      const moments = []
      for (const config of running) moments.push(await sweep(config))
      if (isCalm) judge.looked(now)
      const next = Math.min(...moments.map((at) => at ?? Number.POSITIVE_INFINITY))
      if (next > until) break
      now = Math.max(next, now + 1)
    }
    now = until
  }
  const storeOf = (dies: Death, through = listened) => (dies === null ? through : dyingAt(through, dies.at, dies.done))
  const commit = async (hubId: number, what: { over: boolean; worse: boolean; first?: boolean }) => {
    const entry = await fleet.next(hubId, what, now)
    if (entry === undefined) return
    relay[entry.alert.status === 'firing' ? 'open' : 'resolve'](entry.alert)
    judge.committed(entry, running.map(daemonOf), now)
  }
  const setTrouble = async (isOver: boolean) => {
    const open = encodeState(openedState('critical', 'fleet', NOW))
    const before = judge.hasTrouble ? open : ''
    const after = isOver ? '' : open
    if (before === after) return
    const json = stepJson({ changes: [['coverage', before, after]], entries: [] })
    await store.changeAlerts(keys.own(NO_ACCOUNT), NO_ACCOUNT, json)
    judge.hasTrouble = !isOver
  }
  const attempt = async (receiver: string, through: Store, record: Pick<AttemptRecord, 'outcome' | 'nextAt'>) => {
    // The claim of whoever died before is over.
    await store.zadd(keys.delivery.receiversDue, 'XX', 0, receiver)
    const [claimed] = await claimReceivers({ store, keys, due: new DueSets(store, keys) }, [receiver])
    if (claimed === undefined) return
    const deliveries = new Deliveries(through, keys)
    const begun = await deliveries.begin(claimed, [])
    if (begun.is !== 'begun') return
    judge.arrived(begun)
    await deliveries.record(begun, { ...record, reason: 'so', ms: 1 }, now)
  }
  const sendDigest = async () => {
    const at = new Date(now).toISOString().slice(11, 16)
    for (const config of running) {
      judge.looking = daemonOf(config)
      const digests = new Map(['mail', 'hook'].map((name) => [name, { every: 'day', at, timeZone: 'UTC' } as const]))
      await sweepDigests({ ...jobsOf(config, listened), digests })
      // The sweep notes what goes wrong, and goes on.
      expect(relay.lines.lines().filter(({ code }) => code === 'digest.error')).toEqual([])
    }
  }
  const perform = async (event: HistoryEvent): Promise<unknown> => {
    switch (event.is) {
      case 'commit':
        return commit(event.account, event)
      case 'first':
        return commit(event.account, { over: false, worse: false, first: true })
      case 'wave':
        for (const hubId of event.accounts) await commit(hubId, event)
        return undefined
      case 'time':
        return undefined
      case 'silence': {
        const silence = relay.silence(now + event.intervals * INTERVAL, now)
        judge.silences.push({ hubId: event.account, endsAt: silence.endsAt })
        return Object.assign(silence, { matchers: [{ name: 'account', value: String(event.account) }] })
      }
      case 'unsilence':
        relay.silences.splice(0)
        judge.silences.splice(0)
        return relay.recheckWaiting()
      case 'trouble':
        return setTrouble(event.isOver)
      case 'acknowledge': {
        const state = fleet.state(event.account)
        if (state === undefined || state.level === 'ok') return undefined
        const seen = { id: fleet.idOf(event.account), hubId: event.account, level: state.level }
        await storeAcknowledgement({ store, keys, acknowledgeForMs: 30 * DAY }, seen, { by: 'ada' }, now)
        return fleet.reread(event.account)
      }
      case 'withdraw':
        if (fleet.state(event.account) === undefined) return undefined
        await withdrawAcknowledgement({ store, keys }, { hubId: event.account, id: fleet.idOf(event.account) }, now)
        return fleet.reread(event.account)
      case 'digest':
        return sendDigest()
      case 'look': {
        const [config = ''] = running
        const others = running.at(-1) ?? config
        const { overtaken } = event
        if (overtaken === null) return sweep(config, storeOf(event.dies))
        let left = 1
        const overtaking = async () => {
          if (left-- <= 0) return
          if (overtaken.commits !== null) await commit(overtaken.commits, event)
          await sweep(others, storeOf(overtaken.dies)).catch(expectDead)
          judge.looking = daemonOf(config)
        }
        return sweep(config, overtakenAt(storeOf(event.dies), overtaken.at, overtaking))
      }
      case 'reload': {
        for (const config of running) await sweep(config)
        running = event.running
        return relay.recheckWaiting()
      }
      case 'attempt': {
        const nextAt = event.outcome === 'retry' ? now : null
        return attempt(event.receiver, storeOf(event.dies), { outcome: event.outcome, nextAt })
      }
      case 'replay':
        return relay.deliveries.replay({ since: 0, receiver: event.receiver ?? undefined }, now)
      case 'forget':
        return relay.deliveries.forgetDead(now + 30 * DAY)
    }
  }
  for (const { ms, event } of history) {
    await perform(event).catch(expectDead)
    if (isCalm) await passTime(ms)
    else now += ms
    if (!isCalm) await relay.expectBalance({})
  }
  // Nothing holds anything back any more, and all that waits is sent, tried and settled.
  relay.silences.splice(0)
  judge.silences.splice(0)
  await setTrouble(true)
  if (!isCalm) running = ['old', 'new']
  now = NOW + DAY
  await relay.recheckWaiting()
  for (let looks = 0; looks < 4; looks++) await passTime(INTERVAL + WAIT)
  for (let left = await relay.pending(); left.length > 0; left = await relay.pending()) {
    now += CLAIM_MS
    for (const { receiver } of left) await attempt(receiver, listened, { outcome: 'delivered', nextAt: null })
    await passTime(1_000)
  }
  const open = ACCOUNTS.flatMap((hubId) => {
    const { acknowledged } = fleet.state(hubId) ?? {}
    return fleet.state(hubId) === undefined ? [] : { alert: fleet.idOf(hubId), acknowledged: acknowledged?.at }
  })
  judge.ended(open)
  await relay.expectBalance({ pending: 0, waiting: 0, lateSince: null })
  expect(await store.exists(keys.unsent, keys.decided)).toBe(0)
  const fates = (await readAlertLog({ store, keys, deliveries: relay.deliveries }, { since: 0 })).map(
    ({ fate }) => fate.is,
  )
  expect(fates).toHaveLength(judge.count)
  expect(fates.filter((is) => is === 'pending' || is === 'unknown')).toEqual([])
}

function expectDead(error: unknown): void {
  if (!(error instanceof Error) || error.message !== 'dead') throw error
}
