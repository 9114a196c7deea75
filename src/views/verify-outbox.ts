import { alertOf } from '../alerts/alert.ts'
import { alertOfHeld, decodeHeld, decodeWaiting, receiverOfHeld, type WaitingAlert } from '../alerts/groups/group.ts'
import {
  decodePlaces,
  type Places,
  readPresentReceivers,
  refOf,
  splitRefs,
  type TransitionRef,
} from '../alerts/ledger.ts'
import { committedIn, isRecent, readCollected } from '../alerts/outbox.ts'
import type { Store } from '../redis/connect.ts'
import { type Keys, PARTITIONS } from '../redis/keys.ts'
import { type OutboxBalance, readOutboxBalance } from './outbox-balance.ts'
import type { ViewDeps } from './view-deps.ts'

interface Sources extends Pick<ViewDeps, 'store' | 'keys'> {
  now: () => number
  /** Between two looks. */
  pause: () => Promise<void>
  /** Ids of all alerts that are open. */
  readOpen: () => Promise<ReadonlySet<string>>
}

export interface OutboxProof extends OutboxBalance {
  /** Of the transitions that somebody waits for, where each is; one that is in several places counts for the first. */
  where: { outbox: number; groups: number; held: number; deliveries: number }
  /** Transitions of which the ledger says something else than what is found. */
  astray: Astray[]
  /** What receivers that a daemon has were sent as firing that is over, with no end on its way to them. */
  unresolved: Unresolved[]
  /** Transitions of the last day that the log has, and that neither wait in the outbox nor were ever collected. */
  missing: TransitionRef[]
}

export interface Unresolved {
  receiver: string
  /** The alert's own id. */
  alert: string
}

export interface Astray {
  transition: TransitionRef
  /** Receivers that wait for it, or had it given up, as the ledger says. */
  ledger: { pending: number; dead: number }
  found: { pending: number; dead: number }
}

/** A transition that moves on can be missed by one look; hardly by so many. */
const LOOKS = 5
const PAGE = 1_000

/**
 * Checks every transition that has not ended, wherever it may be. While the fleet is at work a look is not one moment:
 * what moves on behind its back is missed, what moves ahead of it is seen twice. So what seems astray is looked at again,
 * and only what is found the same way, with the same entry in the ledger, look after look is reported.
 */
export async function verifyOutbox(deps: Sources): Promise<OutboxProof> {
  let look = await lookOnce(deps)
  let { astray, unresolved } = look
  for (let n = 1; n < LOOKS && astray.length + unresolved.length > 0; n++) {
    await deps.pause()
    look = await lookOnce(deps)
    astray = foundAgain(astray, look.astray)
    unresolved = foundAgain(unresolved, look.unresolved)
  }
  const { missing, inOutbox } = await compareLogs(deps)
  const balance = await readOutboxBalance(deps, deps.now(), inOutbox)
  return {
    ...balance,
    balanced: balance.balanced && astray.length + unresolved.length + missing.length === 0,
    where: { ...look.where, outbox: balance.inOutbox },
    ...{ astray, unresolved, missing },
  }
}

function foundAgain<T>(before: readonly T[], now: readonly T[]): T[] {
  const again = new Set(now.map((one) => JSON.stringify(one)))
  return before.filter((one) => again.has(JSON.stringify(one)))
}

type Found = Map<TransitionRef, { pending: number; dead: number; first: 'groups' | 'held' | 'deliveries' }>

type Look = Pick<OutboxProof, 'astray' | 'unresolved'> & { where: Omit<OutboxProof['where'], 'outbox'> }

async function lookOnce({ store, keys, readOpen }: Sources): Promise<Look> {
  const underWay = await readUnderWay(store, keys, await readOpen())
  const ledger = await readPlaces(store, keys)
  const found: Found = new Map()
  const see = (refs: readonly TransitionRef[], first: 'groups' | 'held' | 'deliveries', as: 'pending' | 'dead') => {
    for (const ref of refs) {
      const seen = found.get(ref) ?? { pending: 0, dead: 0, first }
      found.set(ref, { ...seen, [as]: seen[as] + 1 })
    }
  }
  const seeWaiting = (one: WaitingAlert, first: 'groups' | 'held') => {
    see(refsOf(one), first, 'pending')
    underWay.add(alertOf(one.alert))
  }
  await seeGroups(store, keys, (one) => seeWaiting(one, 'groups'))
  await scan(store, keys.delivery.held, (_, stored) => seeWaiting(decodeHeld(stored), 'held'))
  const told = await store.zrange(keys.delivery.told, 0, '-1')
  const receivers = new Set(await readPresentReceivers(store, keys))
  await seeDeliveries(store, keys, keys.delivery.deliveriesDue, (refs) => see(refs, 'deliveries', 'pending'))
  await seeDeliveries(store, keys, keys.delivery.dead, (refs) => see(refs, 'deliveries', 'dead'))

  const where = { groups: 0, held: 0, deliveries: 0 }
  for (const { first, pending } of found.values()) if (pending > 0) where[first]++
  const astray = [...new Set([...ledger.keys(), ...found.keys()])].flatMap((transition) => {
    const { pending, dead } = ledger.get(transition) ?? { pending: 0, dead: 0 }
    const seen = found.get(transition) ?? { pending: 0, dead: 0 }
    if (pending === seen.pending && dead === seen.dead) return []
    return { transition, ledger: { pending, dead }, found: { pending: seen.pending, dead: seen.dead } }
  })
  const unresolved = told
    .map((field) => ({ receiver: receiverOfHeld(field), alert: alertOfHeld(field) }))
    .filter(({ receiver, alert }) => !underWay.has(alert) && receivers.has(receiver))
  return { astray, unresolved, where }
}

/**
 * The alerts that are open, and those that the outbox says something of. An alert that closes meanwhile goes from here to its
 * groups, and leaves what was told last of all: read in that order, it is seen somewhere.
 */
async function readUnderWay(store: Store, keys: Keys, open: ReadonlySet<string>): Promise<Set<string>> {
  const found = new Set(open)
  for (let number = 0; number < PARTITIONS; number++) {
    for (const { entry } of committedIn(await store.xrange(keys.partition(number).outbox, '-', '+'))) {
      found.add(alertOf(entry.alert))
    }
  }
  return found
}

async function readPlaces(store: Store, keys: Keys): Promise<Map<TransitionRef, Places>> {
  const places = new Map<TransitionRef, Places>()
  await scan(store, keys.delivery.ledger, (ref, stored) => places.set(ref, decodePlaces(stored)))
  return places
}

async function seeGroups(store: Store, keys: Keys, see: (one: WaitingAlert) => void): Promise<void> {
  for (const key of await store.zrange(keys.delivery.groupsDue, 0, '-1')) {
    await scan(store, keys.delivery.group(key), (_, stored) => see(decodeWaiting(stored)))
  }
}

async function seeDeliveries(
  store: Store,
  keys: Keys,
  zset: string,
  see: (refs: TransitionRef[]) => void,
): Promise<void> {
  const ids = await store.zrange(zset, 0, '-1')
  for (let from = 0; from < ids.length; from += PAGE) {
    const some = ids.slice(from, from + PAGE)
    const carried = await Promise.all(some.map((id) => store.hget(keys.delivery.delivery(id), 'transitions')))
    for (const refs of carried) see(splitRefs(refs ?? ''))
  }
}

function refsOf({ of }: { of: readonly [TransitionRef, string][] }): TransitionRef[] {
  return of.map(([ref]) => ref)
}

/** A hash that changes meanwhile may show a field twice: it is seen once. */
async function scan(store: Store, key: string, see: (field: string, value: string) => void): Promise<void> {
  const seen = new Set<string>()
  let cursor = '0'
  do {
    const [next, found] = await store.hscan(key, cursor, 'COUNT', PAGE)
    for (let n = 0; n + 1 < found.length; n += 2) {
      const field = found[n] ?? ''
      if (!seen.has(field)) see(field, found[n + 1] ?? '')
      seen.add(field)
    }
    cursor = next
  } while (cursor !== '0')
}

/** What the logs have and nothing else knows; and how many wait in the outbox that were not collected, by the same look. */
async function compareLogs({ store, keys, now }: Sources): Promise<{ missing: TransitionRef[]; inOutbox: number }> {
  const partitions = Array.from({ length: PARTITIONS }, async (_, number) => {
    const { log, outbox } = keys.partition(number)
    // In that order: what leaves the outbox meanwhile is collected by then.
    const logged = committedIn(await store.xrange(log, '-', '+'))
    const waiting = new Set(committedIn(await store.xrange(outbox, '-', '+')).map(({ name }) => name))
    const collected = await readCollected({ store, keys }, number)
    const missing = logged.filter((one) => isRecent(one, now()) && !waiting.has(one.name) && !collected.has(one.name))
    return {
      missing: missing.map(({ name }) => refOf(number, name)),
      inOutbox: [...waiting].filter((name) => !collected.has(name)).length,
    }
  })
  const found = await Promise.all(partitions)
  return {
    missing: found.flatMap(({ missing }) => missing),
    inOutbox: found.reduce((sum, one) => sum + one.inOutbox, 0),
  }
}
