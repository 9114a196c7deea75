import { styleText } from 'node:util'
import type { Io } from './io.ts'

type Colour = 'red' | 'yellow' | 'green' | 'gray'

/** Levels, states and outcomes: one colour for what asks for somebody, for what may, for what is well, for what is over. */
const WORDS: Readonly<Record<Colour, readonly string[]>> = {
  red: ['critical', 'fail', 'failed', 'dead', 'reauthorize', 'refused'],
  yellow: ['warning', 'warn', 'failing', 'pending', 'unknown', 'parked', 'uninstalling'],
  green: ['ok', 'active', 'delivered', 'read', 'yes'],
  gray: ['off', 'uninstalled', 'withheld', 'not watched'],
}

const COLOUR_OF = new Map(
  Object.entries(WORDS).flatMap(([colour, words]) => words.map((word) => [word, colour as Colour] as const)),
)

/** A level or state in its colour, where colours are wanted; `shown`: how it stands in its column. */
export function coloured({ hasColours }: Pick<Io, 'hasColours'>, word: string, shown = word): string {
  const colour = COLOUR_OF.get(word)
  return hasColours && colour !== undefined ? styleText(colour, shown, { validateStream: false }) : shown
}

/** What the command line says decides, then the environment (no-color.org), then whether somebody can see them. */
export function wantsColours(args: readonly string[], env: Io['env'], isTerminal: boolean): boolean {
  const end = args.indexOf('--')
  const options = end === -1 ? args : args.slice(0, end)
  if (options.includes('--no-color')) return false
  if (options.includes('--color')) return true
  if ((env.NO_COLOR ?? '') !== '') return false
  if (env.FORCE_COLOR !== undefined) return !['0', 'false'].includes(env.FORCE_COLOR)
  return isTerminal && env.TERM !== 'dumb'
}
