import { type Alert, type AlertLevel, alertOf } from '../alerts/alert.ts'
import { decodeHeld, type HeldBecause, heldField } from '../alerts/groups/group.ts'
import { byCommit, type Fate, partitionOfRef, readFates, refOf, type TransitionRef } from '../alerts/ledger.ts'
import { committedIn } from '../alerts/outbox.ts'
import { MOST_LOGGED, readLoggedSince } from '../alerts/transition-log.ts'
import { type Keys, PARTITIONS } from '../redis/keys.ts'
import { formatMoment } from '../text/format-time.ts'
import type { TransitionShape } from './shapes/alert.ts'
import type { ViewDeps } from './view-deps.ts'

/** A transition that was committed, and what became of it. */
export interface LoggedTransition {
  transition: TransitionRef
  alert: Alert
  /** `unknown`: it ended too long ago for that to be remembered. */
  fate: Fate | { is: 'pending'; inOutbox: true } | { is: 'unknown' }
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
export async function readAlertLog(deps: Sources, { since, hubId, level }: AlertLogQuery): Promise<LoggedTransition[]> {
  const partitions = partitionsOf(deps.keys, hubId)
  const found = await Promise.all(partitions.map(async (number) => (await readLoggedSince(deps, number, since)).found))
  const wanted = found
    .flat()
    .filter(
      ({ alert }) =>
        (hubId === undefined || (alert.account?.hubId ?? 0) === hubId) &&
        (level === undefined || alert.level === level),
    )
  // The outbox first: what leaves it after that stands in the ledger, or has ended, by the time that is read.
  const inOutbox = new Set((await Promise.all(partitions.map((number) => readOutbox(deps, number)))).flat())
  const refs = wanted.map(({ transition }) => transition)
  const fates = await readFates(deps, refs, since)
  return wanted
    .map(({ transition, alert }) => ({
      ...{ transition, alert },
      fate: fates.get(transition) ?? (inOutbox.has(transition) ? IN_OUTBOX : { is: 'unknown' as const }),
    }))
    .sort((a, b) => timeOf(a.alert) - timeOf(b.alert) || byCommit(a.transition, b.transition))
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

const IN_OUTBOX = { is: 'pending', inOutbox: true } as const

async function readOutbox({ store, keys }: Sources, number: number): Promise<TransitionRef[]> {
  const waiting = await store.xrange(keys.partition(number).outbox, '-', '+')
  return committedIn(waiting).map(({ name }) => refOf(number, name))
}

/** Of a partition so many at most are gone through for those that are asked for. */
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
      for (const { name, entry } of decoded) {
        const ref = refOf(number, name)
        if (wanted.has(ref)) found.set(ref, entry.alert)
      }
      const last = decoded.at(-1)
      const isPast = last !== undefined && byCommit(refOf(number, last.name), oldest) <= 0
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

/** A transition as API and command line tell it; `held`: why those that are pending are held back. */
export function transitionJson(one: LoggedTransition, held: ReadonlyMap<TransitionRef, string>): TransitionShape {
  const { transition, alert, fate } = one
  const why = whyOf(one, held)
  return { at: alert.measuredAt, transition, fate: fate.is, ...(why === '' ? {} : { why }), alert }
}

/** What it ended by, or what holds it back; '' where there is nothing to say. */
export function whyOf({ transition, fate }: LoggedTransition, held: ReadonlyMap<TransitionRef, string>): string {
  return 'why' in fate ? fate.why : (held.get(transition) ?? '')
}

/** Asked for in one call. */
const MOST_FIELDS = 500

/** Of the transitions that are pending, why they are held back, and from whom; those that are only on their way have no entry. */
export async function whyPending(
  { store, keys, receivers }: Pick<ViewDeps, 'store' | 'keys' | 'receivers'>,
  transitions: readonly LoggedTransition[],
): Promise<Map<TransitionRef, string>> {
  const places = transitions
    .filter(({ fate }) => fate.is === 'pending')
    .flatMap(({ transition, alert }) =>
      receivers.map((receiver) => ({ transition, receiver, field: heldField(receiver, alertOf(alert)) })),
    )
  const why = new Map<TransitionRef, string>()
  for (let first = 0; first < places.length; first += MOST_FIELDS) {
    const some = places.slice(first, first + MOST_FIELDS)
    const stored = await store.hmget(keys.delivery.held, ...some.map(({ field }) => field))
    some.forEach(({ transition, receiver }, n) => {
      const text = stored[n]
      if (text == null) return
      const { of, held } = decodeHeld(text)
      if (!of.some(([ref]) => ref === transition)) return
      const before = why.get(transition)
      why.set(transition, `${before === undefined ? '' : `${before}; `}${untilText(held)} (${receiver})`)
    })
  }
  return why
}

function untilText(held: HeldBecause): string {
  const until = held.is === 'fleet' ? '' : ` until ${formatMoment(held.until)}`
  return `${heldText(held)}${until}`
}

export function heldText(held: HeldBecause): string {
  switch (held.is) {
    case 'silence':
      return `silence ${held.id}`
    case 'quiet-hours':
      return 'quiet hours'
    case 'fleet':
      return `the alert about all accounts (${held.trouble})`
  }
}
