/**
 * Reading data from outside. Every reader names the wrong field and what was found; unknown fields are
 * ignored.
 */
export class UnreadableError extends Error {}

export type JsonObject = Record<string, unknown>

/** Half of a surrogate pair is legal in JSON and nowhere else: storing or sending it later would fail. */
const SURROGATE = /\\u[dD][89a-fA-F]/

/** Hardly any answer has an escape of this kind at all, and finding none is ten times as fast as the pattern. */
function hasHalfPairs(json: string): boolean {
  return json.includes('\\u') && SURROGATE.test(json)
}

export function parseJson(body: Buffer): unknown {
  if (body.length === 0) throw new UnreadableError('the answer is empty')
  const text = body.toString('utf8')
  let value: unknown
  try {
    value = parse(text)
  } catch {
    value = parseStart(text)
  }
  if (value === undefined) throw new UnreadableError(`the answer of ${body.length} bytes is not valid JSON`)
  return hasHalfPairs(text) ? wellFormed(value) : value
}

function parse(text: string): unknown {
  return LONG_ID.test(text) ? parseWithLongIds(text) : JSON.parse(text)
}

/** Without what a proxy wrote behind the object; undefined where that is not JSON either. */
function parseStart(text: string): unknown {
  try {
    return parse(firstObject(text))
  } catch {
    return undefined
  }
}

/** The object at the start of a text; empty where none ends. */
function firstObject(text: string): string {
  if (!/^\s*\{/.test(text)) return ''
  let depth = 0
  for (const { 0: mark, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (mark === '{') depth++
    else if (mark === '}' && --depth === 0) return text.slice(0, index + 1)
  }
  return ''
}

/** An id beyond 2^53 names another record once it is a number: it stays the text that it was. Hardly any answer has one. */
const LONG_ID = /"objectId"\s*:\s*\d{16}/

function parseWithLongIds(text: string): unknown {
  try {
    return (JSON.parse as ParseWithSource)(text, (key, value, { source }) =>
      key === 'objectId' && typeof value === 'number' && !Number.isSafeInteger(value) ? source : value,
    )
  } catch (error) {
    // Nested deeper than the stack is: the readers report what is wrong with its ids.
    if (error instanceof RangeError) return JSON.parse(text)
    throw error
  }
}

/** The library that comes with the compiler does not know the third argument yet. */
type ParseWithSource = (
  text: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown

/** In place and without recursion: an answer may be nested deeper than the stack is. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  const waiting = [value]
  for (let some = waiting.pop(); some !== undefined; some = waiting.pop()) {
    if (typeof some !== 'object' || some === null) continue
    const holder = some as JsonObject
    for (const [name, part] of Object.entries(holder)) {
      if (typeof part === 'string') holder[name] = part.toWellFormed()
      else if (typeof part === 'object' && part !== null) waiting.push(part)
    }
  }
  return value
}

export function asObject(value: unknown, name: string): JsonObject {
  if (!isObject(value)) throw wrong(name, 'an object', value)
  return value
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function readNonEmptyString(from: JsonObject, field: string): string {
  const value = from[field]
  if (typeof value !== 'string') throw wrong(field, 'a string', value)
  if (value === '') throw wrong(field, 'a string that is not empty', value)
  return value
}

/** A whole number from 0 to 2^53-1. */
export function readCount(from: JsonObject, field: string): number {
  const count = countIn(from[field])
  if (count === undefined) throw wrong(field, A_COUNT, from[field])
  return count
}

const A_COUNT = 'a whole number of 0 or more'

function countIn(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) return undefined
  return value === 0 ? 0 : value // JSON has a -0 too.
}

/** Which record of the provider's: a number, or the digits of one that is beyond 2^53. */
export type ObjectId = number | string

const DIGITS = /^[1-9]\d{0,19}$/

function idIn(value: unknown): ObjectId | undefined {
  if (typeof value !== 'string') return countIn(value)
  if (!DIGITS.test(value)) return undefined
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

/** The most faults that are kept of one report. */
const MOST_GAPS = 5

/** Reads a report by its parts: what is not what it should be is named and done without. */
export class Gaps {
  readonly found: string[] = []

  count(from: JsonObject, field: string, at?: ListPlace): number | undefined {
    return countIn(from[field]) ?? this.#none(from, field, A_COUNT, at)
  }

  boolean(from: JsonObject, field: string, at?: ListPlace): boolean | undefined {
    const value = from[field]
    return typeof value === 'boolean' ? value : this.#none(from, field, 'true or false', at)
  }

  text(from: JsonObject, field: string, at?: ListPlace): string | undefined {
    const value = from[field]
    return typeof value === 'string' ? value : this.#none(from, field, 'a string', at)
  }

  nonEmptyText(from: JsonObject, field: string, at?: ListPlace): string | undefined {
    return from[field] === '' ? this.#none(from, field, 'a string that is not empty', at) : this.text(from, field, at)
  }

  id(from: JsonObject, field: string, at?: ListPlace): ObjectId | undefined {
    return idIn(from[field]) ?? this.#none(from, field, 'the id of a record', at)
  }

  /** Without the items of which nothing comes. */
  list<T>(from: JsonObject, field: string, readItem: (item: JsonObject, at: ListPlace) => T | undefined): T[] {
    const value = from[field]
    if (!Array.isArray(value)) {
      this.#none(from, field, 'a list')
      return []
    }
    const items: T[] = []
    for (const [index, item] of value.entries()) {
      if (!isObject(item)) this.note(() => faultOf(`${field}[${index}]`, 'an object', item))
      const read = isObject(item) ? readItem(item, { list: field, index }) : undefined
      if (read !== undefined) items.push(read)
    }
    return items
  }

  /** Gaps as a report has them: nothing where all of it was read. */
  named(): { gaps?: string[] } {
    return this.found.length === 0 ? {} : { gaps: this.found }
  }

  note(what: () => string): void {
    if (this.found.length < MOST_GAPS) this.found.push(what())
  }

  #none(from: JsonObject, field: string, expected: string, at?: ListPlace): undefined {
    this.note(() => faultOf(nameOf(field, at), expected, from[field]))
  }
}

/** Place of an item in a list; formatted only where it is wrong. */
export interface ListPlace {
  list: string
  index: number
}

function nameOf(field: string, at: ListPlace | undefined): string {
  return at === undefined ? field : `${at.list}[${at.index}].${field}`
}

/** Optional and only worth having if it is what it should be. */
export function optionalString(from: JsonObject, field: string): string | undefined {
  const value = from[field]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function wrong(field: string, expected: string, found: unknown): UnreadableError {
  return new UnreadableError(faultOf(field, expected, found))
}

function faultOf(field: string, expected: string, found: unknown): string {
  return `${field} ${found === undefined ? 'is missing' : `is ${describe(found)}`}: expected ${expected}`
}

/** Never the value itself: it may be a token. */
function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return value === '' ? 'empty' : 'a string'
  if (typeof value === 'number') return `the number ${value}`
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Fields of an account's last reports that could not be read, by the report's words. */
export type ReportGaps = Readonly<Record<string, readonly string[]>>

/** One line for each, for people. */
export function gapLines(gaps: ReportGaps): string[] {
  return Object.entries(gaps).flatMap(([report, found]) => found.map((what) => `${report}: ${what}`))
}
