import type { Column } from './columns.ts'

/** A name and what is known of it. */
export type Fact = readonly [name: string, value: string]

/** Output for people, part by part: a sentence, facts, a table. */
export type Shown =
  | string
  | { facts: readonly Fact[] }
  | { columns: readonly Column[]; rows: readonly (readonly string[])[] }
