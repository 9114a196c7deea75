import { freshBytes } from '../runtime/fresh-bytes.ts'

/** Steps of the fraction that a moment of this size has room for. */
const FRACTIONS = 4096

/** From 0 up to, and not including, 1. */
export function freshChance(): number {
  return freshBytes(2).readUInt16BE() / 65_536
}

/** The fraction of a claim's end: no plan, and hardly another claim, has it at the same moment. */
export function claimMark(chance: number): number {
  return (1 + Math.floor(chance * (FRACTIONS - 1))) / FRACTIONS
}
