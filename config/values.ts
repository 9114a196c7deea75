import * as z from 'zod'
import { Secret } from '../src/runtime/secret.ts'
import { formatCount } from '../src/text/format-number.ts'
import { WEEKDAYS } from '../src/text/wall-clock.ts'
import { formatHostPort, maskAddress, parseHostPort } from './addresses.ts'
import { DURATION_PATTERN, formatDuration, parseDuration } from './duration.ts'

/** What a kind of value needs beyond its schema: how the file may write it, and how it is written back. */
export interface Form {
  /** What may be set there, in words, for the reference. */
  type?: string
  /** A number or `true` in the file is read as its text. */
  text?: true
  /** May come from a file (`...File`), and is never shown. */
  secret?: { make?: (file: string) => string }
  /** The value as the file would have it; a secret masked. Without it a value is written as it is. */
  show?: (value: never) => string | number
}

export const forms = z.registry<Form>()

export const REQUIRED = 'required'

/** What an issue of these kinds has beside its message. */
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

function value<T>({ read, json, ...form }: Kind<T>) {
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

export function text(pattern: RegExp = /^[^\p{Cc}]+$/u, allowed = 'must be text on one line') {
  return z
    .string(says(allowed))
    .regex(pattern, allowed)
    .register(forms, { text: true, type: allowed.replace(/^must be /, '') })
}

export const toggle = () => z.boolean(says('must be true or false'))

export function whole(from: number, to: number) {
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

interface SecretKind {
  type?: string
  /** Why the text can't be it; undefined when it can. */
  fault?: (text: string) => string | undefined
  show?: (text: string) => string
  make?: (file: string) => string
}

export function secret({ type = 'secret', fault, show, make }: SecretKind = {}) {
  return value<Secret>({
    type,
    read(input, refuse) {
      if (typeof input !== 'string') return refuse('must be text')
      if (input === '') return refuse('must not be empty')
      if (/\p{Cc}/u.test(input)) return refuse('must be text on one line')
      const why = fault?.(input)
      return why === undefined ? new Secret(input) : refuse(why)
    },
    show: (kept: Secret) => show?.(kept.reveal()) ?? '[secret]',
    text: true,
    secret: make === undefined ? {} : { make },
    json: { type: 'string', writeOnly: true },
  })
}

/** An address with a password in it, or that is itself what gives access. */
export function secretAddress(schemes: readonly string[], extra?: (url: URL) => string | undefined) {
  const written = schemes.map((scheme) => `${scheme}://`).join(' or ')
  return secret({
    type: `secret address, ${written}`,
    fault(address) {
      const url = URL.parse(address)
      if (url === null || url.hostname === '' || !schemes.includes(url.protocol.slice(0, -1))) {
        return `must be an address that starts with ${written}; special characters in a password are %-encoded`
      }
      return extra?.(url)
    },
    // What follows the host of a web address is often what gives access; of a Redis it is the number of a database.
    show: (address) => maskAddress(address, { keepPath: !address.startsWith('http') }),
  })
}

/** An https address, or http; which hosts http is good for is decided beside its `insecure`. */
export function webAddress({ strip = true } = {}) {
  return value<string>({
    type: 'address, https://',
    read(input, refuse) {
      const url = typeof input === 'string' ? URL.parse(input) : null
      if (typeof input !== 'string' || url === null || !/^https?:$/.test(url.protocol) || /[\s\p{Cc}]/u.test(input)) {
        return refuse('must be an address that starts with https://')
      }
      if (url.username !== '' || url.password !== '') return refuse('must be an address without user and password')
      if (url.hash !== '') return refuse('must be an address without #')
      if (strip && url.search !== '') return refuse('must be an address without ?')
      return strip ? input.replace(/\/+$/, '') : input
    },
    json: { type: 'string', pattern: '^https?://' },
  })
}

export function hostPort() {
  return value({
    type: 'host:port',
    read(input, refuse) {
      const parsed = typeof input === 'string' ? parseHostPort(input) : undefined
      return parsed ?? refuse('must be host:port, like 127.0.0.1:8088 or [::1]:8088')
    },
    show: formatHostPort,
    json: { type: 'string', pattern: ':\\d{1,5}$' },
  })
}

const ADDRESS = '[^\\s@<>",;]+@[^\\s@<>",;]+'

export function mailAddress() {
  // A name with one of these signs is more than one address, or a group of them, unless it is in quotes.
  const pattern = new RegExp(`^(${ADDRESS}|("[^"<>\\\\\\p{Cc}]*"|[^<>"@,;:\\p{Cc}]*) *<${ADDRESS}>)$`, 'u')
  return text(pattern, 'must be one e-mail address: a@example.com, Name <a@example.com> or "Name, too" <a@example.com>')
}

export function objectTypeId() {
  return text(
    /^\d{1,10}-\d{1,18}$/,
    'must be an objectTypeId, not a name: 0-1 contacts, 0-2 companies, 0-3 deals, 0-5 tickets, 2-123 a custom object',
  )
}

/** One or several: `level: critical` and `level: [critical]` are the same. */
const LONG_WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']

/** A day of the week: `mon` or `monday` in the file, `mon` in the program. */
export function weekday() {
  return z
    .preprocess((input) => WEEKDAYS.find((_, index) => input === LONG_WEEKDAYS[index]) ?? input, z.enum(WEEKDAYS))
    .meta({ enum: [...WEEKDAYS, ...LONG_WEEKDAYS] })
}

export function oneOrMany<Item extends z.ZodType>(item: Item) {
  const many = z.array(item).min(1, 'must have at least one entry, or be left out')
  return z.preprocess((input) => (Array.isArray(input) ? input : [input]), many).meta({ oneOrMany: true })
}

/** Why a text is not a key of so many bytes in base64. */
export function bytesInBase64(text: string): number | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '') ? bytes.length : undefined
}
