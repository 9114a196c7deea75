import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { freshBytes } from '../../src/runtime/fresh-bytes.ts'

/** Chance that is the same for the same seed. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to below 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  below(count: number): number {
    return Math.floor(this.next() * count)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.below(from.length)]
    if (picked === undefined) throw new Error('nothing to pick from')
    return picked
  }
}

const { randomBytes, randomInt, randomUUID } = crypto
/** One caller of `freshBytes` takes no more. */
const MOST_TAKEN = 12

/** All that the project names and seals by chance comes of the seed: what is due at once has the same order each time. */
export function seedCrypto(seed: number): void {
  const dice = new Dice(seed + 1)
  const bytes = (count: number) => Buffer.from(Array.from({ length: count }, () => dice.below(256)))
  replace({
    randomBytes: (count: number) => bytes(count > 1_024 ? MOST_TAKEN : count),
    randomInt: (below: number) => dice.below(below),
    randomUUID: () => bytes(16).toString('hex'),
  })
  // Its pool outlasts a run.
  freshBytes(8_192)
}

export function unseedCrypto(): void {
  replace({ randomBytes, randomInt, randomUUID })
}

function replace(chance: object): void {
  Object.assign(crypto, chance)
  syncBuiltinESMExports()
}
