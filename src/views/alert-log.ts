import type { Alert, AlertLevel } from '../alerts/alert.ts'
import { type Fate, readFates } from '../alerts/ledger/ledger.ts'
import { numberOfRef, partitionOfRef, refOf, type TransitionRef } from '../alerts/ledger/transition-ref.ts'
import { decodeEntry } from '../alerts/outbox/outbox-entry.ts'
import type { Store } from '../redis/connect.ts'
import { type Keys, PARTITIONS } from '../redis/keys.ts'

/** A transition that was committed, and what became of it. */
export interface LoggedTransition {
  transition: TransitionRef
  alert: Alert
  /** `unknown`: it ended too long ago for that to be remembered. */
  fate: Fate | { is: 'unknown' }
}

export interface AlertLogQuery {
  /** ms */
  since: number
  hubId?: number
  level?: AlertLevel
}

const PAGE = 200

/** The transitions of all accounts since a moment, oldest first. Each partition remembers so many: of a storm the newest. */
export async function readAlertLog(
  deps: { store: Store; keys: Keys },
  { since, hubId, level }: AlertLogQuery,
): Promise<LoggedTransition[]> {
  const partitions = partitionsOf(deps.keys, hubId)
  const found = (await Promise.all(partitions.map((number) => readPartition(deps, number, since)))).flat()
  const wanted = found.filter(
    ({ alert }) =>
      (hubId === undefined || (alert.account?.hubId ?? 0) === hubId) && (level === undefined || alert.level === level),
  )
  const { marks, fates } = await readFatesOf(deps, wanted, since)
  return wanted
    .map(({ transition, alert }) => ({
      ...{ transition, alert },
      fate: fates.get(transition) ?? (isCollected(marks, transition) ? { is: 'unknown' as const } : PENDING),
    }))
    .sort((a, b) => timeOf(a.alert) - timeOf(b.alert) || numberOfRef(a.transition) - numberOfRef(b.transition))
}

/**
 * From when on the log has all that was committed since a moment, ms; undefined: from that moment on. In each partition the
 * newest push the oldest out, whosever they are.
 */
export async function forgottenUntil(
  { store, keys }: { store: Store; keys: Keys },
  { since, hubId }: AlertLogQuery,
): Promise<number | undefined> {
  const firsts = await Promise.all(
    partitionsOf(keys, hubId).map(async (number) => {
      const [first] = await store.xrange(keys.partition(number).log, '-', '+', 'COUNT', 1)
      if (first === undefined || Number(first[1][3]) <= 1) return since
      return timeOf(decodeEntry(first[1][1] ?? '').alert)
    }),
  )
  const latest = Math.max(...firsts)
  return latest > since ? latest : undefined
}

function partitionsOf(keys: Keys, hubId: number | undefined): number[] {
  return hubId === undefined ? Array.from({ length: PARTITIONS }, (_, number) => number) : [keys.partitionOf(hubId)]
}

const PENDING = { is: 'pending' } as const

/** Marks first: what is collected after that stood in the ledger, or had ended, by the time that was read. */
async function readFatesOf(
  { store, keys }: { store: Store; keys: Keys },
  wanted: readonly { transition: TransitionRef }[],
  since: number,
) {
  const marks = await store.hgetall(keys.delivery.marks)
  const refs = wanted.map(({ transition }) => transition)
  return { marks, fates: await readFates({ store, keys }, refs, since) }
}

function isCollected(marks: Record<string, string>, ref: TransitionRef): boolean {
  return numberOfRef(ref) <= Number.parseInt(marks[partitionOfRef(ref)] ?? '0', 10)
}

/** Backwards, page by page, until everything on a page is older. */
async function readPartition({ store, keys }: { store: Store; keys: Keys }, number: number, since: number) {
  const found: { transition: TransitionRef; alert: Alert }[] = []
  let before = '+'
  for (;;) {
    const page = await store.xrevrange(keys.partition(number).log, before, '-', 'COUNT', PAGE)
    const decoded = page.map(([, fields]) => ({
      transition: refOf(number, Number(fields[3] ?? 0)),
      alert: decodeEntry(fields[1] ?? '').alert,
    }))
    const recent = decoded.filter(({ alert }) => timeOf(alert) >= since)
    found.push(...recent)
    if (page.length < PAGE || recent.length === 0) return found
    before = `(${page.at(-1)?.[0] ?? ''}`
  }
}

/** Of a partition so many at most are gone through for those that are asked for. */
const MOST_PAGES = 5

/** Some transitions by their names; those that the log no longer has, or has too deep down, are missing. */
export async function readTransitions(
  { store, keys }: { store: Store; keys: Keys },
  refs: readonly TransitionRef[],
): Promise<Map<TransitionRef, Alert>> {
  const wanted = new Set(refs)
  const found = new Map<TransitionRef, Alert>()
  const ofPartition = async ([number, some]: [number, TransitionRef[]]) => {
    const oldest = Math.min(...some.map(numberOfRef))
    let before = '+'
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const page = await store.xrevrange(keys.partition(number).log, before, '-', 'COUNT', PAGE)
      for (const [, fields] of page) {
        const ref = refOf(number, Number(fields[3] ?? 0))
        if (wanted.has(ref)) found.set(ref, decodeEntry(fields[1] ?? '').alert)
      }
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE || Number(last[1][3]) <= oldest) return
      before = `(${last[0]}`
    }
  }
  await Promise.all([...Map.groupBy(wanted, partitionOfRef)].map(ofPartition))
  return found
}

function timeOf({ measuredAt }: Alert): number {
  return Date.parse(measuredAt)
}
