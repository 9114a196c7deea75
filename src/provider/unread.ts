import { parseJson } from './read.ts'

/** An answer that says success and was not read: whoever asked may know it by its bytes. */
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
