import * as z from 'zod'
import { choices, type Form, forms } from './values.ts'

/** A schema as a tree to walk beside a file or a config. */
export type ConfigShape =
  | { kind: 'group'; settings: Readonly<Record<string, z.core.$ZodType>> }
  | { kind: 'list'; item: z.core.$ZodType; oneOrMany: boolean }
  | { kind: 'table'; value: z.core.$ZodType }
  /** A group whose settings depend on its setting `by`. */
  | { kind: 'choice'; by: string; groups: ReadonlyMap<unknown, z.core.$ZodType> }
  | { kind: 'value'; form: Form }

export function shapeOf(schema: z.core.$ZodType): ConfigShape {
  const form = forms.get(schema)
  if (form !== undefined) return { kind: 'value', form }
  if (schema instanceof z.ZodObject) return { kind: 'group', settings: schema.shape }
  if (schema instanceof z.ZodArray) return { kind: 'list', item: schema.element, oneOrMany: false }
  if (schema instanceof z.ZodRecord) return { kind: 'table', value: schema.valueType }
  if (schema instanceof z.ZodUnion) return choiceOf(schema) ?? listOrWord(schema.options)
  if (schema instanceof z.ZodExactOptional || schema instanceof z.ZodPrefault) return shapeOf(schema.unwrap())
  if (!(schema instanceof z.ZodPipe)) return { kind: 'value', form: {} }
  // Either a check and what is made of it, or (one or many) what is made a list and its check.
  if (!(schema.in instanceof z.ZodTransform)) return shapeOf(schema.in)
  const shape = shapeOf(schema.out)
  return shape.kind === 'list' ? { ...shape, oneOrMany: true } : shape
}

/** A list, or one word in its place: the word needs nothing of a shape. */
function listOrWord(options: readonly z.core.$ZodType[]): ConfigShape {
  const list = options.map((option) => shapeOf(option)).find(({ kind }) => kind === 'list')
  return list ?? { kind: 'value', form: {} }
}

function choiceOf(schema: z.ZodUnion): ConfigShape | undefined {
  const by = choices.get(schema)?.by
  if (by === undefined) return undefined
  const groups = schema.options.flatMap((option) => {
    const chosen = option instanceof z.ZodObject ? option.shape[by] : undefined
    return chosen instanceof z.ZodLiteral ? [...chosen.values].map((value) => [value, option] as const) : []
  })
  return { kind: 'choice', by, groups: new Map(groups) }
}

const ENDING = 'File'

/** The setting whose secret a file may hold instead, if `name` is the twin of one: `keyFile` is that of `key`. */
export function secretOfTwin(name: string, settings: Readonly<Record<string, z.core.$ZodType>>): string | undefined {
  const twin = name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : ''
  return Object.hasOwn(settings, twin) && isSecret(settings[twin]) ? twin : undefined
}

export const twinOf = (name: string): string => `${name}${ENDING}`

/** Every name that a group accepts, the twins of its secrets included. */
export function namesIn(settings: Readonly<Record<string, z.core.$ZodType>>): string[] {
  return Object.entries(settings).flatMap(([name, schema]) => (isSecret(schema) ? [name, twinOf(name)] : [name]))
}

export function isSecret(schema: z.core.$ZodType | undefined): boolean {
  return secretForm(schema) !== undefined
}

/** The form of a secret, or of the secrets that a list is made of. */
export function secretForm(schema: z.core.$ZodType | undefined): Form['secret'] {
  if (schema === undefined) return undefined
  const shape = shapeOf(schema)
  if (shape.kind === 'list') return secretForm(shape.item)
  return shape.kind === 'value' ? shape.form.secret : undefined
}
