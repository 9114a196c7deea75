/** Keeps the worst `max` of any number of rows: not many more are ever in memory. */
export function keepWorst<T>(max: number, worstFirst: (a: T, b: T) => number) {
  let rows: T[] = []
  const found = () => {
    rows = rows.sort(worstFirst).slice(0, max)
    return rows
  }
  const add = (more: readonly T[]) => {
    rows.push(...more)
    if (rows.length > 2 * max + 1_000) found()
  }
  return { add, found }
}
