import type * as z from 'zod'
import type { Path } from './problems.ts'

/**
 * Values that were not checked yet, or failed their own check: a relation checks what it can use and leaves the rest.
 * That way all problems are reported at once, not the second half after the first half was fixed.
 */
export type Unchecked = Readonly<Record<string, unknown>>

export type Report = (path: Path, message: string) => void

/** A schema whose settings must also agree with one another. */
export function related<Schema extends z.ZodType>(schema: Schema, check: (value: Unchecked, report: Report) => void) {
  return schema.superRefine(
    (value, context) => {
      if (!isGroup(value)) return
      check(value, (path, message) => context.addIssue({ code: 'custom', path: [...path], message }))
    },
    { when: () => true },
  )
}

export function isGroup(value: unknown): value is Unchecked {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const asGroup = (value: unknown): Unchecked => (isGroup(value) ? value : {})

export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
