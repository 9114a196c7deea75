/** What one series stood at. `limit` is null where there is none to compare with. */
export interface Value {
  usage: number
  limit: number | null
}

/** What one poll found changed, told backwards: what things were before it. */
export interface Change {
  /** When the poll was, ms. */
  at: number
  /** Nothing was read between this moment and `at`. */
  missingSince?: number
  /** Series that changed, each with what it was before; undefined: it did not exist. */
  before: [seriesId: string, before: Value | undefined][]
}
