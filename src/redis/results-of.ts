/** The answers of commands that were sent together. Throws the first that was refused. */
export function resultsOf<T>(answers: [error: Error | null, result: unknown][] | null): T[] {
  return (answers ?? []).map(([error, result]) => {
    if (error !== null) throw error
    return result as T
  })
}
