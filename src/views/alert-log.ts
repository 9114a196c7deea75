import { type Alert, type AlertLevel, alertOf } from '../alerts/alert.ts'
import { numberOf } from '../alerts/outbox.ts'
import {
  byCommit,
  type LoggedAlert,
  MOST_LOGGED,
  MOST_OF_ACCOUNT,
  readLogged,
  readLoggedSince,
  type TransitionRef,
} from '../alerts/transition-log.ts'
import { resultsOf } from '../redis/answers.ts'
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

/** The transitions since a moment, oldest first. */
export async function readAlertLog(
  deps: FateSources,
  { since, hubId, level }: AlertLogQuery,
): Promise<LoggedTransition[]> {
  const { found } = await (hubId === undefined ? readLoggedSince(deps, since) : readOwn(deps, hubId))
  const wanted = found.filter(({ at, alert }) => at >= since && (level === undefined || alert.level === level))
  // New ones are read first: a transition that leaves the outbox meanwhile is in a receiver's state by the time that is
  // read.
  const isNew = new Set(await deps.store.zrange(deps.keys.unsent, 0, '-1'))
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

/** The newest transitions of all accounts, newest first. */
export async function readNewest({ store, keys }: Sources, most: number): Promise<Alert[]> {
  const newest = await store.xrevrange(keys.transitions, '+', '-', 'COUNT', most)
  const alerts = newest.flatMap((one) => readLogged(one)?.alert ?? [])
  return alerts.sort((a, b) => timeOf(b) - timeOf(a))
}

/** Alerts that ended since a moment, the newest first. */
export async function readResolved(deps: Sources, since: number): Promise<Alert[]> {
  const { found } = await readLoggedSince(deps, since)
  const resolved = found.flatMap(({ alert }) => (alert.status === 'resolved' ? [alert] : []))
  return resolved.sort((a, b) => timeOf(b) - timeOf(a))
}

/** Transitions of one account, from its own list of their places. `isAll`: no older one was pushed out. */
async function readOwn({ store, keys }: Sources, hubId: number): Promise<{ found: LoggedAlert[]; isAll: boolean }> {
  const places = await store.lrange(keys.account(hubId).transitions, 0, -1)
  const entries = await readPlaces({ store, keys }, places)
  const isAll = places.length < MOST_OF_ACCOUNT && entries.length === places.length
  return { found: entries.map(readLogged).filter((one) => one !== undefined), isAll }
}

/** Entries that the log no longer has are missing. */
async function readPlaces({ store, keys }: Sources, places: readonly string[]) {
  const reading = store.pipeline()
  for (const place of places) reading.xrange(keys.transitions, place, place)
  return resultsOf<[id: string, fields: string[]][]>(await reading.exec()).flat()
}

/**
 * From when on the log has all that was committed since a moment, ms; undefined: from that moment on. The newest push the oldest
 * out.
 */
export async function forgottenUntil(deps: Sources, { since, hubId }: AlertLogQuery): Promise<number | undefined> {
  const first = await (hubId === undefined ? firstKept(deps) : firstKeptOf(deps, hubId))
  return first !== undefined && first > since ? first : undefined
}

/** Undefined: nothing was pushed out. */
async function firstKept({ store, keys }: Sources): Promise<number | undefined> {
  if ((await store.xlen(keys.transitions)) < MOST_LOGGED) return undefined
  const oldest = await store.xrange(keys.transitions, '-', '+', 'COUNT', PAGE)
  return oldest.flatMap((one) => readLogged(one)?.at ?? [])[0]
}

async function firstKeptOf(deps: Sources, hubId: number): Promise<number | undefined> {
  const { found, isAll } = await readOwn(deps, hubId)
  return isAll ? undefined : (found[0]?.at ?? firstKept(deps))
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

/** Some transitions by their places; those that the log no longer has are missing. */
export async function readTransitions(
  deps: Sources,
  refs: readonly TransitionRef[],
): Promise<Map<TransitionRef, Alert>> {
  const found = await readPlaces(deps, [...new Set(refs)])
  const logged = found.flatMap((one) => readLogged(one) ?? [])
  return new Map(logged.map(({ transition, alert }) => [transition, alert]))
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
