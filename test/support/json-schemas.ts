import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import * as z from 'zod'
import type { Shape } from '../../src/views/shapes/words.ts'

const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true })
addFormats.default(ajv)

const compiled = new Map<Shape, ReturnType<typeof ajv.compile>>()

/** What of `json` the shape doesn't say, or says otherwise; a field that it doesn't know is a fault too. */
export function faultsOf(shape: Shape, json: unknown): string[] {
  const schema = () => z.toJSONSchema(shape, { target: 'draft-2020-12', io: 'output' })
  const validate = compiled.get(shape) ?? ajv.compile(schema())
  compiled.set(shape, validate)
  if (validate(json)) return []
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  )
}
