/** A transition as the ledger knows it: partition and number, `17-204`. */
export type TransitionRef = string

export function refOf(partition: number, number: number): TransitionRef {
  return `${partition}-${number}`
}

export function partitionOfRef(ref: TransitionRef): number {
  return Number(ref.slice(0, ref.indexOf('-')))
}

export function numberOfRef(ref: TransitionRef): number {
  return Number(ref.slice(ref.indexOf('-') + 1))
}

/** As deliveries and steps carry them. */
export function joinRefs(refs: readonly TransitionRef[]): string {
  return refs.join(' ')
}

export function splitRefs(joined: string): TransitionRef[] {
  return joined.split(' ').filter((ref) => ref !== '')
}
