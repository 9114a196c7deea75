import { type FieldProblem, wholeNumberProblem } from './faults.ts'
import type { ServedCount } from './limits/served-report.ts'

const MOST = 1_000_000_000_000

/** Values that are set for a count; null: there is none. An absent one stays unchanged. */
export type SetCount = Partial<Pick<ServedCount, 'usage' | 'limit'>> | null

/** The counts of one report of an account that were set by hand, and those deleted ones that the provider still counts. */
export class SetCounts {
  readonly #deletedForMs: number
  readonly #set = new Map<string, SetCount>()
  #deleted: { key: string; usage: number; until: number }[] = []

  /** `deletedForMs`: time in which deleted objects still count. */
  constructor(deletedForMs = 0) {
    this.#deletedForMs = deletedForMs
  }

  /** `counts`: those that would be without anything set. */
  set(changes: Readonly<Record<string, SetCount>>, counts: readonly ServedCount[], now: number): void {
    const before = this.#without(counts)
    for (const [key, change] of Object.entries(changes)) {
      const usage = change === null ? 0 : change.usage
      const deleted = usage === undefined ? 0 : (before.get(key)?.usage ?? 0) - usage
      if (this.#deletedForMs === 0 || deleted <= 0) this.#change(key, change)
      else {
        this.#change(key, change ?? { usage: 0 })
        this.#deleted.push({ key, usage: deleted, until: now + this.#deletedForMs })
      }
    }
  }

  applied(counts: readonly ServedCount[], now: number): ServedCount[] {
    const after = this.#without(counts)
    this.#deleted = this.#deleted.filter(({ until }) => now < until)
    for (const { key, usage } of this.#deleted) {
      const count = after.get(key) ?? { key, usage: 0 }
      after.set(key, { ...count, usage: count.usage + usage })
    }
    return [...after.values()]
  }

  #change(key: string, change: SetCount): void {
    this.#set.set(key, change === null ? null : { ...this.#set.get(key), ...change })
  }

  /** By key, without deleted ones. */
  #without(counts: readonly ServedCount[]): Map<string, ServedCount> {
    const after = new Map(counts.map((count) => [count.key, count]))
    for (const [key, change] of this.#set) {
      if (change === null) after.delete(key)
      else after.set(key, { usage: 0, ...after.get(key), ...change, key })
    }
    return after
  }
}

/** The first field that is wrong in `{ KEY: { usage?, limit? } | null }` as it came in, if one is. */
export function setCountsProblem(value: Record<string, unknown>): FieldProblem | undefined {
  for (const [key, given] of Object.entries(value)) {
    if (given === null) continue
    if (typeof given !== 'object') return { field: key, problem: 'must be an object or null' }
    for (const [name, number] of Object.entries(given)) {
      const isKnown = name === 'usage' || name === 'limit'
      const problem = isKnown ? wholeNumberProblem(number, 0, MOST) : 'unknown, allowed are usage, limit'
      if (problem !== undefined) return { field: `${key}.${name}`, problem }
    }
  }
  return undefined
}
