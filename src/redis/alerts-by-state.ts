import { createHash } from 'node:crypto'
import type { Store } from './connect.ts'
import { hubIdsIn, type Keys, PARTITIONS } from './keys.ts'
import { unlessOfOtherType } from './other-type.ts'
import { readScores } from './read-scores.ts'

/**
 * Data in which alerts moved from the outbox to groups, to those held back and to those sent, becomes data of what is new and
 * what each receiver knows. All is written before anything is deleted, and nothing over what is there.
 */
export async function keepAlertsByState(store: Store, keys: Keys): Promise<void> {
  // The server's clock: daemons may differ.
  const now = Number((await store.time())[0]) * 1_000
  const waiting = await readWaiting(store, keys)
  const numbers = await readOpenNumbers(store, keys)
  await keepKnown(store, keys, waiting, numbers, now)
  await keepNews(store, keys, waiting, now)
  await keepUnderWay(store, keys)
  await deleteOld(store, keys)
}

/** A transition that is not sent yet, as it waited; without a receiver it was in the outbox. */
interface Waiting {
  receiver: string
  group: string
  /** The alert's own id, and the number of this transition. */
  alert: string
  number: number
  /** Number of the first of all that wait with it. */
  first: number
  partition: number
  place: string
  /** JSON. */
  entry: string
  held?: unknown
  isHeld: boolean
}

type Element = { alert: { id: string }; of: [ref: string, id: string][]; group?: string; held?: unknown }

const DIGEST = 'digest'

function oldKeys({ prefix }: Keys) {
  const out = `${prefix}:{delivery}`
  const names = [
    'held',
    'held-due',
    'told',
    'last-sent',
    'over',
    'ledger',
    'pending',
    'counts',
    'ends',
    'groups',
  ] as const
  return {
    ...(Object.fromEntries(names.map((name) => [name, `${out}:${name}`])) as Record<(typeof names)[number], string>),
    group: (key: string) => `${out}:group:${key}`,
    groupState: (key: string) => `${out}:group-state:${key}`,
    collected: (partition: number) => `${out}:collected:${partition}`,
    outbox: (partition: number) => `${prefix}:{${partition}}:outbox`,
  }
}

async function readWaiting(store: Store, keys: Keys): Promise<Waiting[]> {
  const old = oldKeys(keys)
  const found: Waiting[] = []
  const add = async (receiver: string, group: string, stored: string, isHeld: boolean) => {
    const element = parsed<Element>(stored)
    const [ref, id] = element?.of.at(-1) ?? []
    if (element === undefined || ref === undefined || id === undefined) return
    const [partition, place] = [Number(ref.slice(0, ref.indexOf('-'))), ref.slice(ref.indexOf('-') + 1)]
    const [[, logged] = []] = await store.xrange(keys.partition(partition).log, place, place)
    const asFirst = group === DIGEST ? { firstReading: true } : {}
    const entry = logged?.[1] ?? JSON.stringify({ alert: element.alert, ...asFirst })
    const first = Math.min(...element.of.map(([, one]) => numberIn(one)))
    const { held } = element
    found.push({
      receiver,
      group,
      alert: alertIn(id),
      number: numberIn(id),
      first,
      partition,
      place,
      entry,
      held,
      isHeld,
    })
  }
  for (const key of await store.zrange(old.groups, 0, '-1')) {
    const [receiver, group] = cut(key)
    for (const stored of Object.values(await store.hgetall(old.group(key)))) await add(receiver, group, stored, false)
  }
  for (const [field, stored] of Object.entries(await store.hgetall(old.held))) {
    await add(cut(field)[0], cut(parsed<Element>(stored)?.group ?? '')[1], stored, true)
  }
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const collected = new Set(await store.lrange(old.collected(partition), 0, -1))
    for (const [id, [, entry = '', , place = id]] of await store.xrange(old.outbox(partition), '-', '+')) {
      const { alert } = parsed<{ alert: { id: string } }>(entry) ?? {}
      if (typeof alert?.id !== 'string' || collected.has(place)) continue
      const number = numberIn(alert.id)
      const own = { alert: alertIn(alert.id), number, first: number }
      found.push({ receiver: '', group: '', ...own, partition, place, entry, isHeld: false })
    }
  }
  return found
}

/** How many transitions each open alert has had, by its id. */
async function readOpenNumbers(store: Store, keys: Keys): Promise<Map<string, number>> {
  const numbers = new Map<string, number>()
  for (let partition = 0; partition < PARTITIONS; partition++) {
    for (const hubId of hubIdsIn(await store.smembers(keys.partition(partition).alerting))) {
      const states = await unlessOfOtherType(store.hgetall(keys.account(hubId).alerts), {})
      for (const [field, stored] of Object.entries(states)) {
        const state = parsed<unknown>(stored)
        const [, , since, transitions] = Array.isArray(state) ? state : []
        const id = createHash('sha256').update(`${hubId}|${field}|${since}`).digest('hex').slice(0, 16)
        if (typeof transitions === 'number') numbers.set(id, transitions)
      }
    }
  }
  return numbers
}

/** Nothing has a higher number. */
const LAST = 1_000_000_000

async function keepKnown(
  store: Store,
  keys: Keys,
  waiting: readonly Waiting[],
  numbers: ReadonlyMap<string, number>,
  now: number,
): Promise<void> {
  const old = oldKeys(keys)
  const { known, over } = keys.delivery
  const lastSends = new Map<string, { at: number; isOver: boolean }>()
  for (const [key, isOver] of [
    [old.told, false],
    [old.over, true],
  ] as const) {
    for (const [name, at] of await readScores(store, key)) lastSends.set(name, { at, isOver })
  }
  const waits = new Map<string, Waiting>()
  for (const one of waiting) {
    const field = `${one.receiver}|${one.alert}`
    const before = waits.get(field)
    if (one.receiver !== '') waits.set(field, { ...one, held: one.held ?? before?.held })
  }
  for (const field of new Set([...lastSends.keys(), ...waits.keys()])) {
    const [receiver, alert] = cut(field)
    const last = await store.hget(old['last-sent'], field)
    const [, delivery, group] = /^\S+ (\S+) ?(.*)$/.exec(last ?? '') ?? []
    const unsent = waiting.filter((one) => one.alert === alert && (one.receiver === receiver || one.receiver === ''))
    const number = unsent.length > 0 ? Math.min(...unsent.map(({ first }) => first)) - 1 : (numbers.get(alert) ?? 0)
    const was = lastSends.get(field)
    const sent = delivery === undefined ? {} : { delivery, group: cut(group ?? '')[1] }
    const one = waits.get(field)
    const { held } = one ?? {}
    const kept = {
      ...(was && {
        told: { place: '', number: was.isOver ? LAST : number, at: was.at, ...(was.isOver ? { isOver: true } : sent) },
      }),
      ...(one && { waits: { is: one.isHeld ? 'held' : 'group', since: now, ...(held === undefined ? {} : { held }) } }),
    }
    await store.hsetnx(known(receiver), alert, JSON.stringify(kept))
    if (was?.isOver === true) await store.zadd(over(receiver), 'NX', was.at, alert)
    await store.zadd(keys.delivery.receivers, 'NX', now, receiver)
  }
}

/** Stores the newest transition of each alert as news that is due at once. */
async function keepNews(store: Store, keys: Keys, waiting: readonly Waiting[], now: number): Promise<void> {
  for (const [alert, some] of Map.groupBy(waiting, (one) => one.alert)) {
    const newest = some.reduce((one, other) => (other.number > one.number ? other : one))
    const settled = Math.min(...some.map(({ first }) => first)) - 1
    const isFirst = some.some(({ group, entry }) => group === DIGEST || entry.includes('"firstReading":true'))
    const { news, newsDue } = keys.partition(newest.partition)
    await store.hsetnx(news, alert, `${newest.place} ${settled} - ${isFirst ? 1 : 0} ${newest.entry}`)
    await store.zadd(newsDue, 'NX', -now, alert)
  }
}

/** Stores the deliveries that carry alerts. */
async function keepUnderWay(store: Store, keys: Keys): Promise<void> {
  const { deliveriesDue, delivery, underWay } = keys.delivery
  for (const id of await store.zrange(deliveriesDue, 0, '-1')) {
    const [transitions, createdAt] = await store.hmget(delivery(id), 'transitions', 'createdAt')
    if (transitions != null && transitions !== '') await store.zadd(underWay, 'NX', createdAt ?? 0, id)
  }
}

/** By which the rest is found goes last. */
async function deleteOld(store: Store, keys: Keys): Promise<void> {
  const { groups, group, groupState, collected, outbox, ...others } = oldKeys(keys)
  for (const key of await store.zrange(groups, 0, '-1')) await store.del(group(key), groupState(key))
  for (const key of Object.values(others)) await store.del(key)
  for (let partition = 0; partition < PARTITIONS; partition++) {
    await store.del(outbox(partition))
    await store.del(collected(partition))
  }
  await store.del(groups)
}

function cut(field: string): [before: string, after: string] {
  const at = field.indexOf('|')
  return [field.slice(0, at), field.slice(at + 1)]
}

function alertIn(id: string): string {
  return id.replace(/-\d+$/, '')
}

function numberIn(id: string): number {
  return Number(/-(\d+)$/.exec(id)?.[1] ?? 1)
}

function parsed<T>(stored: string): T | undefined {
  try {
    return JSON.parse(stored) as T
  } catch {
    return undefined
  }
}
