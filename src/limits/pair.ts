import { objectTypeName } from './object-type-name.ts'

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

/** `Companies → Contacts`; with an account's own labels, by object type, where a report has them. */
export function pairName({ from, to }: Pair, labels: ReadonlyMap<string, string> = new Map()): string {
  return `${objectTypeName(from, labels.get(from))} → ${objectTypeName(to, labels.get(to))}`
}
