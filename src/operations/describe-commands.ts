import * as z from 'zod'
import { type Field, fieldsOf } from './fields.ts'
import type { Command, Method, Operation } from './operation.ts'

/** A command that the command line sends to the API: all that it needs to know of an operation. */
export interface RemoteCommand
  extends Omit<Command, 'args' | 'flags' | 'given' | 'examples' | 'defaults'>,
    Pick<Operation, 'summary'> {
  examples: readonly string[]
  args: readonly CommandField[]
  options: readonly CommandField[]
  request: RequestPlace
  /** A flag that is given leads elsewhere. */
  flags: Readonly<Record<string, { description: string; request: RequestPlace }>>
  /** A field that is given leads elsewhere. */
  given: Readonly<Record<string, RequestPlace>>
  /** True where the answer may be lines, which are printed as they come. */
  isStreamed: boolean
  /** True where the answer is a page of a list, and nothing else. */
  isList: boolean
}

/** The address of a request, and the fields that it has. */
export interface RequestPlace {
  method: Method
  path: string
  fields: readonly string[]
  takesFile: boolean
}

/** A field as an argument or an option. */
export interface CommandField extends Omit<Field, 'meta'> {
  /** The name on the command line. */
  called: string
  /** Word for the value. */
  word: string
  isMany: boolean
  /** True where it may be given several times, and makes one line. */
  isLine: boolean
  /** True where it is the name of a file, whose content is sent. */
  isFile: boolean
  /** The field with a file whose name this one sends. */
  nameOf?: string
}

export function describeCommands(operations: readonly Operation[]): RemoteCommand[] {
  const byId = new Map(operations.map((operation) => [operation.id, placeOf(operation)]))
  const placeNamed = (id: string) => {
    const place = byId.get(id)
    if (place === undefined) throw new Error(`there is no operation ${id}`)
    return place
  }
  return operations.flatMap((operation) => {
    const { command, summary, input, output, types } = operation
    if (command === undefined) return []
    const { args = '', flags = {}, given = {}, examples = [''], defaults = {}, ...more } = command
    const words = args.split(' ').filter((word) => word !== '')
    const named = words.map((word) => word.replace(/[^\w-]/g, ''))
    const fields = fieldsOf(input).map((field) => {
      const byDefault = defaults[field.name]
      return byDefault === undefined ? field : { ...field, default: byDefault }
    })
    const fieldNamed = (name: string) => {
      const field = fields.find((one) => one.name === name)
      if (field === undefined) throw new Error(`${command.name} has no field ${name}`)
      return field
    }
    const options = fields.filter(({ name, meta }) => !named.includes(name) && meta['x-option'] !== false)
    return {
      ...more,
      summary,
      examples,
      args: words.map((word, n) => ({
        ...commandField(fieldNamed(named[n] ?? '')),
        isRequired: word.startsWith('<'),
        isMany: word.includes('...'),
      })),
      options: [...options.map(commandField), ...namesOfFiles(fields)],
      request: placeOf(operation),
      flags: Object.fromEntries(
        Object.entries(flags).map(([flag, { id, description }]) => [flag, { description, request: placeNamed(id) }]),
      ),
      given: Object.fromEntries(Object.entries(given).map(([field, id]) => [field, placeNamed(id)])),
      isStreamed: types !== undefined,
      isList:
        output instanceof z.ZodObject && Object.keys(output.shape).every((name) => name === 'items' || name === 'next'),
    }
  })
}

function placeOf({ method, path, input, takesFile }: Operation): RequestPlace {
  return { method, path, fields: Object.keys(input.shape), takesFile: takesFile === true }
}

function namesOfFiles(fields: readonly Field[]): CommandField[] {
  return fields.filter(({ meta }) => meta['x-name-of'] !== undefined).map(commandField)
}

function commandField({ meta, ...field }: Field): CommandField {
  const option = meta['x-option']
  const called = typeof option === 'string' ? option : field.name
  return {
    ...field,
    called,
    word: meta['x-word'] ?? called,
    isMany: false,
    isLine: meta['x-line'] === true,
    isFile: meta['x-file'] === true,
    ...(meta['x-name-of'] === undefined ? {} : { nameOf: meta['x-name-of'] }),
  }
}
