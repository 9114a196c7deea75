/**
 * Reading what a stranger sent. Every reader says which field is wrong and what was found; unknown fields are nobody's
 * business and are never looked at.
 */
export class UnreadableError extends Error {}

export type JsonObject = Record<string, unknown>

/** Half of a surrogate pair is legal in JSON and nowhere else: whatever stores or sends it later would fail. */
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
    value = JSON.parse(text)
  } catch {
    if (text.trimStart().startsWith('<')) throw new UnreadableError('the answer is HTML, not JSON')
    throw new UnreadableError(`the answer of ${body.length} bytes is not valid JSON`)
  }
  return hasHalfPairs(text) ? wellFormed(value) : value
}

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

export function readString(from: JsonObject, field: string, at?: Place): string {
  const value = from[field]
  if (typeof value !== 'string') throw wrong(nameOf(field, at), 'a string', value)
  return value
}

export function readNonEmptyString(from: JsonObject, field: string, at?: Place): string {
  const value = readString(from, field, at)
  if (value === '') throw wrong(nameOf(field, at), 'a string that is not empty', value)
  return value
}

/** A whole number from 0 to 2^53-1. */
export function readCount(from: JsonObject, field: string, at?: Place): number {
  const value = from[field]
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw wrong(nameOf(field, at), 'a whole number of 0 or more', value)
  }
  return value === 0 ? 0 : value // JSON has a -0 too.
}

export function readNumber(from: JsonObject, field: string, at?: Place): number {
  const value = from[field]
  if (typeof value !== 'number' || !Number.isFinite(value)) throw wrong(nameOf(field, at), 'a number', value)
  return value
}

export function readBoolean(from: JsonObject, field: string, at?: Place): boolean {
  const value = from[field]
  if (typeof value !== 'boolean') throw wrong(nameOf(field, at), 'true or false', value)
  return value
}

export function readList<T>(from: JsonObject, field: string, readItem: (item: JsonObject, at: Place) => T): T[] {
  const value = from[field]
  if (!Array.isArray(value)) throw wrong(field, 'a list', value)
  return value.map((item, index) => {
    if (!isObject(item)) throw wrong(`${field}[${index}]`, 'an object', item)
    return readItem(item, { list: field, index })
  })
}

/** Of an item in a list; put into words only where something is wrong with it. */
interface Place {
  list: string
  index: number
}

function nameOf(field: string, at: Place | undefined): string {
  return at === undefined ? field : `${at.list}[${at.index}].${field}`
}

/** Optional and only worth having if it is what it should be. */
export function optionalString(from: JsonObject, field: string): string | undefined {
  const value = from[field]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function wrong(field: string, expected: string, found: unknown): UnreadableError {
  return new UnreadableError(
    `${field} ${found === undefined ? 'is missing' : `is ${describe(found)}`}: expected ${expected}`,
  )
}

/** Never the value itself: it may be a token. */
function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return value === '' ? 'empty' : 'a string'
  if (typeof value === 'number') return `the number ${value}`
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
