import type { Shown } from '../text/shown.ts'
import type { Io } from './io.ts'
import { printFacts, say } from './say.ts'
import { printTable } from './table.ts'

/** Prints what an operation shows people, part by part. */
export function printShown(io: Io, parts: readonly Shown[]): void {
  for (const part of parts) {
    if (typeof part === 'string') say(io, part)
    else if ('facts' in part) printFacts(io, part.facts)
    else printTable(io, part.columns, part.rows)
  }
}
