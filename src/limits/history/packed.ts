/** Bytes that are not what was written. The message says what is wrong with them, not where they stand. */
export class UnreadableBytes extends Error {}

/**
 * Writes numbers and texts as bytes, without names or types: whoever reads must know what stands where. Whole numbers
 * (0 to 2^53-1) take seven bits a byte, the low ones first; times 6 bytes.
 */
export class PackedWriter {
  #bytes = Buffer.allocUnsafe(256)
  #length = 0

  byte(value: number): void {
    this.#room(1)
    this.#bytes[this.#length++] = value
  }

  /** Of `width` bytes, at most 6. */
  fixed(value: number, width: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no whole number`)
    this.#room(width)
    this.#length = this.#bytes.writeUIntBE(value, this.#length, width)
  }

  time(ms: number): void {
    this.fixed(ms, TIME_BYTES)
  }

  whole(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is no whole number of 0 or more`)
    this.#room(8)
    let rest = value
    // Not by shifts: these know 32 bits only.
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#bytes[this.#length++] = (rest % 128) + 128
    this.#bytes[this.#length++] = rest
  }

  float(value: number): void {
    this.#room(8)
    this.#length = this.#bytes.writeDoubleBE(value, this.#length)
  }

  text(value: string): void {
    const bytes = Buffer.from(value, 'utf8')
    this.whole(bytes.length)
    this.append(bytes)
  }

  append(bytes: Buffer): void {
    this.#room(bytes.length)
    this.#length += bytes.copy(this.#bytes, this.#length)
  }

  done(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length))
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

/** Reads what `PackedWriter` wrote. @throws UnreadableBytes where it can't have written that */
export class PackedReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  byte(): number {
    return this.#bytes[this.#pass(1)] as number
  }

  fixed(width: number): number {
    return this.#bytes.readUIntBE(this.#pass(width), width)
  }

  time(): number {
    return this.fixed(TIME_BYTES)
  }

  whole(): number {
    let value = 0
    for (let unit = 1; ; unit *= 128) {
      const byte = this.byte()
      value += (byte % 128) * unit
      if (value > Number.MAX_SAFE_INTEGER) throw new UnreadableBytes('a number is too large')
      if (byte >= 128) continue
      if (byte === 0 && unit > 1) throw new UnreadableBytes('a number is longer than it need be')
      return value
    }
  }

  float(): number {
    return this.#bytes.readDoubleBE(this.#pass(8))
  }

  text(): string {
    const bytes = this.#take(this.whole())
    try {
      return UTF8.decode(bytes)
    } catch {
      throw new UnreadableBytes('a text is not valid UTF-8')
    }
  }

  /** All that was not read yet. */
  rest(): Buffer {
    return this.#take(this.#bytes.length - this.#at)
  }

  /** How many bytes were read. */
  get at(): number {
    return this.#at
  }

  get atEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  /** For the reader of the last value. */
  end(): void {
    if (!this.atEnd) throw new UnreadableBytes('there is more than belongs there')
  }

  #take(bytes: number): Buffer {
    const from = this.#pass(bytes)
    return this.#bytes.subarray(from, from + bytes)
  }

  /** Where the next bytes begin, which count as read. */
  #pass(bytes: number): number {
    const from = this.#at
    if (from + bytes > this.#bytes.length) throw new UnreadableBytes('it ends too early')
    this.#at += bytes
    return from
  }
}

const TIME_BYTES = 6
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
