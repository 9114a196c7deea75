import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { AlertsDeps } from './deps.ts'

/** How a transition ended. */
export type End = 'delivered' | 'dead' | 'withheld'

/** The ledger at one moment. */
export interface LedgerCounts {
  /** Transitions that were ever collected. */
  collected: number
  ended: Record<End, number>
  /** Transitions that have not ended: a receiver waits for them, or could have them replayed. */
  open: number
  /** Of these, those that a receiver waits for. */
  pending: number
  /** When the oldest of them happened, ms. */
  oldestPendingAt: number | null
  /** The earliest moments at which a group closes, and a delivery is tried, ms: in the past they are late. */
  groupDueAt: number | null
  deliveryDueAt: number | null
}

/** How many receivers of a transition wait for it, have it, and had it given up for them (and can have it replayed). */
export interface Places {
  pending: number
  delivered: number
  dead: number
}

export type Fate = { is: 'pending' } | { is: End; why: string }

export async function readLedger(store: Store, keys: Keys): Promise<LedgerCounts> {
  const [counts, open, [, oldest], group, delivery, pending] = await store.readLedger(keys.delivery.ledger)
  const count = (name: string) => (counts.includes(name) ? Number(counts[counts.indexOf(name) + 1]) : 0)
  const ended = { delivered: count('delivered'), dead: count('dead'), withheld: count('withheld') }
  return {
    collected: count('collected'),
    ...{ ended, open, pending, oldestPendingAt: momentOf(oldest) },
    ...{ groupDueAt: momentOf(group), deliveryDueAt: momentOf(delivery) },
  }
}

/** A receiver that no daemon has had in its config for so long is gone. */
const GONE_AFTER_MS = 10 * 60_000

/** Receivers that a daemon has in its config. While no daemon runs, those of the last. */
export async function readPresentReceivers(store: Store, keys: Keys): Promise<string[]> {
  const { receivers } = keys.delivery
  const [, newest] = await store.zrevrange(receivers, 0, 0, 'WITHSCORES')
  return store.zrangebyscore(receivers, Number(newest ?? 0) - GONE_AFTER_MS, '+inf')
}

function momentOf(score: string | undefined): number | null {
  return score === undefined || score === '' ? null : Number(score)
}

export function decodePlaces(stored: string): Places {
  const [pending = 0, delivered = 0, dead = 0] = stored.split(' ').map(Number)
  return { pending, delivered, dead }
}

/** Ends read at a time. */
const PAGE = 1_000

/** The outcomes of the given transitions, as far as they are kept: ends from before `since` are not searched. */
export async function readFates(
  { store, keys }: Pick<AlertsDeps, 'store' | 'keys'>,
  refs: readonly TransitionRef[],
  since: number,
): Promise<Map<TransitionRef, Fate>> {
  const fates = new Map<TransitionRef, Fate>()
  for (let from = 0; from < refs.length; from += PAGE) {
    const some = refs.slice(from, from + PAGE)
    const stored = await store.hmget(keys.delivery.ledger, ...some)
    for (const [n, ref] of some.entries()) {
      const value = stored[n]
      if (value == null) continue
      const is = decodePlaces(value).pending > 0 ? 'pending' : 'dead'
      fates.set(ref, is === 'pending' ? { is } : { is, why: 'its delivery was given up: plimsoll outbox replay' })
    }
  }
  await readEnds({ store, keys }, new Set(refs.filter((ref) => !fates.has(ref))), since, fates)
  return fates
}

async function readEnds(
  { store, keys }: Pick<AlertsDeps, 'store' | 'keys'>,
  wanted: Set<TransitionRef>,
  since: number,
  fates: Map<TransitionRef, Fate>,
): Promise<void> {
  let before = '+'
  while (wanted.size > 0) {
    const page = await store.xrevrange(keys.delivery.ends, before, '-', 'COUNT', PAGE)
    for (const [id, [, at, , is = '', , why = '', , joined = '']] of page) {
      if (Number(at) < since) return
      for (const ref of splitRefs(joined)) {
        if (wanted.delete(ref) && isEnd(is)) fates.set(ref, { is, why })
      }
      before = `(${id}`
    }
    if (page.length < PAGE) return
  }
}

function isEnd(text: string): text is End {
  return text === 'delivered' || text === 'dead' || text === 'withheld'
}

/**
 * A transition as the ledger knows it: its partition and its name there, the place in the partition's log: `17-1732183200000-0`.
 */
export type TransitionRef = string

export function refOf(partition: number, name: string): TransitionRef {
  return `${partition}-${name}`
}

export function partitionOfRef(ref: TransitionRef): number {
  return Number(ref.slice(0, ref.indexOf('-')))
}

/** Of one partition, in the order in which they were committed. */
export function byCommit(one: TransitionRef, other: TransitionRef): number {
  const [[, at = 0, n = 0], [, otherAt = 0, otherN = 0]] = [partsOf(one), partsOf(other)]
  return at - otherAt || n - otherN
}

function partsOf(ref: TransitionRef): number[] {
  return ref.split('-').map(Number)
}

/** As steps take them. */
export function joinRefs(refs: readonly TransitionRef[]): string {
  return refs.join(' ')
}

/** As deliveries carry them: each with its id, which names the alert. */
export function joinCarried(transitions: readonly (readonly [ref: TransitionRef, id: string])[]): string {
  return transitions.map(([ref, id]) => `${ref}=${id}`).join(' ')
}

/** With or without their ids. */
export function splitRefs(joined: string): TransitionRef[] {
  return wordsOf(joined).map((one) => one.split('=', 1)[0] ?? '')
}

/** Ids of the transitions that a delivery carries. */
export function carriedIds(joined: string): string[] {
  return wordsOf(joined).map((one) => one.slice(one.indexOf('=') + 1))
}

function wordsOf(joined: string): string[] {
  return joined.split(' ').filter((word) => word !== '')
}
