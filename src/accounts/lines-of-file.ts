import { TextDecoder } from 'node:util'

/** No token is longer; a file without line ends must not fill the memory. */
export const LONGEST_LINE = 20_000

/** `text` is undefined for a line that is too long. */
export interface FileLine {
  /** Number of the line in the file, from 1. */
  line: number
  text: string | undefined
}

/** Lines of a file, of which several may be read ahead of the one that is next. */
export class LinesAhead {
  readonly #lines: AsyncGenerator<FileLine>
  readonly #ahead: FileLine[] = []

  constructor(bytes: AsyncIterable<Buffer>) {
    this.#lines = linesOf(bytes)
  }

  /** The line after `skipped` more; undefined behind the last one. */
  async at(skipped: number): Promise<FileLine | undefined> {
    while (this.#ahead.length <= skipped) {
      const read = await this.#lines.next()
      if (read.done === true) return undefined
      this.#ahead.push(read.value)
    }
    return this.#ahead[skipped]
  }

  skip(count: number): void {
    this.#ahead.splice(0, count)
  }

  /** Closes the file, of which there may be more. */
  async close(): Promise<void> {
    await this.#lines.return(undefined)
  }
}

/** Lines of UTF-8 or UTF-16, with or without a byte order mark, which end with LF, CR LF or CR alone. */
async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<FileLine> {
  let line = 0
  let rest = ''
  let isTooLong = false
  for await (const text of textOf(bytes)) {
    // A CR at the end of a piece may have its LF in the next one.
    const isHalf = text.endsWith('\r')
    const parts = (rest + (isHalf ? text.slice(0, -1) : text)).split(/\r\n|\n|\r/)
    rest = (parts.pop() ?? '') + (isHalf ? '\r' : '')
    for (const part of parts) {
      yield { line: ++line, text: isTooLong || part.length > LONGEST_LINE ? undefined : part }
      isTooLong = false
    }
    if (rest.length > LONGEST_LINE) {
      isTooLong = true
      rest = isHalf ? '\r' : ''
    }
  }
  const last = rest.endsWith('\r') ? rest.slice(0, -1) : rest
  if (last !== '' || isTooLong) yield { line: ++line, text: isTooLong ? undefined : last }
}

/** The decoder takes a byte order mark away. */
async function* textOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined
  let begin = Buffer.alloc(0)
  for await (const chunk of bytes) {
    if (decoder !== undefined) {
      yield decoder.decode(chunk, { stream: true })
      continue
    }
    begin = Buffer.concat([begin, chunk])
    if (begin.length < 2) continue
    decoder = new TextDecoder(encodingOf(begin))
    yield decoder.decode(begin, { stream: true })
  }
  yield decoder === undefined ? begin.toString() : decoder.decode()
}

/** A list of accounts begins with ASCII: without a mark, the place of the zero byte tells the order of UTF-16. */
function encodingOf(begin: Buffer): 'utf-8' | 'utf-16le' | 'utf-16be' {
  const [first, second] = begin
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return 'utf-16le'
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0)) return 'utf-16be'
  return 'utf-8'
}
