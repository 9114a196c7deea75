import { type Alert, type AlertLevel, alertOf } from '../alerts/alert.ts'
import { committedIn, numberOf } from '../alerts/outbox.ts'
import {
  byCommit,
  MOST_LOGGED,
  partitionOfRef,
  readLoggedSince,
  refOf,
  type TransitionRef,
} from '../alerts/transition-log.ts'
import { everyPartition, type Keys, PARTITIONS } from '../redis/keys.ts'
import { type FateSources, type ReceiverFate, readReceiverFates } from './receiver-fates.ts'
import type { TransitionShape } from './shapes/alert.ts'
import type { ViewDeps } from './view-deps.ts'

/** A committed transition, and its outcome. */
export interface LoggedTransition {
  transition: TransitionRef
  alert: Alert
  fate: Fate
  /** For each receiver that it meant anything to. */
  receivers: ReceiverFate[]
}

/** `isNew`: no daemon has read it yet; `unknown`: it ended too long ago for its outcome to be stored. */
export interface Fate {
  is: ReceiverFate['is'] | 'unknown'
  why: string
  isNew?: true
}

export interface AlertLogQuery {
  /** ms */
  since: number
  hubId?: number
  level?: AlertLevel
}

type Sources = Pick<ViewDeps, 'store' | 'keys'>

const PAGE = 200

/** The transitions of all accounts since a moment, oldest first. Each partition remembers so many: of a storm the newest. */
export async function readAlertLog(
  deps: FateSources,
  { since, hubId, level }: AlertLogQuery,
): Promise<LoggedTransition[]> {
  const partitions = partitionsOf(deps.keys, hubId)
  const found = await Promise.all(partitions.map(async (number) => (await readLoggedSince(deps, number, since)).found))
  const wanted = found
    .flat()
    .filter(
      ({ alert }) =>
        (hubId === undefined || (alert.account?.hubId ?? 0) === hubId) &&
        (level === undefined || alert.level === level),
    )
  // New ones are read first: a transition that leaves the outbox meanwhile is in a receiver's state by the time that is
  // read.
  const isNew = new Set((await Promise.all(partitions.map((number) => readNew(deps, number)))).flat())
  const asked = wanted.map(({ alert }) => ({ id: alert.id, number: numberOf(alert), alert: alertOf(alert) }))
  if (wanted.length === 0) return []
  const moments = wanted.map(({ at }) => at)
  const receivers = await readReceiverFates(deps, asked, least(moments))
  const kept = greatest(moments) - KEPT_MS
  return wanted
    .map(({ transition, alert, at }, n) => {
      const each = receivers[n] ?? []
      return { transition, alert, receivers: each, fate: fateOf(each, isNew.has(alertOf(alert)), at >= kept) }
    })
    .sort((a, b) => timeOf(a.alert) - timeOf(b.alert) || byCommit(a.transition, b.transition))
}

/** The newest transitions of all accounts, newest first: at most so many of each part of the log. */
export async function readNewest({ store, keys }: Sources, most: number): Promise<Alert[]> {
  const parts = await everyPartition(keys, ({ log }) => store.xrevrange(log, '+', '-', 'COUNT', most))
  const alerts = parts.flatMap((part) => committedIn(part).map(({ entry }) => entry.alert))
  return alerts.sort((a, b) => timeOf(b) - timeOf(a))
}

/** Alerts that ended since a moment, the newest first. */
export async function readResolved(deps: Sources, since: number): Promise<Alert[]> {
  const parts = await everyPartition(deps.keys, (_, number) => readLoggedSince(deps, number, since))
  const alerts = parts.flatMap(({ found }) => found.map(({ alert }) => alert))
  return alerts.filter(({ status }) => status === 'resolved').sort((a, b) => timeOf(b) - timeOf(a))
}

/**
 * From when on the log has all that was committed since a moment, ms; undefined: from that moment on. In each partition the
 * newest push the oldest out, whosever they are.
 */
export async function forgottenUntil(
  { store, keys }: Sources,
  { since, hubId }: AlertLogQuery,
): Promise<number | undefined> {
  const firsts = await Promise.all(
    partitionsOf(keys, hubId).map(async (number) => {
      const { log } = keys.partition(number)
      if ((await store.xlen(log)) < MOST_LOGGED) return since
      const [first] = committedIn(await store.xrange(log, '-', '+', 'COUNT', PAGE))
      return first === undefined ? since : timeOf(first.entry.alert)
    }),
  )
  const latest = Math.max(...firsts)
  return latest > since ? latest : undefined
}

function partitionsOf(keys: Keys, hubId: number | undefined): number[] {
  return hubId === undefined ? Array.from({ length: PARTITIONS }, (_, number) => number) : [keys.partitionOf(hubId)]
}

/** For so long the outcome of every transition is known. */
const KEPT_MS = 3 * 86_400_000

/** Loops: there may be more of them than a call takes arguments. */
function least(moments: readonly number[]): number {
  return moments.reduce((one, at) => Math.min(one, at), Number.POSITIVE_INFINITY)
}

function greatest(moments: readonly number[]): number {
  return moments.reduce((one, at) => Math.max(one, at), 0)
}

/** A transition that waits for any receiver is pending; of the others the worst end counts. */
function fateOf(receivers: readonly ReceiverFate[], isNew: boolean, isRecent: boolean): Fate {
  for (const is of ['pending', 'dead', 'delivered', 'withheld'] as const) {
    const some = receivers.filter((one) => one.is === is)
    if (some.length > 0) return { is, why: whyOf(is, some) }
  }
  if (isNew) return { is: 'pending', why: '', isNew }
  return isRecent ? { is: 'withheld', why: 'no route is for it' } : { is: 'unknown', why: '' }
}

function whyOf(is: ReceiverFate['is'], some: readonly ReceiverFate[]): string {
  const reasons = some.filter(({ why }) => why !== '')
  if (is === 'pending') return reasons.map(({ why, receiver }) => `${why} (${receiver})`).join('; ')
  return reasons[0]?.why ?? ''
}

/** Alerts with news that no daemon has read. */
async function readNew({ store, keys }: Sources, number: number): Promise<string[]> {
  return store.zrangebyscore(keys.partition(number).newsDue, '-inf', '(0')
}

/** Most pages of a partition that are read for the matching ones. */
const MOST_PAGES = 5

/** Some transitions by their names; those that the log no longer has, or has too deep down, are missing. */
export async function readTransitions(
  { store, keys }: Sources,
  refs: readonly TransitionRef[],
): Promise<Map<TransitionRef, Alert>> {
  const wanted = new Set(refs)
  const found = new Map<TransitionRef, Alert>()
  const ofPartition = async ([number, some]: [number, TransitionRef[]]) => {
    const [oldest = ''] = some.toSorted(byCommit)
    let before = '+'
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const page = await store.xrevrange(keys.partition(number).log, before, '-', 'COUNT', PAGE)
      const decoded = committedIn(page)
      for (const { place, entry } of decoded) {
        const ref = refOf(number, place)
        if (wanted.has(ref)) found.set(ref, entry.alert)
      }
      const last = decoded.at(-1)
      const isPast = last !== undefined && byCommit(refOf(number, last.place), oldest) <= 0
      if (page.length < PAGE || isPast) return
      before = `(${page.at(-1)?.[0] ?? ''}`
    }
  }
  await Promise.all([...Map.groupBy(wanted, partitionOfRef)].map(ofPartition))
  return found
}

function timeOf({ measuredAt }: Alert): number {
  return Date.parse(measuredAt)
}

/** A transition for the API and the command line. */
export function transitionJson({ transition, alert, fate, receivers }: LoggedTransition): TransitionShape {
  return {
    at: alert.measuredAt,
    transition,
    fate: fate.is,
    ...(fate.why === '' ? {} : { why: fate.why }),
    alert,
    receivers: receivers.map(({ receiver, is, why }) => ({ receiver, fate: is, ...(why === '' ? {} : { why }) })),
  }
}
