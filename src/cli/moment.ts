import { InvalidArgumentError } from 'commander'
import { parseDuration } from '../../config/duration.ts'
import { parseMoment } from '../http/query.ts'

/** A moment (ISO 8601), or how long ago one was: ms. */
export function parseTime(text: string, now: number): number {
  const ago = parseDuration(text)
  const at = ago === undefined ? parseMoment(text) : now - ago
  if (at === undefined) throw new InvalidArgumentError('A time is like 2026-11-21T10:00:00Z, or how long ago: 7d.')
  return at
}
