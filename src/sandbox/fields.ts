import { z } from 'zod'

/** An object of these fields and no others; the error for another one names those that there are. */
export function fields<T extends z.ZodRawShape>(shape: T) {
  const unknown = `unknown, allowed are ${Object.keys(shape).join(', ')}`
  return z.strictObject(shape, { error: ({ code }) => (code === 'unrecognized_keys' ? unknown : undefined) })
}

export function wholeFrom(from: number, to = Number.MAX_SAFE_INTEGER) {
  const error = `must be a whole number from ${from} to ${to}`
  return z.int(error).min(from, error).max(to, error)
}
