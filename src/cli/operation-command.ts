import type { Argument, Option } from 'commander'
import { defaultOf, type Field, fieldsOf } from '../operations/field.ts'
import type { Operation } from '../operations/operation.ts'
import {
  type AccountArgument,
  argument,
  type CommandSpec,
  mostRows,
  option,
  parseAccount,
  parseAccounts,
  parseEnd,
  parseTime,
  refuse,
  watchOption,
  yesOption,
} from './arguments.ts'
import type { Io } from './io.ts'

/** A field on the command line: its parser, its hint in help, and the word for its value. */
interface Reader {
  read?(text: string, before?: unknown): unknown
  hint?: string
  word?: string
}

const A_TIME = '2026-11-21T18:00 (in http.timeZone), ISO 8601'

function readerOf({ kind, parse, must = '', isLine, isAhead, isMany }: Field): Reader {
  if (parse !== undefined) return { read: (text) => parse(text) ?? refuse(must) }
  if (isLine) return { read: (text, before) => (before === undefined ? text : `${before} ${text}`) }
  if (isAhead) return { read: parseEnd, hint: A_TIME, word: 'time' }
  if (kind === 'moment') return { read: parseTime, hint: `${A_TIME}, or how long ago`, word: 'time' }
  if (isMany)
    return { read: (text, before) => parseAccounts(text, before as AccountArgument[]), hint: 'hub ids or domains' }
  return kind === 'account' ? { read: parseAccount, hint: 'hub id or domain', word: 'account' } : {}
}

/** An operation as a command: the fields that `args` names are arguments, all others options. */
export function operationCommand(name: string, operation: Operation): CommandSpec {
  const { is, args = '', takes, pages, isWatched, examples = [''] } = operation
  const words = args.split(' ').filter((word) => word !== '')
  const named = words.map((word) => word.replace(/[^\w-]/g, ''))
  const fields = new Map(fieldsOf(takes, 'command').map(([, field, called]) => [called, field]))
  return {
    is,
    examples,
    args: words.map((word, n) => argumentOf(word, fields.get(named[n] ?? ''))),
    options: [
      ...[...fields].filter(([name]) => !named.includes(name)).map(([name, field]) => optionOf(name, field)),
      ...(pages?.max === undefined ? [] : [mostRows(pages.max)]),
      ...(isWatched === true ? [watchOption()] : []),
      ...(operation.asks === undefined ? [] : [yesOption()]),
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
  const reader = readerOf(field)
  const value = field.kind === 'flag' ? '' : ` <${reader.word ?? name}>`
  const made = read(option(`--${name}${value}`, helpOf(field)), field)
  const byDefault = defaultOf(field, 'command')
  if (byDefault !== undefined) made.default(reader.read?.(byDefault) ?? byDefault, reader.read && byDefault)
  return made.makeOptionMandatory(field.isRequired === true)
}

function helpOf(field: Field): string {
  return [field.is, readerOf(field).hint].filter((text) => text !== undefined).join(': ')
}

function read<O extends Option | Argument>(made: O, field: Field): O {
  const { read } = readerOf(field)
  if (field.choices !== undefined) made.choices(field.choices)
  else if (read !== undefined) made.argParser<unknown>(read)
  return made
}
