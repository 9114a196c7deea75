import type { Value } from './change.ts'
import type { AccountHistory } from './history.ts'

/** The value of a series from a moment on, until its next stretch. */
export interface TimelineStretch {
  /** ms; -Infinity where it began before all that is kept. */
  from: number
  /** Undefined: it did not exist. */
  value: Value | undefined
}

/** An account's history, series by series. */
export interface Timeline {
  /** By series id, oldest first; a series that appeared begins with a stretch in which it did not exist. */
  series: ReadonlyMap<string, readonly TimelineStretch[]>
  /** Moments of polls that are known: those that saw a change or ended a gap, oldest first. */
  polls: readonly KnownPoll[]
  /** When anything was read last, ms. */
  readAt: number
}

export interface KnownPoll {
  at: number
  /** Nothing was read between this moment and `at`. */
  missingSince?: number
}

export function timelineOf({
  readAt,
  current,
  changes,
}: Pick<AccountHistory, 'readAt' | 'current' | 'changes'>): Timeline {
  const stretches = new Map<string, TimelineStretch[]>()
  const standing = new Map<string, Value | undefined>(current)
  const begin = (id: string, from: number) => {
    const before = stretches.get(id) ?? []
    stretches.set(id, before)
    before.push({ from, value: standing.get(id) })
  }
  for (const { at, before } of changes.toReversed()) {
    for (const [id, was] of before) {
      begin(id, at)
      standing.set(id, was)
    }
  }
  for (const id of standing.keys()) begin(id, Number.NEGATIVE_INFINITY)
  for (const each of stretches.values()) each.reverse()
  const polls = changes.map(({ at, missingSince }) => (missingSince === undefined ? { at } : { at, missingSince }))
  return { series: stretches, polls, readAt }
}
