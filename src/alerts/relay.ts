import { PARTITIONS } from '../redis/keys.ts'
import { readContacts } from '../redis/read-contacts.ts'
import { NOBODY } from '../redis/steps.ts'
import type { Alert } from './alert.ts'
import type { AlertsDeps } from './deps.ts'
import { groupingFor, receiverOf, waitingAlert } from './groups/group.ts'
import { holdOf, readCircumstances } from './groups/held.ts'
import { type Heard, readHeard, readPaces, wayOf } from './groups/sent-lately.ts'
import { refOf } from './ledger.ts'
import { type Committed, type OutboxEntry, readUncollected, type Uncollected } from './outbox.ts'
import { isOursAlone, receiversOf } from './route.ts'

/** Transitions taken from one partition at a time. */
const BATCH = 500

/**
 * From the outbox into groups, each partition in order. A transition leaves the outbox only when it waits in the group of
 * every receiver; dying in between does it again, and each is collected once. What left it and was lost all the same is
 * taken from the partition's log.
 */
export async function collectOutbox(deps: AlertsDeps, now: number): Promise<number> {
  let [collected, partitions] = [0, Array.from({ length: PARTITIONS }, (_, number) => number)]
  while (partitions.length > 0) {
    const found = await readUncollected(deps, partitions, BATCH, now)
    const done = await Promise.all(found.map((one) => collectPartition(deps, one, now)))
    collected += done.reduce((sum, { joined }) => sum + joined, 0)
    partitions = partitions.filter((_, n) => done[n]?.hasMore)
  }
  return collected
}

async function collectPartition(
  deps: AlertsDeps,
  { partition, before, lost, waiting, unreadable, isFull }: Uncollected,
  now: number,
): Promise<{ joined: number; hasMore: boolean }> {
  if (unreadable.length > 0) await dropUnreadable(deps, partition, unreadable)
  if (lost.length + waiting.length === 0) return { joined: 0, hasMore: isFull }
  const joined = await collectBatch(deps, { partition, before }, [...lost, ...waiting], now)
  if (joined === 'lost') return { joined: 0, hasMore: true }
  const recovered = lost.filter(({ name }) => joined.has(name))
  if (recovered.length > 0) noteRecovered(deps, partition, recovered)
  if (waiting.length > 0) await deps.store.xdel(deps.keys.partition(partition).outbox, ...waiting.map(({ id }) => id))
  return { joined: joined.size, hasMore: isFull }
}

/** They would take the places of those that wait behind them. */
async function dropUnreadable({ store, keys, log }: AlertsDeps, partition: number, ids: readonly string[]) {
  const { outbox } = keys.partition(partition)
  log.error({ code: 'outbox.unreadable', outbox, ids: ids.slice(0, 10), count: ids.length }, 'dropped: no alerts')
  await store.xdel(outbox, ...ids)
}

async function collectBatch(
  deps: AlertsDeps,
  { partition, before }: Pick<Uncollected, 'partition' | 'before'>,
  batch: readonly Committed[],
  now: number,
): Promise<ReadonlySet<string> | 'lost'> {
  const { ledger } = deps.keys.delivery
  const [heardBy, circumstances, contacts] = await Promise.all([
    readWhoHeard(deps, batch),
    readCircumstances(deps, now),
    readContactsOf(deps, batch),
  ])
  const routed = batch.map((committed) => ({ ...committed, ...whoGets(deps, committed.entry, heardBy, contacts) }))
  const ways = routed.map(({ entry, to }) =>
    to.map((receiver) => wayOf(receiver, entry, groupingFor(deps.group, receiver), heardBy(receiver, entry.alert))),
  )
  const paces = await readPaces(
    deps,
    routed.flatMap(({ entry: { alert } }, n) =>
      (ways[n] ?? []).flatMap(({ homes }) => homes.map((key) => ({ key, alert }))),
    ),
    now,
  )
  const answer = await deps.store.collectAlerts(
    ...[ledger, partition, now, deps.group.waitMs, deps.group.intervalMs, before],
    ...routed.flatMap(({ name, entry: { alert }, why }, n) => {
      const own = ways[n] ?? []
      const joins = own.flatMap(({ homes, counts }) => {
        // What is over by the time its group closes was held back, though nothing may hold it back any more.
        const held = holdOf(alert, receiverOf(homes[0]), circumstances, now)
        const element = waitingAlert(refOf(partition, name), alert, held)
        return [...homes.flatMap((key) => [key, paces(key, alert)]), counts, JSON.stringify(element)]
      })
      return [name, happenedAt(alert, now), why, own.length, ...joins]
    }),
  )
  if (answer === 'lost') return answer
  const joined = new Set(answer)
  for (const { name, entry, to } of routed) if (joined.has(name)) note(deps, entry.alert, to)
  return joined
}

type HeardBy = (receiver: string, alert: Alert) => Heard

/** What each receiver was sent of alerts that go on or are over. */
async function readWhoHeard(deps: AlertsDeps, batch: readonly Committed[]): Promise<HeardBy> {
  const later = batch.map(({ entry }) => entry.alert).filter(({ reason }) => reason !== 'entered')
  const heard = new Map<string, (alert: Alert) => Heard>()
  if (later.length > 0) {
    await Promise.all(
      deps.receivers.map(async (receiver) => heard.set(receiver, await readHeard(deps, receiver, later))),
    )
  }
  return (receiver, alert) => heard.get(receiver)?.(alert) ?? { is: 'nothing' }
}

/** Of the accounts in question, where any receiver sends to contacts. */
async function readContactsOf(deps: AlertsDeps, batch: readonly Committed[]): Promise<ReadonlyMap<number, string>> {
  if (deps.group.contacts === undefined || deps.group.contacts.length === 0) return new Map()
  return readContacts(deps, [...new Set(batch.flatMap(({ entry }) => entry.alert.account?.hubId ?? []))])
}

/**
 * By the routes, and an end also to who was sent the beginning; what is about a receiver goes to others, any others if need
 * be. Else why no receiver gets it.
 */
function whoGets(
  deps: AlertsDeps,
  entry: OutboxEntry,
  heardBy: HeardBy,
  contacts: ReadonlyMap<number, string>,
): { to: readonly string[]; why: string } {
  const { alert, notTo } = entry
  const levels = entry.toBothLevels === true ? (['critical', 'warning'] as const) : [alert.level]
  // The routes may be others since.
  const hasHeard = (receiver: string) => heardBy(receiver, alert).is === 'told'
  const heard = alert.status === 'resolved' ? deps.receivers.filter(hasHeard) : []
  // What new accounts' first readings show is the operators' digest, not a message to each customer.
  const hasContact = entry.firstReading !== true && !isOursAlone(alert) && contacts.has(alert.account?.hubId ?? NOBODY)
  const routed = [...levels.flatMap((level) => receiversOf(deps.routes, { ...alert, level }, hasContact)), ...heard]
  const others = notTo === undefined ? routed : routed.filter((receiver) => receiver !== notTo)
  if (others.length > 0) return { to: [...new Set(others)], why: '' }
  if (notTo === undefined) return { to: [], why: 'no route is for it' }
  return {
    to: deps.receivers.filter((receiver) => receiver !== notTo && !deps.group.contacts?.includes(receiver)),
    why: 'no other receiver than the one it is about',
  }
}

function happenedAt({ measuredAt }: Alert, now: number): number {
  const at = Date.parse(measuredAt)
  return Number.isNaN(at) ? now : at
}

function note({ log }: AlertsDeps, alert: Alert, to: readonly string[]): void {
  const { id, status, level, reason, rule, account } = alert
  log.info({ code: `alert.${status}`, alert: id, hubId: account?.hubId, rule, to }, `${level} ${reason}`)
}

function noteRecovered({ log }: AlertsDeps, partition: number, recovered: readonly Committed[]): void {
  const alerts = recovered.map(({ entry }) => entry.alert.id).join(' ')
  log.warn(
    { code: 'outbox.recovered', partition, alerts },
    'transitions had left the outbox and were lost behind it: they are taken from the log of the partition',
  )
}
