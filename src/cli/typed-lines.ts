import { linesOf } from './client.ts'
import type { Io } from './io.ts'

/** Reads what a person types, a line at a time: undefined where the input ended, or where a signal ends the command. */
export function typedLines({ stdin, stop }: Pick<Io, 'stdin' | 'stop'>): () => Promise<string | undefined> {
  const lines = linesOf(stdin())
  const { promise: stopped, resolve } = Promise.withResolvers<undefined>()
  stop.addEventListener('abort', () => resolve(undefined), { once: true })
  return () => Promise.race([stopped, lines.next().then(({ value }) => value?.trim())])
}
