import * as z from 'zod'

/** What zod calls a schema, for rooms that only pass shapes on. */
export type Shape = z.ZodType
/** What a program is given that asks for this. */
export type DescribedShape<S extends Shape> = z.output<S>

/** A whole list: the command line does not page. */
export function listOf<S extends Shape>(shape: S) {
  return z.array(shape)
}

/**
 * `open`: as it is published; a reader must take fields that it doesn't know, for later versions add some. `closed`: what
 * this version gives, for tests.
 */
export type Openness = 'open' | 'closed'

/** The JSON Schema (2020-12) of what programs are given, whole. */
export function jsonSchemaOf(shape: Shape, openness: Openness = 'open'): object {
  return z.toJSONSchema(shape, { target: 'draft-2020-12', io: openness === 'open' ? 'input' : 'output' })
}
