import { randomBytes } from 'node:crypto'
import { readNewFleet } from '../../limits/coverage.ts'
import { chunksOf } from '../../runtime/chunks-of.ts'
import { Failures } from '../../runtime/concurrency.ts'
import { type Alert, alertOf } from '../alert.ts'
import type { AlertsDeps } from '../deps.ts'
import { joinCarried, joinRefs, partitionOfRef } from '../ledger.ts'
import { type ComposedGroup, composeGroup, type Over } from './compose-group.ts'
import {
  byOrder,
  checkAgainAt,
  decodeWaiting,
  earlierGroups,
  groupingFor,
  heldField,
  isDigest,
  placeInGroup,
  receiverOf,
  type WaitingAlert,
} from './group.ts'
import { type Circumstances, holdOf, readCircumstances, release } from './held.ts'
import { isBurst, readHeard } from './sent-lately.ts'

/** So much of one group, or a little more, is taken when it closes; the rest comes with its next message. */
const MOST_AT_ONCE = 20_000
/** Groups that one check closes: of many, as where each account has its own, the rest is left to the next check. */
const MOST_GROUPS = 500

/** Closes the groups whose time has come: each becomes deliveries. Returns when the next one is due. */
export async function closeGroups(deps: AlertsDeps, now: number): Promise<number | undefined> {
  const { delivery } = deps.keys
  const failures = new Failures()
  await bringForward(deps, now)
  const due = await deps.store.zrangebyscore(delivery.groupsDue, '-inf', now, 'LIMIT', 0, MOST_GROUPS)
  if (due.length > 0) {
    const circumstances = await readCircumstances(deps, now)
    for (const key of due) await failures.of(() => closeGroup(deps, key, circumstances, now))
    failures.throwFirst()
  }
  const [, earliest] = await deps.store.zrange(delivery.groupsDue, 0, '0', 'WITHSCORES')
  return earliest === undefined ? undefined : Number(earliest)
}

/** Groups due this late come from a clock that was ahead, or from longer intervals of an earlier config: they are moved nearer. */
async function bringForward({ store, keys, group }: AlertsDeps, now: number): Promise<void> {
  const latest = now + group.waitMs + group.intervalMs
  const late = await store.zrangebyscore(keys.delivery.groupsDue, `(${latest}`, '+inf')
  if (late.length > 0)
    await store.zadd(keys.delivery.groupsDue, 'XX', ...late.flatMap((key) => [now + group.waitMs, key]))
}

/** A group that closes, for its receiver. */
interface Closing {
  deps: AlertsDeps
  key: string
  receiver: string
  now: number
}

/** Where another daemon took alerts out of the group meanwhile, the rest is left to the next check. */
async function closeGroup(deps: AlertsDeps, key: string, circumstances: Circumstances, now: number): Promise<void> {
  if (isDigest(key) && (await isStillConnecting(deps, key, now))) return
  const receiver = receiverOf(key)
  const closing: Closing = { deps, key, receiver, now }
  const { taken, waiting, isMore } = await readWhole(closing)
  const heardOf = await readHeard(
    deps,
    receiver,
    waiting.map(({ alert }) => alert),
  )
  const composed = composeGroup({
    ...{ key, waiting, now, group: deps.group, heardOf },
    holdOf: (alert: Alert) => holdOf(alert, receiver, circumstances, now),
  })
  const withheld = await withhold(closing, taken, composed)
  const held = withheld === undefined ? undefined : await hold(closing, withheld, composed)
  const restAt = now + (isBurst(composed.told.length) && !isMore ? deps.group.intervalMs : deps.group.waitMs)
  if (held !== undefined && composed.messages.length > 0) await send(closing, held, composed, restAt)
  // An empty group must not be checked for ever; the step notices an alert that joined it just now.
  if (waiting.length === 0)
    await deps.store.withholdAlerts(deps.keys.delivery.ledger, key, taken, now, deps.group.intervalMs, '', '')
}

/** With all that waits elsewhere of the same alerts; what joins while that is fetched may have a part elsewhere, too. */
async function readWhole(closing: Closing): Promise<ReadGroup> {
  for (;;) {
    const group = await readGroup(closing.deps, closing.key)
    const earlier = await takeEarlier(closing, group.waiting)
    if (earlier + (await takeBackHeld(closing, group.waiting)) === 0) return group
  }
}

interface ReadGroup {
  /** How often alerts were taken out of it: its version. A step that finds another one answers 'lost'. */
  taken: string
  waiting: WaitingAlert[]
  /** It has more than is taken at once. */
  isMore: boolean
}

/** `taken` is read first: what is taken out after that is noticed by the steps. */
async function readGroup({ store, keys }: AlertsDeps, key: string): Promise<ReadGroup> {
  const taken = (await store.hget(keys.delivery.groupState(key), 'taken')) ?? '0'
  const found = new Map<string, WaitingAlert>()
  let cursor = '0'
  do {
    const [next, elements] = await store.hscan(keys.delivery.group(key), cursor, 'COUNT', 1_000)
    for (let n = 0; n + 1 < elements.length; n += 2) found.set(elements[n] ?? '', decodeWaiting(elements[n + 1] ?? ''))
    cursor = next
  } while (cursor !== '0')
  const waiting = wholePartitions([...found.values()])
  return { taken, waiting, isMore: waiting.length < found.size }
}

/** In the order of their commits. All transitions of an alert are in one partition, so a cut between partitions never separates two of one alert. */
function wholePartitions(waiting: readonly WaitingAlert[]): WaitingAlert[] {
  const byPartition = Map.groupBy(waiting, (one) => partitionOfRef(placeInGroup(one)))
  const taken: WaitingAlert[] = []
  for (const [, some] of [...byPartition].sort(([a], [b]) => a - b)) {
    if (taken.length >= MOST_AT_ONCE) break
    taken.push(...some.toSorted(byOrder))
  }
  return taken
}

/** An earlier transition of an alert may wait in a group that closes later: it must not be sent after a newer one. */
async function takeEarlier({ deps, key, receiver, now }: Closing, waiting: readonly WaitingAlert[]): Promise<number> {
  const { store, keys, group } = deps
  const later = waiting.filter(({ alert }) => alert.reason !== 'entered')
  const byGroup = new Map<string, Map<string, WaitingAlert>>()
  for (const one of later) {
    for (const other of earlierGroups(key, one.alert, groupingFor(group, receiver))) {
      const here = byGroup.get(other) ?? new Map<string, WaitingAlert>()
      byGroup.set(other, here.set(alertOf(one.alert), one))
    }
  }
  const open = new Set<string>()
  // A mass has one group per account; few of them still wait, and one call for each chunk finds those.
  for (const some of chunksOf([...byGroup.keys()])) {
    const closesAt = await store.zmscore(keys.delivery.groupsDue, ...some)
    for (const [n, other] of some.entries()) if (closesAt[n] != null) open.add(other)
  }
  let taken = 0
  for (const [other, here] of byGroup) {
    if (!open.has(other)) continue
    const there = (await readGroup(deps, other)).waiting
    const isEarlier = (one: WaitingAlert) => {
      const newest = here.get(alertOf(one.alert))
      return newest !== undefined && byOrder(one, newest) < 0
    }
    for (const some of chunksOf(there.filter(isEarlier).map(placeInGroup))) {
      taken += await store.moveWaiting(keys.delivery.ledger, other, key, now, group.intervalMs, ...some)
    }
  }
  return taken
}

/** Of an alert that waits here and is held back as well, both parts are judged as one. */
async function takeBackHeld({ deps, key, receiver, now }: Closing, waiting: readonly WaitingAlert[]): Promise<number> {
  const { held } = deps.keys.delivery
  if ((await deps.store.hlen(held)) === 0) return 0
  const fields = [...new Set(waiting.map(({ alert }) => heldField(receiver, alertOf(alert))))]
  let back = 0
  for (const some of chunksOf(fields)) {
    const found = await deps.store.hmget(held, ...some)
    const stored = some.flatMap((field, n) =>
      found[n] == null ? [] : [{ field, stored: found[n], homes: [key, ''] as const }],
    )
    if (stored.length > 0) back += await release(deps, stored, now)
  }
  return back
}

/** Runs `step` in chunks, each with the version that the one before returned; undefined: another daemon took alerts out of the group. */
async function inParts<T>(
  taken: string,
  all: readonly T[],
  step: (taken: string, some: readonly T[]) => Promise<number | string>,
): Promise<string | undefined> {
  let at = taken
  for (const some of chunksOf(all)) {
    const answer = await step(at, some)
    if (answer === 'lost') return undefined
    at = String(answer)
  }
  return at
}

function withhold({ deps, key, receiver, now }: Closing, taken: string, { withhold }: ComposedGroup) {
  const { store, keys, group } = deps
  return inParts(taken, withhold, (at, some) => {
    const over = (when: Over) =>
      some.flatMap((one) => (one.over === when ? [heldField(receiver, alertOf(one.alert))] : [])).join(' ')
    return store.withholdAlerts(
      ...[keys.delivery.ledger, key, at, now, group.intervalMs, over('now'), over('before')],
      ...some.flatMap(({ places, transitions, why }) => [joinRefs(places), joinRefs(transitions), why]),
    )
  })
}

function hold({ deps, key, receiver, now }: Closing, taken: string, { hold }: ComposedGroup) {
  const { store, keys, group } = deps
  return inParts(taken, hold, (at, some) =>
    store.holdAlerts(
      ...[keys.delivery.ledger, key, at, group.intervalMs],
      ...some.flatMap(({ alert, places }) => [
        ...[heldField(receiver, alertOf(alert.alert)), JSON.stringify(alert), checkAgainAt(alert.held, now)],
        joinRefs(places),
      ]),
    ),
  )
}

async function send({ deps, key, receiver, now }: Closing, taken: string, composed: ComposedGroup, restAt: number) {
  const { store, keys, group } = deps
  const { messages, places, told } = composed
  await store.closeGroup(
    ...[keys.delivery.ledger, key, taken, now, restAt, group.intervalMs],
    ...[joinRefs(places), told.length, told.join(' ')],
    ...messages.flatMap(({ message, transitions, alerts }) => [
      ...[`msg_${randomBytes(12).toString('hex')}`, receiver, message.type, JSON.stringify(message)],
      ...[joinCarried(transitions), alerts.map(([alert, order]) => `${heldField(receiver, alert)} ${order}`).join(' ')],
    ]),
  )
}

/** The digest of a fleet that is being connected waits until no account has come, or is still to be read, but not for ever. */
async function isStillConnecting(deps: AlertsDeps, key: string, now: number): Promise<boolean> {
  const { delivery } = deps.keys
  const [connectedAt, openedAt, fleet] = await Promise.all([
    deps.store.get(delivery.connectedAt),
    deps.store.hget(delivery.groupState(key), 'openedAt'),
    readNewFleet(deps.store, deps.keys),
  ])
  const lastAt = fleet === undefined ? Number(connectedAt) : now
  const settlesAt = Math.min(lastAt + deps.group.waitMs, Number(openedAt) + deps.group.intervalMs)
  // What lies so far ahead was noted by a clock that was set back since.
  if (settlesAt <= now || settlesAt > now + deps.group.waitMs + deps.group.intervalMs) return false
  await deps.store.zadd(delivery.groupsDue, 'XX', settlesAt, key)
  return true
}
