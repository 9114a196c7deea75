import type { Store } from '../../redis/connect.ts'
import { type Keys, PARTITIONS } from '../../redis/keys.ts'
import { accountStepKeys } from '../../redis/steps.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Alert } from '../alert.ts'
import { type GroupSettings, groupKey, isDigest } from '../groups/group.ts'
import { paceOf } from '../groups/pace.ts'
import { readToldLately } from '../groups/told-lately.ts'
import { waitingAlert } from '../groups/waiting.ts'
import { refOf } from '../ledger/transition-ref.ts'
import { type Route, receiversOf } from '../routing/route.ts'
import type { SilenceStore } from '../silences/silence-store.ts'
import { decodeEntry, type OutboxEntry } from './outbox-entry.ts'

export interface RelayDeps {
  store: Store
  keys: Keys
  routes: readonly Route[]
  /** Names of all receivers. */
  receivers: readonly string[]
  silences: Pick<SilenceStore, 'active'>
  group: GroupSettings
  log: Logger
}

/** A transition as it stands in the outbox. */
interface Committed {
  id: string
  /** '' where it has none: it is given one. */
  number: string
  entry: OutboxEntry
}

/** Transitions taken from one partition at a time. */
const BATCH = 500

/**
 * From the outbox into groups, each partition in order. A transition leaves the outbox only when it waits in the group of
 * every receiver; dying in between does it again, and each number is collected once.
 */
export async function collectOutbox(deps: RelayDeps, now: number): Promise<number> {
  const counts = await Promise.all(
    Array.from({ length: PARTITIONS }, (_, number) => collectPartition(deps, number, now)),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

async function collectPartition(deps: RelayDeps, partition: number, now: number): Promise<number> {
  const { outbox } = deps.keys.partition(partition)
  let collected = 0
  for (;;) {
    const found = await deps.store.xrange(outbox, '-', '+', 'COUNT', BATCH)
    if (found.length === 0) return collected
    const batch = found.map(decodeCommitted)
    const [joined, left, mark, ...gaps] = await collectBatch(deps, partition, batch, now)
    collected += joined
    noteGaps(deps, partition, gaps)
    const end = left === '' ? batch.length : batch.findIndex(({ id }) => id === left)
    const done = batch.slice(0, end).map(({ id }) => id)
    if (done.length > 0) await deps.store.xdel(outbox, ...done)
    if (left !== '') await renumber(deps, partition, batch.slice(end), mark)
    else if (found.length < BATCH) return collected
  }
}

function decodeCommitted([id, fields]: [id: string, fields: string[]]): Committed {
  return { id, entry: decodeEntry(fields[1] ?? ''), number: fields[3] ?? '' }
}

async function collectBatch(deps: RelayDeps, partition: number, batch: readonly Committed[], now: number) {
  const { ledger } = deps.keys.delivery
  const routed = batch.map((committed) => ({ ...committed, ...whoGets(deps, committed.entry) }))
  const groups = routed.map(({ entry, to }) => to.map((receiver) => groupKey(receiver, entry, deps.group.by)))
  const lately = await readToldLately(
    deps,
    routed.flatMap(({ entry: { alert } }, n) => (groups[n] ?? []).map((key) => ({ key, alert }))),
    now,
  )
  const answer = await deps.store.collectAlerts(
    ...[ledger, partition, now, deps.group.waitMs, deps.group.intervalMs],
    ...routed.flatMap(({ id, number, entry: { alert }, why }, n) => {
      const own = groups[n] ?? []
      const element = JSON.stringify(waitingAlert(refOf(partition, Number(number)), alert))
      const joins = own.flatMap((key) => [key, paceOf(alert, isDigest(key), lately(key, alert))])
      return [id, number, happenedAt(alert, now), element, why, own.length, ...joins]
    }),
  )
  const [, , mark] = answer
  for (const { number, entry, to } of routed) if (Number(number) <= mark) note(deps, entry.alert, to)
  return answer
}

/** By the routes; what is about a receiver goes to others, any others if need be. Else why nobody gets it. */
function whoGets(deps: RelayDeps, entry: OutboxEntry): { to: readonly string[]; why: string } {
  const { alert, notTo } = entry
  const levels = entry.toBothLevels === true ? (['critical', 'warning'] as const) : [alert.level]
  const routed = levels.flatMap((level) => receiversOf(deps.routes, { ...alert, level }))
  const others = notTo === undefined ? routed : routed.filter((receiver) => receiver !== notTo)
  if (others.length > 0) return { to: [...new Set(others)], why: '' }
  if (notTo === undefined) return { to: [], why: 'no route is for it' }
  return {
    to: deps.receivers.filter((receiver) => receiver !== notTo),
    why: 'no other receiver than the one it is about',
  }
}

function happenedAt({ measuredAt }: Alert, now: number): number {
  const at = Date.parse(measuredAt)
  return Number.isNaN(at) ? now : at
}

function note({ log }: RelayDeps, alert: Alert, to: readonly string[]): void {
  const { id, status, level, reason, rule, account } = alert
  log.info({ code: `alert.${status}`, alert: id, hubId: account?.hubId, rule, to }, `${level} ${reason}`)
}

function noteGaps({ log }: RelayDeps, partition: number, gaps: readonly string[]): void {
  for (const numbers of gaps) {
    log.error(
      { code: 'outbox.gap', partition, numbers },
      'transitions were committed and are gone from the outbox: plimsoll outbox verify names them',
    )
  }
}

/** Those whose numbers were given out before, or that never had one, come after all that were collected. */
async function renumber(
  { store, keys, log }: RelayDeps,
  partition: number,
  left: readonly Committed[],
  mark: number,
): Promise<void> {
  const ids = left.filter(({ number }) => Number(number) <= mark).map(({ id }) => id)
  log.warn({ code: 'outbox.renumbered', partition, count: ids.length }, 'numbers of transitions were given out twice')
  await store.renumberEntries(...accountStepKeys(keys, partition), mark, ...ids)
}
