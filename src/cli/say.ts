import { wrapToWidth } from '../text/display-width.ts'
import type { Io } from './io.ts'

/** Where no terminal sets a width, nothing is cut: a reason that is cut off helps nobody who reads a mail. */
const NO_TERMINAL = Number.POSITIVE_INFINITY

export function roomOf({ isTerminal, columns }: Pick<Io, 'isTerminal' | 'columns'>): number {
  return isTerminal ? Math.max(columns, NARROWEST_TERMINAL) : NO_TERMINAL
}

/** What is narrower than this is no terminal that somebody reads on, or one that does not know its width. */
const NARROWEST_TERMINAL = 20

/** Sentences for people, a line each; on a terminal they are broken between words, and go on below their beginning. */
export function say(io: Pick<Io, 'out' | 'isTerminal' | 'columns'>, ...lines: string[]): void {
  for (const line of lines) {
    const indent = /^ *(- )?/.exec(line)?.[0].length ?? 0
    const [first = '', ...more] = wrapToWidth(line.slice(indent), roomOf(io) - indent)
    io.out(`${line.slice(0, indent)}${first}\n`)
    for (const rest of more) io.out(`${' '.repeat(indent)}${rest}\n`)
  }
}
