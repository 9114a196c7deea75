import type { Clock } from '../runtime/clock.ts'
import { Secret } from '../runtime/secret.ts'
import { answerIn, answerText } from './answer-text.ts'
import type { AnswerToStore } from './token-store.ts'

/** After some ten seconds a replica has it, and the disk; until a replica takes over, as long again or longer may pass. */
export const DURABLE_MS = 60_000
/** Answers that are stored within so long are kept, and go, together. */
const TOGETHER_MS = 1_000
/** Size of the first pack of such a time, and of those after it. */
const FIRST_BYTES = 2_048
const MORE_BYTES = 65_536

/** Answers that were stored in the same moment. */
interface Pack {
  age: () => number
  /** The number of the first answer here, counted over all that were ever stored. */
  first: number
  /** The texts, one behind the other, and where each ends. */
  bytes: Buffer
  ends: number[]
  /** Numbers of those that were removed. */
  gone: Set<number>
}

/**
 * Answers to refreshes that Redis has taken, and may still lose. With many accounts those are some ten thousand at a time: as
 * objects, each garbage collection copied them, a sixth of what a refresh costs; as bytes they stay in place.
 */
export class YoungAnswers {
  /** The oldest first. */
  readonly #packs: Pack[] = []
  #count = 0
  /** Answers that were handed out, by how many were stored before each. */
  readonly #numbers = new WeakMap<AnswerToStore, number>()

  /** One that was handed out is in its old place no more. */
  add(answer: AnswerToStore, clock: Clock): void {
    if (this.remove(answer)) this.#numbers.set(answer, this.#count)
    const text = answerText(answer).reveal()
    const pack = this.#openPack(clock, 3 * text.length)
    const used = pack.ends.at(-1) ?? 0
    pack.ends.push(used + pack.bytes.write(text, used))
    this.#count++
  }

  /** With room for so many bytes. */
  #openPack(clock: Clock, needed: number): Pack {
    const last = this.#packs.at(-1)
    const isOpen = last !== undefined && last.age() < TOGETHER_MS
    if (isOpen && last.bytes.length - (last.ends.at(-1) ?? 0) >= needed) return last
    this.forgetOld()
    const bytes = Buffer.allocUnsafeSlow(Math.max(isOpen ? MORE_BYTES : FIRST_BYTES, needed))
    const pack: Pack = { age: clock.stopwatch(), first: this.#count, bytes, ends: [], gone: new Set() }
    this.#packs.push(pack)
    return pack
  }

  /** Answers that were taken a minute ago are safe. */
  forgetOld(): void {
    while (this.#packs[0] !== undefined && this.#packs[0].age() >= DURABLE_MS + TOGETHER_MS) this.#packs.shift()
  }

  /** All of them, read anew. */
  all(): AnswerToStore[] {
    return this.#packs.flatMap(({ first, bytes, ends, gone }) =>
      ends.flatMap((end, n) => {
        if (gone.has(first + n)) return []
        const text = bytes.toString('utf8', ends[n - 1] ?? 0, end)
        const answer = answerIn(new Secret(text)) as AnswerToStore
        this.#numbers.set(answer, first + n)
        return [answer]
      }),
    )
  }

  /** One that was handed out; false: it was not. */
  remove(answer: AnswerToStore): boolean {
    const number = this.#numbers.get(answer)
    if (number === undefined) return false
    this.#packs.findLast(({ first }) => first <= number)?.gone.add(number)
    return true
  }
}
