import type { DescribedShape, Shape } from '../views/shapes/words.ts'

/** A moment that is given as a time, or as a time ago: ms, once the time now is known. */
export type Moment = (now: number) => number

/** Kinds of fields: how a text is read. The API and the command line have one reader each for every kind. */
export type FieldKind = 'text' | 'moment' | 'account' | 'flag' | 'json'

export type Surface = 'api' | 'command'

/** One thing that an operation takes: a parameter of the API, an argument or option of a command, a field of a page's form. */
export interface Field<T = unknown> {
  kind: FieldKind
  /** For help and documents: lower case, without a dot at the end. */
  is: string
  isRequired?: boolean
  choices?: readonly string[]
  /** The longest text. */
  most?: number
  /** Parses a text: undefined for a text of another kind, which `must` explains. */
  parse?(text: string): T | undefined
  must?: string
  /** For texts: a command may have it several times, and they make one line. */
  isLine?: true
  /** For accounts: a command may have several. */
  isMany?: true
  /** For moments: never how long ago. */
  isAhead?: true
  /** Schema of a JSON value. */
  schema?: Shape
  /** The default, written as a caller would write it. */
  byDefault?: string | { api?: string; command?: string }
  /** Name of the option on the command line, where that is another word. */
  option?: string
  only?: Surface
  /** For the type only: no field has a value here. */
  readonly reads?: T
}

export type Fields = Readonly<Record<string, Field>>
/** The input of an operation: each of its fields, parsed. */
export type Given<F extends Fields> = { [N in keyof F]: F[N] extends Field<infer T> ? T : never }

type More = Pick<Field, 'most' | 'isLine' | 'option' | 'only' | 'byDefault'>

export function textField(is: string, more: More = {}): Field<string | undefined> {
  return { kind: 'text', is, ...more }
}

export function choiceField<const C extends readonly string[]>(
  choices: C,
  is: string,
  more: More = {},
): Field<C[number] | undefined> {
  return { kind: 'text', is, choices, ...more }
}

/** A text that is parsed at once: both sides refuse an invalid one. */
export function parsedField<T>(
  is: string,
  parse: (text: string) => T | undefined,
  must: string,
  more: More = {},
): Field<T | undefined> {
  return { kind: 'text', is, parse, must, ...more }
}

export function jsonField<S extends Shape>(schema: S, is: string): Field<DescribedShape<S> | undefined> {
  return { kind: 'json', is, schema, only: 'api' }
}

export function momentField(is: string, byDefault?: Field['byDefault']): Field<Moment> {
  return { kind: 'moment', is, ...(byDefault === undefined ? { isRequired: true } : { byDefault }) }
}

/** A moment that need not be given, and may be still to come. */
export function aheadField(is: string, more: More = {}): Field<Moment | undefined> {
  return { kind: 'moment', is, isAhead: true, ...more }
}

/** One account: its hub id, or its domain. */
export function accountField(is: string, more: More = {}): Field<number | undefined> {
  return { kind: 'account', is, option: 'account', ...more }
}

/** Several accounts of a command, one of the API. */
export function accountsField(is: string): Field<number | readonly number[]> {
  return { kind: 'account', is, option: 'accounts', isMany: true, isRequired: true }
}

export function flagField(is: string, more: More = {}): Field<boolean> {
  return { kind: 'flag', is, ...more }
}

export function required<T>(field: Field<T>): Field<Exclude<T, undefined>> {
  return { ...(field as Field<Exclude<T, undefined>>), isRequired: true }
}

/** The value that a surface takes for an absent field. */
export function defaultOf({ byDefault }: Field, surface: Surface): string | undefined {
  return typeof byDefault === 'object' ? byDefault[surface] : byDefault
}

/** The fields of a surface, and their names there. */
export function fieldsOf(fields: Fields, surface: Surface): [name: string, field: Field, called: string][] {
  return Object.entries(fields)
    .filter(([, { only }]) => only === undefined || only === surface)
    .map(([name, field]) => [name, field, surface === 'command' ? (field.option ?? name) : name])
}
