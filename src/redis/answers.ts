/** The answers of commands that were sent together. Throws the first that was refused. */
export function resultsOf<T>(answers: [error: Error | null, result: unknown][] | null): T[] {
  return (answers ?? []).map(([error, result]) => {
    if (error !== null) throw error
    return result as T
  })
}

/** True where Redis refused because a key is of another type than it should be. */
export function isOfOtherType(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('WRONGTYPE')
}

/** Answers of reads where there is no key. */
const NOTHING = {
  get: null,
  getBuffer: null,
  hget: null,
  hgetBuffer: null,
  hmget: [],
  hgetall: {},
  hgetallBuffer: {},
  lrange: [],
  xrevrange: [],
}

/**
 * Has reads find nothing in a key of another type: what is wrong with one account fails no list of many. Steps do fail at it, and
 * with them the work on that account, which puts it aside.
 */
export function readOtherTypesAsNothing(store: object): void {
  for (const [name, nothing] of Object.entries(NOTHING)) {
    const read = Reflect.get(store, name) as (...args: unknown[]) => Promise<unknown>
    Reflect.set(store, name, (...args: unknown[]) =>
      read.apply(store, args).catch((error: unknown) => {
        if (!isOfOtherType(error)) throw error
        return structuredClone(nothing)
      }),
    )
  }
}
