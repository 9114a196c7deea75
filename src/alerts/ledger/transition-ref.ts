/**
 * A transition as the ledger knows it: its partition and its name there, the place in the partition's log: `17-1732183200000-0`.
 * An earlier version named it by a number: `17-204`.
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

/** As deliveries and steps carry them. */
export function joinRefs(refs: readonly TransitionRef[]): string {
  return refs.join(' ')
}

export function splitRefs(joined: string): TransitionRef[] {
  return joined.split(' ').filter((ref) => ref !== '')
}
