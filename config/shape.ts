import type * as z from 'zod'
import { type Form, forms } from './values.ts'

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
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'object':
      return { kind: 'group', settings: def.shape }
    case 'array':
      return { kind: 'list', item: def.element, oneOrMany: false }
    case 'record':
      return { kind: 'table', value: def.valueType }
    case 'union':
      return isChoice(schema) ? { kind: 'choice', ...choiceOf(schema) } : listOrWord(def.options)
    case 'optional':
    case 'default':
    case 'prefault':
    case 'readonly':
      return shapeOf(def.innerType)
    case 'pipe': {
      // Either a check and what is made of it, or (one or many) what is made a list and its check.
      if ((def.in as z.core.$ZodTypes)._zod.def.type !== 'transform') return shapeOf(def.in)
      const shape = shapeOf(def.out)
      return shape.kind === 'list' ? { ...shape, oneOrMany: true } : shape
    }
    default:
      return { kind: 'value', form: {} }
  }
}

function isChoice(schema: z.core.$ZodType): boolean {
  return (schema as z.core.$ZodDiscriminatedUnion)._zod.def.discriminator !== undefined
}

/** A list, or one word in its place: the word needs nothing of a shape. */
function listOrWord(options: readonly z.core.$ZodType[]): ConfigShape {
  const list = options.map((option) => shapeOf(option)).find(({ kind }) => kind === 'list')
  return list ?? { kind: 'value', form: {} }
}

function choiceOf(schema: z.core.$ZodType) {
  const { discriminator, options } = (schema as z.core.$ZodDiscriminatedUnion)._zod.def
  const groups = new Map<unknown, z.core.$ZodType>()
  for (const option of options) {
    for (const value of option._zod.propValues?.[discriminator] ?? []) groups.set(value, option)
  }
  return { by: discriminator, groups }
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
