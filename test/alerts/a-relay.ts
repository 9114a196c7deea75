import { expect } from 'vitest'
import { type Alert, alertOf, type Message } from '../../src/alerts/alert.ts'
import type { AlertsDeps } from '../../src/alerts/deps.ts'
import { encodeEntry, type OutboxEntry } from '../../src/alerts/outbox.ts'
import { recheckWaiting } from '../../src/alerts/sending/read-due.ts'
import { sendAlerts } from '../../src/alerts/sending/send-alerts.ts'
import { decodeSendState } from '../../src/alerts/sending/send-state.ts'
import type { Silence } from '../../src/alerts/silence.ts'
import type { AttemptRecord } from '../../src/delivery/after-attempt.ts'
import { Deliveries, type Delivery } from '../../src/delivery/deliveries.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ACCOUNT, stepJson } from '../../src/redis/steps.ts'
import { proveOutbox } from '../../src/views/verify-outbox.ts'
import { logLines } from '../support/log-lines.ts'
import { pendingIds } from '../support/take-due.ts'

export const NOW = Date.parse('2026-11-21T10:00:00.000Z')
export const WAIT = 30_000
export const INTERVAL = 300_000
export const DAY = 86_400_000

type Settings = Partial<Omit<AlertsDeps, 'group'>> & { group?: Partial<AlertsDeps['group']> }

/** The way of an alert from its commit to its end, step by step. */
export function aRelay(store: Store, keys: Keys, more: Settings = {}) {
  const silences: Silence[] = []
  const lines = logLines()
  const deps: AlertsDeps = {
    store,
    keys,
    log: lines.log,
    routes: [{ to: ['mail'] }],
    receivers: ['mail', 'hook'],
    silences: { active: async (now) => silences.filter(({ endsAt }) => now < endsAt) },
    ...more,
    group: { by: ['rule'], waitMs: WAIT, intervalMs: INTERVAL, max: 200, ...more.group },
  }
  const deliveries = new Deliveries(store, keys)
  const open = new Set<string>()
  const verify = (through = store) =>
    proveOutbox({ store: through, keys, now: () => NOW, pause: async () => {}, readOpen: async () => open })
  const pending = async () => {
    const ids = await pendingIds(store, keys)
    const hashes = await Promise.all(ids.map((id) => store.hgetall(keys.delivery.delivery(id))))
    return hashes.flatMap(({ message, receiver = '', createdAt, attempts, state }, n): Delivery[] => {
      if (message === undefined || state !== undefined) return []
      const numbers = { createdAt: Number(createdAt), attempts: Number(attempts), waitedMs: 0 }
      return [{ id: ids[n] ?? '', receiver, message: JSON.parse(message), ...numbers }]
    })
  }
  const commitAll = (...entries: OutboxEntry[]) => {
    for (const { alert } of entries) open[alert.status === 'firing' ? 'add' : 'delete'](alertOf(alert))
    return commit(store, keys, ...entries)
  }
  /** When the first group is sent that somebody waits for. */
  const closesAt = async () => {
    const names = [...new Set([...deps.receivers, ...deps.routes.flatMap(({ to }) => to)])]
    const known = await Promise.all(names.map((name) => store.hvals(keys.delivery.known(name))))
    const moments = known.flat().flatMap((stored) => decodeSendState(stored).waits?.until ?? [])
    return moments.length === 0 ? undefined : Math.min(...moments)
  }
  /** Says when the next look is due. */
  const look = async (now: number, through = deps) => (await sendAlerts(through, now)).next
  return {
    store,
    keys,
    deps,
    deliveries,
    silences,
    verify,
    pending,
    lines,
    closesAt,
    commit: commitAll,
    /** From the commit to the end of the wait of its group. */
    pass: async (now: number, ...entries: OutboxEntry[]) => {
      await commitAll(...entries)
      await look(now)
      return look(now + WAIT)
    },
    /** As if its account's state said so. */
    open: (alert: Alert) => open.add(alertOf(alert)),
    resolve: (alert: Alert) => open.delete(alertOf(alert)),
    look,
    recheckWaiting: () => recheckWaiting(deps),
    silence: (endsAt: number, createdAt = NOW - 1) => {
      const silence = { id: `s${silences.length + 1}`, matchers: [], author: 'me', comment: '', createdAt, endsAt }
      silences.push(silence)
      return silence
    },
    /** Every delivery that waits comes to the same end. */
    record: async (outcome: AttemptRecord['outcome'], now: number, receiver?: string) => {
      for (const delivery of await pending()) {
        if (receiver !== undefined && delivery.receiver !== receiver) continue
        await deliveries.record(
          delivery,
          { outcome, nextAt: outcome === 'retry' ? now + 5_000 : null, reason: 'so', ms: 1 },
          now,
        )
      }
    },
    /** Ids of what every delivery that waits tells. */
    told: async () => (await pending()).flatMap(({ message }) => idsOf(message)),
    /** All adds up, and this is how. */
    expectBalance: async (expected: object) => {
      expect(await verify()).toMatchObject({ balanced: true, missing: [], unresolved: [], ...expected })
    },
  }
}

export function idsOf(message: Message | undefined): string[] {
  return message?.data.alerts.map(({ id }) => id) ?? []
}

/** `again`: nobody dies, but the answer is lost, and the command sent once more. */
export type Dying = 'before' | 'after' | 'again'

/** A store whose user dies at one of its commands. */
export function dyingAt(store: Store, command: string, done: Dying): Store {
  return new Proxy(store, {
    get: (real, name) => {
      const value = Reflect.get(real, name)
      if (name === command) {
        return async (...args: unknown[]) => {
          if (done !== 'before') await value.apply(real, args)
          if (done === 'again') return value.apply(real, args)
          throw new Error('dead')
        }
      }
      return typeof value === 'function' ? value.bind(real) : value
    },
  })
}

/** A store whose user is overtaken by somebody else just before one of its commands, on that key where one is given. */
export function overtakenAt(store: Store, command: string, byWhat: () => Promise<unknown>, key?: string): Store {
  return new Proxy(store, {
    get: (real, name) => {
      const value = Reflect.get(real, name)
      if (name !== command) return typeof value === 'function' ? value.bind(real) : value
      return async (...args: unknown[]) => {
        if (key === undefined || args[0] === key) await byWhat()
        return value.apply(real, args)
      }
    },
  })
}

/** Commits transitions as a poll would, in one step on the account of the first. */
export async function commit(store: Store, keys: Keys, ...entries: OutboxEntry[]): Promise<void> {
  const hubId = entries[0]?.alert.account?.hubId ?? NO_ACCOUNT
  const writes = { changes: [], entries: entries.map(encodeEntry) }
  const is = await store.changeAlerts(keys.own(hubId), hubId, stepJson(writes))
  if (is !== 'changed') throw new Error(is)
}
