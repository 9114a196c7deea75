import { randomBytes } from 'node:crypto'
import type { Store } from '../../redis/connect.ts'
import { type Keys, PARTITIONS } from '../../redis/keys.ts'
import type { Logger } from '../../runtime/logger.ts'
import { composeMessages, type GroupSettings, groupKey, isDigest } from '../groups/group.ts'
import { type Route, receiversOf } from '../routing/route.ts'
import { decodeEntry, type OutboxEntry } from './outbox-entry.ts'

export interface RelayDeps {
  store: Store
  keys: Keys
  routes: readonly Route[]
  /** Names of all receivers. */
  receivers: readonly string[]
  group: GroupSettings
  log: Logger
}

/** Alerts taken from one partition at a time. */
const BATCH = 500
/** How long it is remembered that an alert joined its group: longer than any relay can take. */
const REMEMBER_MS = 3_600_000

/**
 * From the outbox into groups. An alert leaves the outbox only when it waits in the group of every receiver; dying in
 * between does it again, and a group takes each alert once.
 */
export async function collectOutbox(deps: RelayDeps, now: number): Promise<number> {
  let collected = 0
  await Promise.all(
    Array.from({ length: PARTITIONS }, async (_, number) => {
      const { outbox } = deps.keys.partition(number)
      for (;;) {
        const entries = await deps.store.xrange(outbox, '-', '+', 'COUNT', BATCH)
        if (entries.length === 0) return
        await Promise.all(entries.map(([, fields]) => collect(deps, decodeEntry(fields[1] ?? ''), now)))
        await deps.store.xdel(outbox, ...entries.map(([id]) => id))
        collected += entries.length
        if (entries.length < BATCH) return
      }
    }),
  )
  return collected
}

async function collect(deps: RelayDeps, entry: OutboxEntry, now: number): Promise<void> {
  const { alert } = entry
  const receivers = whoGets(deps, entry)
  deps.log.info(
    { code: `alert.${alert.status}`, alert: alert.id, hubId: alert.account?.hubId, rule: alert.rule, to: receivers },
    `${alert.level} ${alert.reason}`,
  )
  const { delivery } = deps.keys
  await Promise.all(
    receivers.map((receiver) => {
      const key = groupKey(receiver, entry, deps.group.by)
      return deps.store.collectAlert(
        ...[delivery.collected, delivery.group(key), delivery.groupState(key), delivery.groupsDue],
        ...[`${receiver}|${alert.id}`, key, JSON.stringify(alert), now, deps.group.waitMs, deps.group.intervalMs],
        paceOf(key, entry),
        REMEMBER_MS,
      )
    }),
  )
}

/** By the routes; what is about a receiver goes to others, any others if need be. */
function whoGets(deps: RelayDeps, { alert, notTo }: OutboxEntry): readonly string[] {
  const routed = receiversOf(deps.routes, alert)
  if (notTo === undefined) return routed
  const others = routed.filter((receiver) => receiver !== notTo)
  return others.length > 0 ? others : deps.receivers.filter((receiver) => receiver !== notTo)
}

/** What just got worse is not held back by a message that the same group sent a minute ago. */
function paceOf(key: string, { alert }: OutboxEntry): 'digest' | 'urgent' | 'normal' {
  if (isDigest(key)) return 'digest'
  const worse = alert.reason === 'escalated' || (alert.reason === 'entered' && alert.level === 'critical')
  return worse ? 'urgent' : 'normal'
}

/** Closes the groups whose time has come: each becomes deliveries. Returns when the next one is due. */
export async function closeGroups(deps: RelayDeps, now: number): Promise<number | undefined> {
  const { delivery } = deps.keys
  const due = await deps.store.zrangebyscore(delivery.groupsDue, '-inf', now)
  for (const key of due) await closeGroup(deps, key, now)
  const [, earliest] = await deps.store.zrange(delivery.groupsDue, 0, '0', 'WITHSCORES')
  return earliest === undefined ? undefined : Number(earliest)
}

async function closeGroup(deps: RelayDeps, key: string, now: number): Promise<void> {
  const { delivery } = deps.keys
  if (isDigest(key) && (await isStillConnecting(deps, key, now))) return
  const [closed, waiting] = await Promise.all([
    deps.store.hget(delivery.groupState(key), 'closed'),
    deps.store.lrange(delivery.group(key), 0, -1),
  ])
  const receiver = key.slice(0, key.indexOf('|'))
  const messages = composeMessages(
    key,
    waiting.map((alert) => JSON.parse(alert)),
    deps.group.max,
    now,
  )
  const deliveries = messages.map((message) => ({ id: `msg_${randomBytes(12).toString('hex')}`, message }))
  await deps.store.closeGroup(
    4 + deliveries.length,
    ...[delivery.group(key), delivery.groupState(key), delivery.groupsDue, delivery.deliveriesDue],
    ...deliveries.map(({ id }) => delivery.delivery(id)),
    ...[key, closed ?? '0', waiting.length, now, now + deps.group.waitMs, deps.group.intervalMs],
    ...deliveries.flatMap(({ id, message }) => [id, receiver, JSON.stringify(message)]),
  )
}

/** The digest of a fleet that is being connected waits until no account has come for a while, but not for ever. */
async function isStillConnecting(deps: RelayDeps, key: string, now: number): Promise<boolean> {
  const { delivery } = deps.keys
  const [connectedAt, openedAt] = await Promise.all([
    deps.store.get(delivery.connectedAt),
    deps.store.hget(delivery.groupState(key), 'openedAt'),
  ])
  const settlesAt = Math.min(Number(connectedAt) + deps.group.waitMs, Number(openedAt) + deps.group.intervalMs)
  if (settlesAt <= now) return false
  await deps.store.zadd(delivery.groupsDue, 'XX', settlesAt, key)
  return true
}
