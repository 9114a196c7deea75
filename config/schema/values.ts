import * as z from 'zod'
import { suggest } from '../../src/text/suggest.ts'
import { WEEKDAYS } from '../../src/text/wall-clock.ts'
import { DURATION_PATTERN, formatDuration, parseDuration } from './duration.ts'
import type { Path } from './problems.ts'

export const REQUIRED = 'required'

/** `unquoted` is the message where the value must not be quoted. */
type Refuse = (why: string, unquoted?: string) => never

interface Kind<T> {
  /** The value of what the file has; `refuse` names what is allowed instead. */
  read: (input: unknown, refuse: Refuse) => T
  /** The value as the file would have it; a secret masked. */
  write?: (value: T) => unknown
  /** The same for editors. */
  json: Record<string, unknown>
  /** The message where it is missing. */
  required?: string
}

/** A kind of value that is written otherwise than the program has it. */
export function value<T>({ read, write = (value) => value, json, required = REQUIRED }: Kind<T>) {
  return z
    .codec(z.unknown(), z.custom<T>(), {
      decode(input, context): T {
        const refuse: Refuse = (why, unquoted = why) => {
          context.issues.push({ code: 'custom', input, message: why, params: { unquoted } })
          return z.NEVER
        }
        return input === undefined ? refuse(required) : read(input, refuse)
      },
      // A setting that is left out stays so.
      encode: (value) => (value === undefined ? value : write(value)),
    })
    .meta(json)
}

/** The message of a check, unless the setting is missing altogether. */
export const reason = (allowed: string) => ({
  error: (issue: { input?: unknown }) => (issue.input === undefined ? REQUIRED : allowed),
})

export function plainText(pattern: RegExp = /^[^\p{Cc}]+$/u, allowed = 'must be text on one line') {
  return z.string(reason(allowed)).regex(pattern, allowed)
}

/** A kind of which one message names all that is allowed. `parse` gives undefined for anything else. */
export function parsed<T>(
  allowed: string,
  parse: (text: string) => T | undefined,
  json: Record<string, unknown>,
  write?: (value: T) => unknown,
) {
  const read: Kind<T>['read'] = (input, refuse) => parse(textOf(input)) ?? refuse(allowed)
  return value<T>({ read, json, ...(write !== undefined && { write }) })
}

/** Empty for groups and lists. */
const textOf = (input: unknown) => (typeof input === 'object' ? '' : String(input))

/** In quotes, because # begins a comment; with a # in the program. */
export function hexColor() {
  const parse = (text: string) => {
    const [, digits] = /^#?(([0-9a-f]{3}){1,2})$/i.exec(text) ?? []
    return digits === undefined ? undefined : `#${digits.toLowerCase()}`
  }
  return parsed('must be a color like "#0b6e4f", in quotes', parse, { type: 'string' })
}

export function toggle() {
  const words: Record<string, boolean> = { true: true, false: false }
  return parsed('must be true or false', (text) => words[text.toLowerCase()], { type: 'boolean' })
}

/** A number by its text; undefined for what is none, or not within these bounds. */
function numberOf(text: string, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY) {
  const given = text.trim() === '' ? Number.NaN : Number(text)
  return given >= least && given <= most ? given : undefined
}

export function wholeNumber(minimum: number, maximum: number) {
  const parse = (text: string) => {
    const given = numberOf(text, minimum, maximum)
    return Number.isInteger(given) ? given : undefined
  }
  const allowed = `must be a whole number from ${minimum} to ${maximum}`
  return parsed(allowed, parse, { type: 'integer', minimum, maximum })
}

/** A number of at least 0. */
export function amount(allowed: string, maximum = Number.MAX_VALUE) {
  return parsed(allowed, (text) => numberOf(text, 0, maximum), { type: 'number', minimum: 0, maximum })
}

interface DurationRange {
  min: string | 0
  max: string
}

/** A duration: `30s` in the file, milliseconds in the program. */
export const duration = (range: DurationRange) => value<number>(durationKind(range))

/** A duration, or `never`. */
export function durationOrNever(range: DurationRange) {
  const { read, write, json } = durationKind(range)
  return value<number | 'never'>({
    read: (input, refuse) =>
      input === 'never'
        ? input
        : read(input, (why, unquoted = why) => refuse(`${why}; or never`, `${unquoted}; or never`)),
    write: (given) => (given === 'never' ? given : write(given)),
    json: { anyOf: [...json.anyOf, { const: 'never' }], examples: ['never', '30d'] },
  })
}

function durationKind({ min, max }: DurationRange) {
  const least = parseDuration(String(min)) ?? 0
  const most = parseDuration(max) ?? Number.POSITIVE_INFINITY
  const read = (input: unknown, refuse: Refuse): number => {
    const text = textOf(input)
    const bare = numberOf(text)
    if (bare !== undefined && bare !== 0)
      return refuse(`a duration needs its unit: write ${text}s`, 'a duration needs its unit, like 30s')
    const milliseconds = bare ?? parseDuration(text)
    if (milliseconds === undefined)
      return refuse('must be a duration: a number with ms, s, m, h, d or w, like 30s or 7d')
    if (milliseconds < least || milliseconds > most) return refuse(`must be a duration from ${min} to ${max}`)
    return milliseconds
  }
  const written = { type: 'string', pattern: DURATION_PATTERN }
  const json = { anyOf: least === 0 ? [written, { const: 0 }] : [written], examples: ['30s', '15m', '7d'] }
  return { read, write: formatDuration, json }
}

const PERCENT = { type: 'string', pattern: '^\\d+(\\.\\d+)? ?%$' }
const percentJson = { anyOf: [{ type: 'number' }, PERCENT] }

function percentOf(text: string, least: number, most: number): number | undefined {
  const isWithSign = new RegExp(PERCENT.pattern).test(text.trim())
  return numberOf(isWithSign ? text.replace('%', '') : text, least, most)
}

/** A share in percent: usage may be over its limit, so over 100 is allowed. */
export function fill() {
  const parse = (text: string) => percentOf(text, Number.MIN_VALUE, 1000)
  return parsed('must be a percentage above 0 and at most 1000, like 80', parse, percentJson)
}

/** A part of a whole: `50%` in the file, 0.5 in the program. `most` in percent. */
export function share({ most = 95 }: { most?: number } = {}) {
  const parse = (text: string) => {
    const percent = percentOf(text, 1, most)
    return percent && percent / 100
  }
  const write = (part: number) => `${Math.round(part * 1e6) / 1e4}%`
  return parsed(`must be from 1% to ${most}%`, parse, percentJson, write)
}

export function objectTypeId() {
  return plainText(
    /^\d{1,10}-\d{1,18}$/,
    'must be an objectTypeId, not a name: 0-1 contacts, 0-2 companies, 0-3 deals, 0-5 tickets, 2-123 a custom object',
  )
}

const LONG_WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']

/** A day of the week: `mon` or `monday` in the file, `mon` in the program. */
export function weekday() {
  return z
    .codec(z.unknown(), z.enum(WEEKDAYS), {
      decode: (input) => WEEKDAYS[LONG_WEEKDAYS.indexOf(String(input))] ?? (input as (typeof WEEKDAYS)[number]),
      encode: (day) => day,
    })
    .meta({ type: 'string', enum: [...WEEKDAYS, ...LONG_WEEKDAYS] })
}

/**
 * One or several: `level: critical` and `level: [critical]` are the same. A text has one a line, as a file with secrets does.
 */
export function oneOrMany<Item extends z.ZodType>(item: Item, least = 1) {
  return z.codec(z.unknown(), z.array(item).min(least, 'must have at least one entry, or be left out'), {
    decode(input) {
      const lines = typeof input === 'string' ? input.split(/\r?\n/).map((line) => line.trim()) : []
      const entries = lines.filter((line) => line !== '')
      return (Array.isArray(input) ? input : entries.length > 0 ? entries : [input]) as z.input<Item>[]
    },
    encode: (list) => list,
  })
}

/** A time as a clock on the wall shows it. */
export const timeOfDay = () =>
  plainText(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time from "00:00" to "23:59", in quotes')

/** The time zone of the clock. */
export const timeZone = () =>
  z.string(reason('must be the name of a time zone, like Europe/Berlin')).superRefine((name, context) => {
    if (isTimeZone(name)) return
    const near = suggest(name, Intl.supportedValuesOf('timeZone'))
    const hint = near === undefined ? 'use a name like Europe/Berlin' : `did you mean "${near}"?`
    context.addIssue({ code: 'custom', message: `no time zone has this name, ${hint}` })
  })

function isTimeZone(name: string): boolean {
  try {
    // An offset such as +02:00 is understood too, and would be wrong half of the year.
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

/**
 * Values that were not checked yet, or failed their own check: a relation checks what it can use and leaves the rest.
 * That way all problems are reported at once, not the second half after the first half was fixed.
 */
export type Unchecked = Readonly<Record<string, unknown>>

export type ReportProblem = (path: Path, message: string) => void

/** A schema whose settings must also agree with one another. */
export function related<Schema extends z.ZodType>(
  schema: Schema,
  check: (value: Unchecked, report: ReportProblem) => void,
) {
  return schema.superRefine(
    (value, context) => {
      if (!isGroup(value)) return
      check(value, (path, message) => context.addIssue({ code: 'custom', path: [...path], message }))
    },
    { when: () => true },
  )
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** A table of what has a name of its own. */
export function byName<Schema extends z.ZodType>(whose: string, schema: Schema) {
  return related(z.record(z.string(), schema), (given, report) => {
    for (const name of Object.keys(given))
      if (!NAME.test(name)) report([name], `${whose} is made of letters, digits, _ and -`)
  }).meta({ propertyNames: { pattern: NAME.source } })
}

export function isGroup(value: unknown): value is Unchecked {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const asGroup = (value: unknown): Unchecked => (isGroup(value) ? value : {})

export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** A schema of a list in which no two entries may have the same key; an entry without a key agrees with all others. */
export function distinct<Schema extends z.ZodType>(
  list: Schema,
  keyOf: (entry: Unchecked) => unknown,
  message: string,
  ...place: string[]
) {
  return list.superRefine(
    (entries, context) => {
      const seen = new Set<unknown>()
      for (const [index, entry] of asList(entries).entries()) {
        const key = keyOf(asGroup(entry))
        if (key === undefined) continue
        if (seen.has(key)) context.addIssue({ code: 'custom', path: [index, ...place], message })
        seen.add(key)
      }
    },
    { when: () => true },
  )
}
