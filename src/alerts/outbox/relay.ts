import type { Store } from '../../redis/connect.ts'
import { type Keys, PARTITIONS } from '../../redis/keys.ts'
import { accountStepKeys } from '../../redis/steps.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Alert } from '../alert.ts'
import { readCircumstances } from '../groups/circumstances.ts'
import { type GroupSettings, groupKey, isDigest, receiverOf } from '../groups/group.ts'
import { readHeard } from '../groups/heard.ts'
import { holdOf } from '../groups/hold.ts'
import { paceOf } from '../groups/pace.ts'
import { readToldLately } from '../groups/told-lately.ts'
import { waitingAlert } from '../groups/waiting.ts'
import { readMarks } from '../ledger/ledger.ts'
import { refOf } from '../ledger/transition-ref.ts'
import { type Route, receiversOf } from '../routing/route.ts'
import type { SilenceStore } from '../silences/silence-store.ts'
import { type Committed, NOT_IN_STREAM, readCommitted, readLost } from './committed.ts'
import type { OutboxEntry } from './outbox-entry.ts'

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

/** Transitions taken from one partition at a time. */
const BATCH = 500

/**
 * From the outbox into groups, each partition in order. A transition leaves the outbox only when it waits in the group of
 * every receiver; dying in between does it again, and each number is collected once. What left it and is lost all the same
 * is taken from the partition's log.
 */
export async function collectOutbox(deps: RelayDeps, now: number): Promise<number> {
  // Before the outbox: what is collected meanwhile seems lost, and is passed over.
  const marks = await readMarks(deps.store, deps.keys)
  const counts = await Promise.all(
    Array.from({ length: PARTITIONS }, (_, number) => collectPartition(deps, number, marks.get(number) ?? 0, now)),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

async function collectPartition(
  deps: RelayDeps,
  partition: number,
  collectedLast: number,
  now: number,
): Promise<number> {
  const { outbox } = deps.keys.partition(partition)
  let [collected, before] = [0, collectedLast]
  for (;;) {
    const { last, waiting } = await readCommitted(deps, partition, BATCH)
    const isAll = waiting.length < BATCH
    const upTo = isAll ? last : Number(waiting.at(-1)?.number)
    const lost = await readLost(deps, partition, { mark: before, last: upTo, waiting }, now)
    if (waiting.length + lost.length === 0) return collected
    const batch = lost.length === 0 ? waiting : [...waiting, ...lost].toSorted(byNumber)
    const [joined, left, mark, ...gaps] = await collectBatch(deps, partition, before, batch, now)
    const hasForgotten = mark < before
    collected += joined
    before = mark
    if (hasForgotten) continue
    // Another daemon may have collected some meanwhile: they were passed over.
    const joining = joined === 0 ? [] : batch.filter(({ number }) => Number(number) <= mark).slice(-joined)
    const recovered = joining.filter(({ id }) => id === NOT_IN_STREAM)
    if (recovered.length > 0) noteRecovered(deps, partition, recovered)
    noteGaps(deps, partition, gaps)
    const end = left === '' ? batch.length : batch.findIndex(({ id }) => id === left)
    const done = batch.slice(0, end).flatMap(({ id }) => (id === NOT_IN_STREAM ? [] : [id]))
    if (done.length > 0) await deps.store.xdel(outbox, ...done)
    if (left !== '') await renumber(deps, partition, batch.slice(end), mark)
    else if (isAll) return collected
  }
}

function byNumber(one: Committed, other: Committed): number {
  return Number(one.number) - Number(other.number)
}

async function collectBatch(
  deps: RelayDeps,
  partition: number,
  before: number,
  batch: readonly Committed[],
  now: number,
) {
  const { ledger } = deps.keys.delivery
  const [heardOf, circumstances] = await Promise.all([readWhoHeard(deps, batch), readCircumstances(deps, now)])
  const routed = batch.map((committed) => ({ ...committed, ...whoGets(deps, committed.entry, heardOf) }))
  const groups = routed.map(({ entry, to }) => to.map((receiver) => groupKey(receiver, entry, deps.group.by)))
  const lately = await readToldLately(
    deps,
    routed.flatMap(({ entry: { alert } }, n) => (groups[n] ?? []).map((key) => ({ key, alert }))),
    now,
  )
  const answer = await deps.store.collectAlerts(
    ...[ledger, partition, now, deps.group.waitMs, deps.group.intervalMs, before],
    ...routed.flatMap(({ id, number, entry: { alert }, why }, n) => {
      const own = groups[n] ?? []
      const joins = own.flatMap((key) => {
        // What is over by the time its group closes was held back, though nothing may hold it back any more.
        const held = holdOf(alert, receiverOf(key), circumstances, now)
        const element = waitingAlert(refOf(partition, Number(number)), alert, held)
        return [key, paceOf(alert, isDigest(key), lately(key, alert)), JSON.stringify(element)]
      })
      return [id, identityOf(alert), number, happenedAt(alert, now), why, own.length, ...joins]
    }),
  )
  const [joined, , mark] = answer
  if (joined === 0) return answer
  for (const { number, entry, to } of routed) if (Number(number) <= mark) note(deps, entry.alert, to)
  return answer
}

/**
 * What a copy of a transition shares with it. Not its id alone: one that a node lost with its number may be followed by another
 * one that counts as the same in its alert.
 */
function identityOf({ id, status, level }: Alert): string {
  return `${id} ${status} ${level}`
}

/** The receivers that were sent an alert as firing, of those that are over now: the routes may be others since. */
async function readWhoHeard(deps: RelayDeps, batch: readonly Committed[]): Promise<(alert: Alert) => string[]> {
  const over = batch.map(({ entry }) => entry.alert).filter(({ status }) => status === 'resolved')
  if (over.length === 0) return () => []
  const heard = await Promise.all(
    deps.receivers.map(async (receiver) => ({ receiver, of: await readHeard(deps, receiver, over) })),
  )
  return (alert) => heard.flatMap(({ receiver, of }) => (of(alert).is === 'told' ? [receiver] : []))
}

/**
 * By the routes, and an end also to who was sent the beginning; what is about a receiver goes to others, any others if need
 * be. Else why nobody gets it.
 */
function whoGets(
  deps: RelayDeps,
  entry: OutboxEntry,
  heardOf: (alert: Alert) => string[],
): { to: readonly string[]; why: string } {
  const { alert, notTo } = entry
  const levels = entry.toBothLevels === true ? (['critical', 'warning'] as const) : [alert.level]
  const heard = alert.status === 'resolved' ? heardOf(alert) : []
  const routed = [...levels.flatMap((level) => receiversOf(deps.routes, { ...alert, level })), ...heard]
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

function noteRecovered({ log }: RelayDeps, partition: number, lost: readonly Committed[]): void {
  const numbers = lost.map(({ number }) => number).join(' ')
  log.warn(
    { code: 'outbox.recovered', partition, numbers },
    'transitions had left the outbox and were lost behind it: they are taken from the log of the partition',
  )
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
