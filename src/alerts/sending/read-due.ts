import { randomInt } from 'node:crypto'
import { chunksOf } from '../../runtime/chunks-of.ts'
import type { AlertsDeps } from '../deps.ts'
import { readableEntry } from '../outbox.ts'
import type { AlertNews } from './decide-sending.ts'

type Sources = Pick<AlertsDeps, 'store' | 'keys'>

/** Read at a time. */
const MOST = 10_000
/** Fields of one command. */
const FIELDS = 1_000
/** All that one run checks. */
export interface Due {
  news: ReadonlyMap<string, AlertNews>
  /** Alerts with a transition for which nothing is decided yet. */
  unsent: readonly string[]
  /** Unsent ones that Plimsoll did not write, with the first word of what is stored. */
  unreadable: readonly { alert: string; place: string }[]
  /**
   * Alerts that each receiver waits for, with the moment of their check: held ones that are due, and all that wait in a
   * group, because what is new may go with them.
   */
  checks: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** How often what holds alerts back had changed. */
  holdChanges: string
}

/** Since when there is a transition for which nothing is decided yet, and the first check of these receivers, ms; null: there is none. */
export async function readFirstDue({ store, keys }: Sources, receivers: readonly string[]) {
  const { held, grouped } = keys.delivery
  const first = async (key: string) => {
    const [, at] = await store.zrange(key, 0, '0', 'WITHSCORES')
    return at === undefined ? [] : [Number(at)]
  }
  const [unsent, ...checks] = await Promise.all([
    first(keys.unsent),
    ...receivers.flatMap((name) => [first(held(name)), first(grouped(name))]),
  ])
  const moments = checks.flat()
  return { unsentSince: unsent[0] ?? null, checkAt: moments.length === 0 ? null : Math.min(...moments) }
}

export async function readDue(deps: Sources, receivers: readonly string[], now: number): Promise<Due> {
  const { store, keys } = deps
  // Before all that it is compared with.
  const holdChanges = (await store.get(keys.holdChanges)) ?? ''
  // A part by chance where there are more: what stays unsent, as while a receiver can't be written, keeps back nothing else.
  const parts = Math.max(1, Math.ceil((await store.zcard(keys.unsent)) / MOST))
  const from = randomInt(parts) * MOST
  const unsent = await store.zrange(keys.unsent, from, String(from + MOST - 1))
  const readOf = async (name: string) => [name, await readChecks(deps, name, unsent.length > 0, now)] as const
  const checks = new Map(await Promise.all(receivers.map(readOf)))
  const waiting = new Set([...checks.values()].flatMap((some) => [...some.keys()]))
  const alerts = [...new Set([...unsent, ...waiting])]
  const stored = await readFields(deps, keys.news, alerts)
  const read = alerts.flatMap((alert, n) => decodeNews(alert, stored[n] ?? '') ?? [])
  const news = new Map(read.map((one) => [one.alert, one]))
  const readable = unsent.filter((alert) => news.has(alert))
  const unreadable = unsent.flatMap((alert, n) =>
    news.has(alert) ? [] : { alert, place: stored[n]?.split(' ', 1)[0] ?? '' },
  )
  return { news, unsent: readable, unreadable, checks, holdChanges }
}

async function readChecks({ store, keys }: Sources, receiver: string, hasNews: boolean, now: number) {
  const { held, grouped } = keys.delivery
  const [dueHeld, firstGrouped] = await Promise.all([
    store.zrangebyscore(held(receiver), '-inf', now, 'WITHSCORES', 'LIMIT', 0, MOST),
    store.zrange(grouped(receiver), 0, '0', 'WITHSCORES'),
  ])
  const isDue = hasNews || dueHeld.length > 0 || Number(firstGrouped[1] ?? Number.POSITIVE_INFINITY) <= now
  const found = isDue ? [...dueHeld, ...(await store.zrange(grouped(receiver), 0, '-1', 'WITHSCORES'))] : []
  return new Map(chunksOf(found, 2).map(([alert = '', at]) => [alert, Number(at)]))
}

/** Fields of a hash, however many. */
export async function readFields({ store }: Sources, key: string, fields: readonly string[]) {
  const found: (string | null)[] = []
  for (const some of chunksOf(fields, FIELDS)) found.push(...(await store.hmget(key, ...some)))
  return found
}

/** News as `lua/include/append-transitions.lua` writes it. */
export function decodeNews(alert: string, stored: string): AlertNews | undefined {
  const [, place, decided, first, text = ''] = /^(\d+-\d+) (\d+) \S+ ([01]) (.*)$/s.exec(stored) ?? []
  const entry = readableEntry(text)
  if (place === undefined || entry === undefined) return undefined
  return { alert, place, decided: Number(decided), beganWithFirstReading: first === '1', entry }
}

/** All that waits is due now: what holds it back may be gone, as when a silence ends early or the config changed. */
export async function recheckWaiting({ store, keys }: Sources): Promise<void> {
  await store.recheckWaiting(keys.unsent)
}
