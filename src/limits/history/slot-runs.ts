import type { PackedReader, PackedWriter } from './packed.ts'

/** The slots of series, in their order, as runs: mostly there is one, from 0 on. */
export type SlotRuns = readonly (readonly [first: number, length: number])[]

export function writeSlots(out: PackedWriter, slots: readonly number[]): void {
  const runs: [first: number, length: number][] = []
  for (const slot of slots) {
    const run = runs.at(-1)
    if (run !== undefined && run[0] + run[1] === slot) run[1]++
    else runs.push([slot, 1])
  }
  out.whole(runs.length)
  for (const [first, length] of runs) {
    out.whole(first)
    out.whole(length)
  }
}

export function readSlots(input: PackedReader): SlotRuns {
  const runs: [number, number][] = []
  for (let left = input.whole(); left > 0; left--) runs.push([input.whole(), input.whole()])
  return runs
}

export function countSlots(runs: SlotRuns): number {
  return runs.reduce((sum, [, length]) => sum + length, 0)
}
