import * as z from 'zod'
import { formatCount } from '../../src/text/format-number.ts'
import { suggest } from '../../src/text/suggest.ts'
import { WEEKDAYS } from '../../src/text/wall-clock.ts'
import { DURATION_PATTERN, formatDuration, parseDuration } from './duration.ts'
import type { Path } from './problems.ts'

/** Forms of a kind of value beyond its schema: as the file may write it, and as it is written back. */
export interface Form {
  /** Allowed values, in words. */
  type?: string
  /** Any groups and lists of the file, to be checked as a whole. */
  structure?: true
  /** A number or `true` in the file is read as its text. */
  text?: true
  /** May come from a file (`...File`), and is never shown. */
  secret?: { make?: (file: string) => string }
  /** The value as the file would have it; a secret masked. Without it a value is written as it is. */
  show?: (value: never) => string | number
}

export const forms = z.registry<Form>()

/** Groups whose settings depend on one of them: which one. */
export const choices = z.registry<{ by: string }>()

const restarts = z.registry<{ restart: true }>()

/** A setting, or a group of them, that a running daemon does not take over when it reads its file again. */
export function untilRestart<Schema extends z.ZodType>(schema: Schema): Schema {
  restarts.add(schema, { restart: true })
  return schema
}

export const needsRestart = (schema: z.core.$ZodType): boolean => restarts.has(schema)

export const REQUIRED = 'required'

/** Facts of an issue of these kinds beside its message. */
export interface IssueFacts extends Record<string, unknown> {
  secret: boolean
  unquoted: string
}

type JsonFacts = Record<string, unknown>

/** `unquoted` is the message where the value must not be quoted. */
type Refuse = (why: string, unquoted?: string) => never

interface Kind<T> extends Form {
  /** The value of the input; `refuse` names what is allowed instead. */
  read: (input: unknown, refuse: Refuse) => T
  json: JsonFacts
}

export function value<T>({ read, json, ...form }: Kind<T>) {
  return z
    .unknown()
    .transform((input, context): T => {
      const refuse: Refuse = (why, unquoted = why) => {
        const params: IssueFacts = { secret: form.secret !== undefined, unquoted }
        context.issues.push({ code: 'custom', input, message: input === undefined ? REQUIRED : why, params })
        return z.NEVER
      }
      return input === undefined ? refuse(REQUIRED) : read(input, refuse)
    })
    .meta(json)
    .register(forms, form)
}

/** The message of a check, unless the setting is missing altogether. */
export const says = (allowed: string) => ({
  error: (issue: { input?: unknown }) => (issue.input === undefined ? REQUIRED : allowed),
})

export function plainText(pattern: RegExp = /^[^\p{Cc}]+$/u, allowed = 'must be text on one line') {
  return z
    .string(says(allowed))
    .regex(pattern, allowed)
    .register(forms, { text: true, type: allowed.replace(/^must be /, '') })
}

/** In quotes, because # begins a comment; `#rrggbb` in the program. */
export function hexColor() {
  return value<string>({
    type: 'color, "#rrggbb"',
    read(input, refuse) {
      const [, digits] = (typeof input === 'string' && /^#?((?:[0-9a-f]{3}){1,2})$/i.exec(input)) || []
      if (digits === undefined) return refuse('must be a color like "#0b6e4f", in quotes')
      const [r = '', g = '', b = ''] = digits
      return `#${digits.length === 3 ? r + r + g + g + b + b : digits}`.toLowerCase()
    },
    text: true,
    json: { type: 'string', pattern: '^#?([0-9A-Fa-f]{3}){1,2}$' },
  })
}

export const toggle = () => z.boolean(says('must be true or false'))

export function wholeNumber(from: number, to: number) {
  const allowed = says(`must be a whole number from ${from} to ${to}`)
  const type = `whole number, ${formatCount(from)} to ${formatCount(to)}`
  return z.int(allowed).min(from, allowed).max(to, allowed).register(forms, { type })
}

interface DurationRange {
  min: string | 0
  max: string
}

/** A duration: `30s` in the file, milliseconds in the program. */
export function duration(range: DurationRange) {
  return value<number>({
    type: durationType(range),
    read: durationReader(range),
    show: formatDuration,
    json: { anyOf: durationJson(range), examples: ['30s', '15m', '7d'] },
  })
}

/** A duration, or `never`. */
export function durationOrNever(range: DurationRange) {
  const read = durationReader(range)
  return value<number | 'never'>({
    type: `${durationType(range)}, or never`,
    read: (input, refuse) =>
      input === 'never'
        ? input
        : read(input, (why, unquoted) => refuse(`${why}; or never`, unquoted && `${unquoted}; or never`)),
    show: (given: number | 'never') => (given === 'never' ? given : formatDuration(given)),
    json: { anyOf: [...durationJson(range), { const: 'never' }], examples: ['never', '30d'] },
  })
}

const durationType = ({ min, max }: DurationRange) => `duration, ${min} to ${max}`

function durationReader({ min, max }: DurationRange) {
  const least = parseDuration(String(min)) ?? 0
  const most = parseDuration(max) ?? Number.POSITIVE_INFINITY
  return (input: unknown, refuse: Refuse): number => {
    if (typeof input === 'number' && input !== 0)
      return refuse(`a duration needs its unit: write ${input}s`, 'a duration needs its unit, like 30s')
    const milliseconds = input === 0 ? 0 : typeof input === 'string' ? parseDuration(input) : undefined
    if (milliseconds === undefined)
      return refuse('must be a duration: a number with ms, s, m, h, d or w, like 30s or 7d')
    if (milliseconds < least || milliseconds > most) return refuse(`must be a duration from ${min} to ${max}`)
    return milliseconds
  }
}

function durationJson({ min }: DurationRange): JsonFacts[] {
  const mayBeZero = (parseDuration(String(min)) ?? 0) === 0
  return [{ type: 'string', pattern: DURATION_PATTERN }, ...(mayBeZero ? [{ const: 0 }] : [])]
}

const PERCENT_PATTERN = '^\\d+(\\.\\d+)? ?%$'

function parsePercent(input: unknown): number | undefined {
  if (typeof input === 'number') return input
  if (typeof input !== 'string' || !new RegExp(PERCENT_PATTERN).test(input.trim())) return undefined
  return Number.parseFloat(input)
}

const percentJson: JsonFacts = { anyOf: [{ type: 'number' }, { type: 'string', pattern: PERCENT_PATTERN }] }

/** A share in percent: usage may be over its limit, so over 100 is allowed. */
export function fill() {
  return value<number>({
    type: 'percentage, above 0',
    read(input, refuse) {
      const percent = parsePercent(input)
      if (percent === undefined || !(percent > 0 && percent <= 1000)) {
        return refuse('must be a percentage above 0 and at most 1000, like 80')
      }
      return percent
    },
    json: percentJson,
  })
}

/** A part of a whole: `50%` in the file, 0.5 in the program. `most` in percent. */
export function share({ most = 95 }: { most?: number } = {}) {
  return value<number>({
    type: `share, 1% to ${most}%`,
    read(input, refuse) {
      const percent = parsePercent(input)
      if (percent === undefined || percent < 1 || percent > most) return refuse(`must be from 1% to ${most}%`)
      return percent / 100
    },
    show: (part: number) => `${Math.round(part * 1e6) / 1e4}%`,
    json: percentJson,
  })
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
    .preprocess((input) => WEEKDAYS.find((_, index) => input === LONG_WEEKDAYS[index]) ?? input, z.enum(WEEKDAYS))
    .meta({ enum: [...WEEKDAYS, ...LONG_WEEKDAYS] })
    .register(forms, { type: WEEKDAYS.join(', ') })
}

/** One or several: `level: critical` and `level: [critical]` are the same. */
export function oneOrMany<Item extends z.ZodType>(item: Item) {
  const many = z.array(item).min(1, 'must have at least one entry, or be left out')
  return z.preprocess((input) => (Array.isArray(input) ? input : [input]), many).meta({ oneOrMany: true })
}

/** A time as a clock on the wall shows it. */
export const timeOfDay = () =>
  plainText(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time from "00:00" to "23:59", in quotes')

/** The time zone of the clock. */
export const timeZone = () =>
  z.string(says('must be the name of a time zone, like Europe/Berlin')).superRefine((name, context) => {
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
