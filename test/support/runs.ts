/** How often a test repeats: `usual` times; with PLIMSOLL_FULL=1, as `npm run nightly` sets it, `full` times. */
export function runs(usual: number, full: number): number {
  return process.env.PLIMSOLL_FULL === '1' ? full : usual
}

/** All of a list with PLIMSOLL_FULL=1; else of each group (`groupOf`) one, another of each. */
export function sampled<T>(all: readonly T[], groupOf: (one: T) => unknown): T[] {
  if (process.env.PLIMSOLL_FULL === '1') return [...all]
  return [...Map.groupBy(all, groupOf).values()].flatMap((group, n) => group[n % group.length] ?? [])
}
