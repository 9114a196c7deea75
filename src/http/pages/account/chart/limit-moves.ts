import type { Stand } from './track.ts'

export interface LimitMove {
  at: number
  limit: number
}

/** Where the limit became another. One that was unknown for a while, as where no record is near it, has not moved by that. */
export function limitMoves(stands: readonly Stand[]): LimitMove[] {
  const known = stands.flatMap(({ from, limit }) => (limit === null ? [] : [{ at: from, limit }]))
  return known.filter(({ limit }, n) => n > 0 && known[n - 1]?.limit !== limit)
}
