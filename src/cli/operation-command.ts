import type { Argument, Option } from 'commander'
import { defaultOf, type Field, type FieldKind, fieldsOf } from '../operations/field.ts'
import type { Operation } from '../operations/operation.ts'
import { argument, type CommandSpec, mostRows, option, parseAccount, parseTime, watchOption } from './arguments.ts'
import type { Io } from './io.ts'

/** How what is written for a field is read, and what help says of that; a text or a choice is taken as it is. */
const READERS: Readonly<Partial<Record<FieldKind, { read: (text: string) => unknown; hint: string; word: string }>>> = {
  moment: { read: parseTime, hint: '2026-11-21T18:00 (in http.timeZone), ISO 8601, or how long ago', word: 'time' },
  account: { read: parseAccount, hint: 'hub id or domain', word: 'account' },
}

/** An operation as a command: what its words name are arguments, all else are options. */
export function operationCommand(name: string, operation: Operation): CommandSpec {
  const { is, args = '', takes, pages, isWatched, examples = [''] } = operation
  const words = args.split(' ').filter((word) => word !== '')
  const named = words.map((word) => word.replace(/[^\w-]/g, ''))
  const fields = new Map(fieldsOf(takes, 'command').map(([, field, called]) => [called, field]))
  return {
    ...{ is, examples },
    args: words.map((word, n) => argumentOf(word, fields.get(named[n] ?? ''))),
    options: [
      ...[...fields].filter(([name]) => !named.includes(name)).map(([name, field]) => optionOf(name, field)),
      ...(pages?.max === undefined ? [] : [mostRows(pages.max)]),
      ...(isWatched === true ? [watchOption()] : []),
    ],
    run: async () => {
      const { runOperation } = await import('./run-operation.ts')
      return (io: Io, ...given: never[]) => runOperation(io, name, operation, named, given)
    },
  }
}

function argumentOf(word: string, field: Field | undefined): Argument {
  if (field === undefined) throw new Error(`${word} is no field of its operation`)
  return read(argument(word, helpOf(field)), field)
}

function optionOf(name: string, field: Field): Option {
  const value = field.kind === 'flag' ? '' : ` <${READERS[field.kind]?.word ?? name}>`
  const made = read(option(`--${name}${value}`, helpOf(field)), field)
  const byDefault = defaultOf(field, 'command')
  const reader = READERS[field.kind]
  if (byDefault !== undefined && reader === undefined) made.default(byDefault)
  else if (byDefault !== undefined) made.default(reader?.read(byDefault), byDefault)
  return made.makeOptionMandatory(field.isRequired === true)
}

function helpOf({ is, kind }: Field): string {
  return [is, READERS[kind]?.hint].filter((text) => text !== undefined).join(': ')
}

function read<O extends Option | Argument>(made: O, { kind, choices }: Field): O {
  const reader = READERS[kind]?.read
  if (choices !== undefined) made.choices(choices)
  else if (reader !== undefined) made.argParser(reader)
  return made
}
