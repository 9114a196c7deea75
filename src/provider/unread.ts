import { parseJson } from './read.ts'

/** A successful answer that is not parsed yet: the caller may recognize it by its bytes. */
export class Unread<T> {
  readonly body: Buffer
  readonly #read: (json: unknown) => T
  #value: { is: T } | undefined

  constructor(body: Buffer, read: (json: unknown) => T) {
    this.body = body
    this.#read = read
  }

  /** @throws UnreadableError */
  read(): T {
    this.#value ??= { is: this.#read(parseJson(this.body)) }
    return this.#value.is
  }
}
