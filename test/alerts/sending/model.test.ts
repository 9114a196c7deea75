import fc from 'fast-check'
import { expect, test } from 'vitest'
import { claimReceivers } from '../../../jobs/deliver.ts'
import { DueSets } from '../../../src/accounts/due-sets.ts'
import type { Alert, Message } from '../../../src/alerts/alert.ts'
import { sendAlerts } from '../../../src/alerts/sending/send-alerts.ts'
import { type AttemptRecord, CLAIM_MS, Deliveries, type Delivery } from '../../../src/delivery/deliveries.ts'
import type { Store } from '../../../src/redis/connect.ts'
import { readAlertLog } from '../../../src/views/alert-log.ts'
import { readOutboxBalance } from '../../../src/views/outbox-balance.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { aRelay, DAY, dyingAt, INTERVAL, NOW, overtakenAt, WAIT } from '../a-relay.ts'
import { anAlert } from '../an-alert.ts'

const redis = redisOfFile()

/** More than a mass takes. */
const ACCOUNTS = [1, 2, 65, 3, 4, 5]
const STEPS = ['recordSends', 'settleNews', 'beginAttempt', 'recordAttempt']

const dies = fc.option(
  fc.record({ at: fc.constantFrom(...STEPS), done: fc.constantFrom('before' as const, 'after' as const) }),
)
/** Another sweep does all of its work just before a step of this one, or dies at one of its own. */
const overtaken = fc.option(
  fc.record({
    at: fc.constantFrom(...STEPS, 'hmget', 'zrange'),
    dies,
  }),
)
const account = fc.constantFrom(...ACCOUNTS)
type Death = { at: string; done: 'before' | 'after' } | null
type Overtaken = { at: string; dies: Death }
const receiver = fc.constantFrom('mail', 'hook')

const event = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ is: fc.constant('commit' as const), account, over: fc.boolean(), worse: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('wave' as const), over: fc.boolean(), worse: fc.boolean() }) },
  { weight: 9, arbitrary: fc.record({ is: fc.constant('look' as const), dies, overtaken }) },
  { weight: 2, arbitrary: fc.record({ is: fc.constant('silence' as const), account }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('unsilence' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      is: fc.constant('attempt' as const),
      receiver,
      dies,
      outcome: fc.constantFrom('delivered' as const, 'retry' as const, 'dead' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('replay' as const), receiver: fc.option(receiver) }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('forget' as const) }) },
)

/** What an account's alert does next, as its states would have it. */
class Account {
  #opened = 0
  #transitions = 0
  #isOpen = false

  next(hubId: number, over: boolean, worse: boolean): Alert {
    const about = { account: { hubId, hubDomain: '' } }
    if (!this.#isOpen) {
      this.#isOpen = true
      this.#transitions = 1
      return anAlert({ ...about, id: `a${hubId}x${++this.#opened}-1`, level: worse ? 'critical' : 'warning' })
    }
    const id = `a${hubId}x${this.#opened}-${++this.#transitions}`
    if (over) this.#isOpen = false
    if (over) return anAlert({ ...about, id, status: 'resolved', reason: 'recovered' })
    return anAlert({ ...about, id, reason: worse ? 'escalated' : 'repeat', level: worse ? 'critical' : 'warning' })
  }
}

/** What each receiver was sent of each alert, in order; a message that carries more than one transition of it says so. */
function hearing() {
  const heard = new Map<string, { status: Alert['status']; alone: boolean; number: number }[]>()
  const listen = (store: Store): Store =>
    new Proxy(store, {
      get: (real, name) => {
        const value = Reflect.get(real, name)
        if (name !== 'recordSends') return typeof value === 'function' ? value.bind(real) : value
        return async (...args: Parameters<Store['recordSends']>) => {
          const is = await real.recordSends(...args)
          if (is === 'recorded') note(args)
          return is
        }
      },
    })
  const note = (args: unknown[]) => {
    for (const arg of args) {
      if (typeof arg !== 'string' || !arg.startsWith('{"type":')) continue
      for (const { id, status, supersedes = [] } of (JSON.parse(arg) as Message).data.alerts) {
        const field = `${args[1]} ${id.replace(/-\d+$/, '')}`
        heard.set(field, [
          ...(heard.get(field) ?? []),
          { status, alone: supersedes.length === 0, number: Number(id.split('-').at(-1)) },
        ])
      }
    }
  }
  return { heard, listen }
}

/** What arrived at each receiver of each alert, in order. An attempt that failed may have arrived all the same. */
function arriving() {
  const arrived = new Map<string, number[]>()
  const arrive = ({ receiver, message }: Delivery) => {
    for (const { id } of message.data.alerts) {
      const field = `${receiver} ${id.replace(/-\d+$/, '')}`
      arrived.set(field, [...(arrived.get(field) ?? []), Number(id.split('-').at(-1))])
    }
  }
  return { arrived, arrive }
}

function expectInOrder({ arrived }: ReturnType<typeof arriving>): void {
  for (const [field, numbers] of arrived) {
    expect(numbers, `${field}: an older one arrived after a newer one`).toEqual(numbers.toSorted((a, b) => a - b))
  }
}

function expectNoGhosts({ heard }: ReturnType<typeof hearing>): void {
  for (const [field, sent] of heard) {
    const numbers = sent.map(({ number }) => number)
    expect(numbers, `${field}: an older one after a newer one`).toEqual(numbers.toSorted((a, b) => a - b))
    const end = sent.findIndex(({ status }) => status === 'resolved')
    if (end === -1) continue
    expect(sent.slice(end + 1), `${field}: something after its end`).toEqual([])
    if (end === 0) expect(sent[0], `${field}: an end without a beginning`).toMatchObject({ alone: false })
  }
}

test.each([
  ['rule', INTERVAL + WAIT],
  // So little apart that accounts meet in a mass, and so much that it ends.
  ['account', WAIT],
] as const)(
  'grouped by %s, whatever happens, and whoever dies at it, every receiver comes to know what it should',
  async (by, stepMs) => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 10, maxLength: 40 }), async (events) => {
        const routes = [
          { match: { account: ['2'] }, to: ['mail', 'hook'] },
          { match: { level: ['warning' as const] }, to: ['mail'] },
        ]
        const one = aRelay(redis.store, redis.freshKeys(), { routes, group: { by: [by] } })
        const accounts = new Map(ACCOUNTS.map((hubId) => [hubId, new Account()]))
        const listener = hearing()
        const receivers = arriving()
        const live = listener.listen(redis.store)
        const storeOf = (death: { at: string; done: 'before' | 'after' } | null) =>
          death === null ? live : dyingAt(live, death.at, death.done)
        const overtakenStore = ({ dies, overtaken }: { dies: Death; overtaken: Overtaken | null }) => {
          if (overtaken === null) return storeOf(dies)
          const other = { ...one.deps, store: storeOf(overtaken.dies) }
          let others = 1
          return overtakenAt(storeOf(dies), overtaken.at, async () => {
            if (others-- <= 0) return
            await sendAlerts(other, now).catch((error: Error) => expect(error.message).toBe('dead'))
          })
        }
        let now = NOW
        let committed = 0
        const commitOf = (hubId: number, over: boolean, worse: boolean) => {
          const alert = accounts.get(hubId)?.next(hubId, over, worse)
          committed++
          return alert === undefined ? undefined : one.commit({ alert })
        }
        const attempt = async (receiver: string, store: Store, record: Pick<AttemptRecord, 'outcome' | 'nextAt'>) => {
          // The claim of whoever died before is over.
          await redis.store.zadd(one.keys.delivery.receiversDue, 'XX', 0, receiver)
          const [claimed] = await claimReceivers({ ...one, due: new DueSets(redis.store, one.keys) }, [receiver])
          if (claimed === undefined) return
          const dying = new Deliveries(store, one.keys)
          const begun = await dying.begin(claimed, [])
          if (begun.is !== 'begun') return
          receivers.arrive(begun)
          await dying.record(begun, { ...record, reason: 'so', ms: 1 }, now)
        }
        const perform = async (what: (typeof events)[number]) => {
          switch (what.is) {
            case 'commit':
              return commitOf(what.account, what.over, what.worse)
            case 'wave':
              return Promise.all(ACCOUNTS.map((hubId) => commitOf(hubId, what.over, what.worse)))
            case 'look':
              return sendAlerts({ ...one.deps, store: overtakenStore(what) }, now)
            case 'silence':
              return one.silences.push({
                id: 's',
                author: '',
                comment: '',
                createdAt: now,
                endsAt: now + 5 * INTERVAL,
                matchers: [{ name: 'account', value: String(what.account) }],
              })
            case 'unsilence':
              one.silences.splice(0)
              return one.recheckWaiting()
            case 'attempt': {
              const nextAt = what.outcome === 'retry' ? now : null
              return attempt(what.receiver, storeOf(what.dies), { outcome: what.outcome, nextAt })
            }
            case 'replay':
              return one.deliveries.replay({ since: 0, receiver: what.receiver ?? undefined }, now)
            case 'forget':
              return one.deliveries.forgetDead(now + 30 * DAY)
          }
        }
        for (const what of events) {
          now += stepMs
          await perform(what).catch((error: Error) => expect(error.message).toBe('dead'))
          const proof = await one.verify()
          expect(proof).toMatchObject({ balanced: true, unresolved: [], missing: [] })
          expectNoGhosts(listener)
          expectInOrder(receivers)
        }
        one.silences.splice(0)
        await one.recheckWaiting()
        // Whoever waits for a group is sent it, and what all know is settled.
        for (let looks = 0; looks < 5; looks++) {
          now += INTERVAL + WAIT
          await one.look(now)
        }
        while ((await one.pending()).length > 0) {
          now += CLAIM_MS
          for (const name of ['mail', 'hook']) await attempt(name, live, { outcome: 'delivered', nextAt: null })
        }
        expectInOrder(receivers)
        const end = await readOutboxBalance(one, now)
        expect(end).toMatchObject({ pending: 0, oldestPendingAt: null, lateSince: null })
        const fates = (await readAlertLog(one, { since: 0 })).map(({ fate }) => fate.is)
        expect(fates).toHaveLength(committed)
        expect(fates.filter((is) => is === 'pending' || is === 'unknown')).toEqual([])
      }),
      { numRuns: 8 },
    )
  },
)
