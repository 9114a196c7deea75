import { fieldsOf } from '../../src/operations/field.ts'
import type { Operation } from '../../src/operations/operation.ts'

/** The example that an operation has for the API, as it is written on the command line. */
export function exampleArgs({ args = '', takes, example = {} }: Operation): string[] {
  const given: Record<string, string> = { ...example.params, ...example.query, ...(example.body as object) }
  const named = fieldsOf(takes, 'command').map(([key, field, name]) => ({ name, field, text: given[key] }))
  const positional = args.split(' ').map((word) => word.replace(/[^\w-]/g, ''))
  const options = named.filter(({ name, text }) => text !== undefined && !positional.includes(name))
  return [
    ...positional.flatMap((word) => named.find(({ name }) => name === word)?.text ?? []),
    ...options.flatMap(({ name, field, text = '' }) => (field.kind === 'flag' ? [`--${name}`] : [`--${name}`, text])),
  ]
}
