import * as z from 'zod'
import { parseDuration } from '../../config/schema/duration.ts'
import { isMailbox, LONGEST_MAILBOX, MUST_BE_MAILBOX } from '../runtime/mailbox.ts'
import { parseLocalTime, parseMoment } from '../text/format-time.ts'

/*
 * The fields of operations. They read a request's path, query and body, and the command's options and the document are made
 * from them: a field's description is a phrase for help, and a sentence in the document.
 */

/** A moment that is given as a time, or as a time ago: ms, once the time now is known. */
export type Moment = (now: number) => number

/** Facts of a field beside its check, for the document and for the command line. */
export interface FieldMeta {
  /** JSON Schema of what is sent, where the check reads a text to get at the value. */
  'x-sent'?: object
  /** The option on the command line, where that is another word; false: there is none. */
  'x-option'?: string | false
  /** Word for its value in help. */
  'x-word'?: string
  /** True where a command may have it several times; they make one line. */
  'x-line'?: boolean
  /** True where it names accounts: domains become hub ids before the check. */
  'x-account'?: boolean
  /** True where the command line has the name of a file, whose content is sent. */
  'x-file'?: boolean
  /** The field with a file whose name this one is. */
  'x-name-of'?: string
}

type More = FieldMeta & { most?: number }

/** A query may have a parameter twice, a body anything. */
function onceOr(fault: string) {
  return ({ input }: { input?: unknown }) => (Array.isArray(input) ? 'must be given once' : fault)
}

export function textField(description: string, { most = 200, ...meta }: More = {}) {
  const schema = z.string({ error: onceOr('must be a text') }).trim()
  return schema.max(most, `is longer than ${most} characters`).meta({ description, ...meta })
}

export function choiceField<const T extends readonly string[]>(values: T, description: string, meta: FieldMeta = {}) {
  return z.enum(values, `must be one of ${values.join(', ')}`).meta({ description, ...meta })
}

/** A text that is parsed; `must` says what it has to be. */
export function parsedField<T>(
  description: string,
  parse: (text: string) => T | undefined,
  must: string,
  meta: FieldMeta = {},
) {
  const schema = z.string({ error: onceOr(must) }).transform((given, context) => {
    const value = parse(given.trim())
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: must })
    return z.NEVER
  })
  return schema.meta({ description, 'x-sent': { type: 'string' }, ...meta })
}

export function durationField(description: string) {
  const parse = (given: string) => parseDuration(given) || undefined
  return parsedField(description, parse, 'must be a duration like 20s, 30m, 2h or 1d', { 'x-word': 'duration' })
}

export function mailboxField(description: string, meta: FieldMeta = {}) {
  const schema = z.string({ error: MUST_BE_MAILBOX }).trim().max(LONGEST_MAILBOX, 'is too long')
  return schema.refine(isMailbox, MUST_BE_MAILBOX).meta({ description, ...meta })
}

/** A query has `true` or `false` as texts, a body the value. */
export function flagField(description: string, meta: FieldMeta = {}) {
  const sent = z.enum(['true', 'false']).transform((given) => given === 'true')
  const schema = z.union([z.boolean(), sent], 'must be true or false').prefault(false)
  return schema.meta({ description, 'x-sent': { type: 'boolean' }, ...meta })
}

/** A whole number, as a text too. */
export function numberField(least: number, most: number) {
  const digits = z
    .string()
    .regex(/^\d{1,16}$/)
    .transform(Number)
  const schema = z
    .union([z.int(), digits], { error: onceOr('must be a whole number') })
    .pipe(z.number().min(least, `must be at least ${least}`).max(most, `must be at most ${most}`))
  return schema.meta({ 'x-sent': { type: 'integer', minimum: least, maximum: most } })
}

const TIME = '2026-11-21T18:00 (in http.timeZone), or ISO 8601'
const MUST_BE_TIME = 'must be a time like 2026-11-21T18:00 (in http.timeZone) or 2026-11-21T18:00:00Z'
const OF_TIME = { 'x-sent': { type: 'string', examples: ['2026-11-21T10:00:00Z'] }, 'x-word': 'time' }

/** A time, or how long ago one was. */
export function momentField(description: string, meta: FieldMeta = {}) {
  const parse = (given: string): Moment | undefined => {
    const ago = parseDuration(given)
    return ago === undefined ? timeIn(given) : (now) => now - ago
  }
  const must = `${MUST_BE_TIME}, or how long ago: 24h`
  return parsedField(`${description}: ${TIME}; or how long ago: 30m, 24h, 7d`, parse, must, { ...OF_TIME, ...meta })
}

/** A time, which may be still to come. */
export function timeField(description: string, meta: FieldMeta = {}) {
  return parsedField(`${description}: ${TIME}`, timeIn, MUST_BE_TIME, { ...OF_TIME, ...meta })
}

/** Without an offset it is a time of the zone in which people read times. */
function timeIn(given: string): Moment | undefined {
  const at = parseMoment(given)
  if (at === undefined) return undefined
  if (/(Z|[+-]\d\d:\d\d)$/.test(given)) return () => at
  const local = parseLocalTime(given.includes('T') ? given : `${given}T00:00`)
  return local === undefined ? undefined : () => local
}

const SENT_ACCOUNT = { type: ['integer', 'string'], minimum: 1 }
const OF_ACCOUNT = { 'x-word': 'account', 'x-account': true }

/** The hub id of an account that was named by it, or by its domain. */
export function accountField(description: string, meta: FieldMeta = {}) {
  const schema = numberField(1, Number.MAX_SAFE_INTEGER)
  return schema.meta({
    description: `${description}: hub id or domain`,
    'x-sent': SENT_ACCOUNT,
    'x-option': 'account',
    ...OF_ACCOUNT,
    ...meta,
  })
}

/** The hub ids of accounts; a query has commas between them. */
export function accountsField(description: string) {
  const list = z.array(numberField(1, Number.MAX_SAFE_INTEGER), 'must be a list of accounts')
  const schema = z.preprocess((given) => (typeof given === 'string' ? given.split(',') : given), list)
  return schema.meta({
    description: `${description}: hub ids or domains`,
    'x-sent': { type: 'array', items: SENT_ACCOUNT },
    ...OF_ACCOUNT,
  })
}

/** The value of `next` in a list, which clients hand back. A loop over pages may begin with the place that is none. */
export function cursorField(pattern: RegExp) {
  const place = z.string({ error: onceOr('must be a text') }).max(400, 'is too long')
  const schema = place.regex(pattern, 'must be what the list before called next').optional()
  return z
    .preprocess((given) => (given === '' ? undefined : given), schema)
    .meta({
      description: 'go on behind this: `next` of the answer before',
      'x-sent': { type: 'string' },
      'x-option': false,
    })
}

/** The most items of one answer. */
export function limitField(most = 500, byDefault = 100, description = 'the most items of one answer') {
  return numberField(1, most).prefault(byDefault).meta({ description, 'x-option': false })
}
