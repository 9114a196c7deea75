import type { Column } from './columns.ts'

/** A name and what is known of it. */
export type Fact = readonly [name: string, value: string]

/** A cell of a table; on a page it may lead to another page. */
export type Cell = string | { text: string; href: string }

/** Output for people, part by part: a sentence, facts, a table. */
export type Shown =
  | string
  | { facts: readonly Fact[] }
  | { columns: readonly Column[]; rows: readonly (readonly Cell[])[] }

export function textOfCell(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.text
}
