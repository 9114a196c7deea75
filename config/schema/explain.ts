import type * as z from 'zod'
import { suggest } from '../../src/text/suggest.ts'
import { namesIn } from './names.ts'
import type { Path } from './problems.ts'
import { asGroup, REQUIRED } from './values.ts'

const KINDS_OF_VALUE: Readonly<Record<string, string>> = {
  object: 'a group of settings (name: value)',
  record: 'a group of settings (name: value)',
  array: 'a list',
}

/** A problem of the schema in the words of the file. `foreign` values came from outside the file and are not quoted. */
export function explain(issue: z.core.$ZodRawIssue, foreign: boolean): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? REQUIRED : `must be ${KINDS_OF_VALUE[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return oneOf(issue.input, issue.values, foreign)
    case 'invalid_union': {
      const { discriminator = '', options = [] } = issue as { discriminator?: string; options?: unknown[] }
      return oneOf(asGroup(issue.input)[discriminator], options, foreign)
    }
    case 'unrecognized_keys':
      return namesIn((issue.inst as z.ZodObject).shape).join()
    default:
      return 'not possible here'
  }
}

function oneOf(given: unknown, allowed: readonly unknown[], foreign: boolean): string {
  const list = allowed.join(', ')
  if (given === undefined) return `${REQUIRED}: one of ${list}`
  if (foreign || typeof given !== 'string') return `must be one of ${list}`
  const near = suggest(given, allowed.map(String))
  // Only a plain word is shown: an address may be a secret.
  const quoted = given.length <= 60 && !given.includes('/') ? `"${given}" is ` : ''
  return `${quoted}not one of ${list}${near === undefined ? '' : `; did you mean "${near}"?`}`
}

export interface Issue {
  path: Path
  message: string
  /** The message where the value must not be quoted. */
  unquoted: string
  /** Names in the group at `path` that it does not have; those that it has are the message. */
  unknown?: string[]
}

/** The issues one by one: of a list or a word in its place, of which neither fits, those of the list. */
export function issuesOf(issues: readonly z.core.$ZodIssue[] = [], at: Path = []): Issue[] {
  return issues.flatMap((issue) => {
    const path = [...at, ...issue.path]
    const { message } = issue
    if (issue.code === 'invalid_union' && issue.errors.length > 0) return issuesOf(issue.errors.at(-1), path)
    if (issue.code === 'unrecognized_keys') return [{ path, message, unquoted: message, unknown: issue.keys }]
    const { unquoted = message } = issue.code === 'custom' ? (issue.params ?? {}) : {}
    return [{ path, message, unquoted }]
  })
}
