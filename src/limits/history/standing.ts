import { sameValue, type Value } from './change.ts'

/** Series id -> the number by which records of the history name it, for as long as it exists. */
export type Slots = ReadonlyMap<string, number>

/** All series of an account at one moment, each at its slot. */
export class Standing {
  readonly #values: Map<string, Value>
  readonly #slots: Map<string, number>
  readonly #ids: Map<number, string>

  constructor(values: ReadonlyMap<string, Value>, slots: Slots) {
    this.#values = new Map(values)
    this.#slots = new Map(slots)
    this.#ids = new Map([...slots].map(([id, slot]) => [slot, id]))
  }

  copy(): Standing {
    return new Standing(this.#values, this.#slots)
  }

  get values(): ReadonlyMap<string, Value> {
    return this.#values
  }

  idAt(slot: number): string | undefined {
    return this.#ids.get(slot)
  }

  slotOf(id: string): number | undefined {
    return this.#slots.get(id)
  }

  valueOf(id: string): Value | undefined {
    return this.#values.get(id)
  }

  freeSlot(): number {
    return lowestFree(this.#ids)
  }

  set(id: string, value: Value): void {
    this.#values.set(id, value)
  }

  add(id: string, slot: number, value: Value): void {
    this.#values.set(id, value)
    this.#slots.set(id, slot)
    this.#ids.set(slot, id)
  }

  remove(id: string): void {
    this.#ids.delete(this.#slots.get(id) ?? -1)
    this.#slots.delete(id)
    this.#values.delete(id)
  }

  /** Whether the series stands, or doesn't exist, exactly so. */
  is(id: string, value: Value | undefined): boolean {
    return sameValue(this.#values.get(id), value)
  }
}

/**
 * The slots of `ids`: a series keeps the one it had, a new one takes the lowest that is free. One that vanished leaves
 * its slot to others, because the record of its end carries its name.
 */
export function slotsFor(ids: readonly string[], before: Slots): Slots {
  if (ids.length === before.size && ids.every((id) => before.has(id))) return before
  const kept = new Map<number, string>()
  for (const id of ids) {
    const slot = before.get(id)
    if (slot !== undefined) kept.set(slot, id)
  }
  let free = 0
  return new Map(
    ids.map((id) => {
      const slot = before.get(id)
      if (slot !== undefined) return [id, slot]
      while (kept.has(free)) free++
      return [id, free++]
    }),
  )
}

function lowestFree(taken: ReadonlyMap<number, unknown>): number {
  let slot = 0
  while (taken.has(slot)) slot++
  return slot
}
