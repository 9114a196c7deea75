import type * as z from 'zod'
import { suggest } from '../src/text/suggest.ts'
import { twinOf } from './shape.ts'
import { REQUIRED } from './values.ts'

type RawIssue = z.core.$ZodRawIssue

const KINDS_OF_VALUE: Readonly<Record<string, string>> = {
  object: 'a group of settings (name: value)',
  record: 'a group of settings (name: value)',
  array: 'a list',
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
}

/** What the schema found, in the words of the file. `foreign` values came from outside the file and are not quoted. */
export function explain(issue: RawIssue, foreign: boolean): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return REQUIRED
      return `must be ${KINDS_OF_VALUE[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return issue.input === undefined
        ? `${REQUIRED}: one of ${list(issue.values)}`
        : oneOf(issue.input, issue.values, foreign)
    case 'invalid_union': {
      const by = (issue as { discriminator?: string }).discriminator ?? ''
      const options = (issue as { options?: unknown[] }).options ?? []
      const given = (issue.input as Record<string, unknown> | null | undefined)?.[by]
      return given === undefined ? `${REQUIRED}: one of ${list(options)}` : oneOf(given, options, foreign)
    }
    case 'invalid_key':
      return issue.issues[0]?.message ?? 'not a possible name'
    case 'unrecognized_keys':
      return 'unknown'
    default:
      return 'not possible here'
  }
}

/** How to give a secret that is missing. */
export function explainMissingSecret(name: string): string {
  return `${REQUIRED}, here or in a file that ${twinOf(name)} names`
}

function oneOf(given: unknown, allowed: readonly unknown[], foreign: boolean): string {
  if (foreign || typeof given !== 'string') return `must be one of ${list(allowed)}`
  const near = suggest(given, allowed.map(String))
  // Only a plain word is shown: an address may be a secret.
  const quoted = given.length <= 60 && !given.includes('/') ? `"${given}" is ` : ''
  return `${quoted}not one of ${list(allowed)}${near === undefined ? '' : `; did you mean "${near}"?`}`
}

const list = (values: readonly unknown[]): string => values.map(String).join(', ')
