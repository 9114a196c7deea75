import type { ObjectId } from './read.ts'

/**
 * Most that is kept of one account, however large its answers are: code behind these readers sees no more. Real
 * accounts have far less.
 */
export const MOST_OBJECT_TYPES = 500
const LONGEST_ID = 100
/** Most records of each list of a pair's report. */
const MOST_RECORDS = 100
/** Longest label, domain or name of a user; people are shown less. */
const LONGEST_WORDS = 255
const MOST_SCOPES = 500

interface Typed {
  objectTypeId: string
}

/**
 * Which object types are kept must not hang on the order of the report, nor on numbers: those that are nearest to their limit
 * would take turns, and with them series, history and alerts come and go. An id that is too long is left out whole, because
 * a part of it would name another type.
 */
export function boundedTypes<T extends Typed>(types: T[]): { kept: T[]; leftOut: number } {
  if (types.length <= MOST_OBJECT_TYPES && types.every(hasShortId)) return { kept: types, leftOut: 0 }
  const first = new Map(types.toReversed().map((type) => [type.objectTypeId, type]))
  const short = [...first.values()].filter(hasShortId)
  const kept = short.sort((a, b) => olderFirst(a.objectTypeId, b.objectTypeId)).slice(0, MOST_OBJECT_TYPES)
  return { kept, leftOut: first.size - kept.length }
}

/** The shorter id is the older type, the provider's own before an account's: new ones push none of these out. */
export function olderFirst(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : 1)
}

function hasShortId({ objectTypeId }: Typed): boolean {
  return objectTypeId.length <= LONGEST_ID
}

/** The fullest; among equals always the same. */
export function boundedRecords<T extends { objectId: ObjectId; usage?: number }>(records: T[]): T[] {
  if (records.length <= MOST_RECORDS) return records
  const fullestFirst = (a: T, b: T) =>
    (b.usage ?? 0) - (a.usage ?? 0) || olderFirst(String(a.objectId), String(b.objectId))
  return records.sort(fullestFirst).slice(0, MOST_RECORDS)
}

export function boundedWords(words: string): string {
  return words.length <= LONGEST_WORDS ? words : words.slice(0, LONGEST_WORDS).toWellFormed()
}

export function boundedScopes(scopes: string[]): string[] {
  return scopes.filter((scope) => scope.length <= LONGEST_ID).slice(0, MOST_SCOPES)
}

/** A larger answer is not read. */
export const MAX_ANSWER_BYTES = 2_000_000
