import type { Io } from '../../src/cli/io.ts'
import { systemClock } from '../../src/runtime/clock.ts'

/** What a command sees of the world in a test: no terminal, nothing piped in, and `text()` is all that it said. */
export function anIo(more: Partial<Io> = {}): Io & { text(): string } {
  let text = ''
  const write = (words: string) => {
    text += words
  }
  return {
    ...{ env: {}, cwd: '/', out: write, err: write, drained: async () => {}, isTerminal: false },
    ...{ errIsTerminal: false, columns: 200, errColumns: 80, hasColours: false, stdin: nothing },
    ...{ stop: new AbortController().signal, onHangUp: () => {} },
    ...{ clock: systemClock, random: Math.random },
    ...more,
    text: () => text,
  }
}

async function* nothing(): AsyncGenerator<Buffer> {}
