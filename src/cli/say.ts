import { cleanText } from '../text/clean-text.ts'
import { displayWidth, wrapToWidth } from '../text/display-width.ts'
import type { Fact } from '../text/shown.ts'
import type { Io } from './io.ts'
import { coloured } from './output.ts'

/** Without a terminal nothing is cut: a reason that is cut off helps no reader of a mail. */
const NO_TERMINAL = Number.POSITIVE_INFINITY

export function roomOf({ isTerminal, columns }: Pick<Io, 'isTerminal' | 'columns'>): number {
  return isTerminal ? Math.max(columns, NARROWEST_TERMINAL) : NO_TERMINAL
}

/** A narrower terminal has no reader, or does not know its width. */
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

const LONGEST_FACT = 400
/** With less room beside its name, a value goes on the line below it. */
const READABLE = 16

/**
 * Facts, a line each, without empty ones: long values go on below, so that nothing of them is lost. Made harmless as in a
 * table.
 */
export function printFacts(io: Io, all: readonly Fact[]): void {
  const facts = all.filter(([, value]) => value.trim() !== '')
  const widest = Math.max(...facts.map(([name]) => displayWidth(name))) + 2
  const isBeside = roomOf(io) - widest >= READABLE
  const indent = isBeside ? widest : 2
  for (const [name, value] of facts) {
    const text = cleanText(value, LONGEST_FACT)
    const lines = wrapToWidth(text, roomOf(io) - indent).map((line) => coloured(io, text, line))
    if (isBeside) {
      const [first = '', ...more] = lines
      io.out(`${`${name}${' '.repeat(indent - displayWidth(name))}${first}`.trimEnd()}\n${below(more, indent)}`)
    } else io.out(`${wrapToWidth(name, roomOf(io)).join('\n')}\n${below(lines, indent)}`)
  }
}

function below(lines: readonly string[], indent: number): string {
  return lines.map((line) => `${' '.repeat(indent)}${line}\n`).join('')
}
