import { objectTypeName, type TypeWords, wordsOfType } from './object-type-name.ts'

/** Two object types in one direction: 0-1 to 0-2 is not 0-2 to 0-1. */
export interface Pair {
  from: string
  to: string
}

export function pairId(pair: Pair): string {
  return `${pair.from}/${pair.to}`
}

export function pairOf(id: string): Pair {
  const [from = '', to = ''] = id.split('/')
  return { from, to }
}

const ARROW = ' → '

/** `Companies → Contacts`; with an account's own labels, by object type, where a report has them. */
export function pairName({ from, to }: Pair, labels: ReadonlyMap<string, string> = new Map()): string {
  return [objectTypeName(from, labels.get(from)), objectTypeName(to, labels.get(to))].join(ARROW)
}

/** Both ends in words, from the name of the pair. */
export function wordsOfPair(pair: Pair, name: string): { from: TypeWords; to: TypeWords } {
  const names = name.split(ARROW)
  const [from = '', to = ''] = names.length === 2 ? names : pairName(pair).split(ARROW)
  return { from: wordsOfType(pair.from, from), to: wordsOfType(pair.to, to) }
}
