import * as z from 'zod'
import type { Who } from '../audit/audited.ts'
import type { Scope } from '../http/access/scopes.ts'
import type { Shown } from '../text/shown.ts'
import type { OperationDeps } from './deps.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** One thing that Plimsoll is asked for. Its route, its command, its part of the document and its list page are made from it. */
export interface Operation<I extends z.ZodObject = z.ZodObject, V = unknown> {
  /** A word for programs that make clients from the document. */
  id: string
  method: Method
  /** Below /api/v1; `{hubId}` is the field of that name. */
  path: `/${string}`
  /** Scope that the caller must have; `admin`: all there are. */
  scope: Scope | 'admin'
  /** The effect: lower case, without a dot at the end. */
  summary: string
  /** More of that, for the document. */
  description?: string
  /** The fields: those of the path, and else of the query or, where the method has one, of the body. */
  input: I
  /** Shape of its answer for programs. */
  output: z.ZodType
  /** Statuses that are problems, beside those that every operation may have. */
  problems: readonly number[]
  /** Descriptions of its answers, by their statuses. */
  answers: Readonly<Record<number, string>>
  /** The body is a file, which is read as it comes; all else is in the query. */
  takesFile?: true
  /** Bytes of the largest body, where that is more than usual. */
  mostBytes?: number
  /** Other media types in which it answers. */
  types?: readonly string[]
  run(deps: OperationDeps, call: Call<I>): Promise<V>
  /** The value for programs; absent: it is that already. */
  json?(value: V): unknown
  /** Status of a value, where that is another than 200; `location` of a new item, below /api/v1. */
  statusOf?(value: V): { status: number; location?: string }
  /** The value for people: sentences, facts, tables. */
  table?(value: V, call: Call<I>): readonly Shown[]
  /** Remarks for people, also where a program reads the value. */
  notes?(value: V): readonly string[]
  /** Why the command ends with 1, once it has shown the value. */
  fails?(value: V): string | undefined
  /** The command's exit code. */
  exitCode?(value: V): number
  /** A request that works against the installation that tests seed; the document shows it. */
  example?: Example
  command?: Command
}

/** One call of an operation. */
export interface Call<I extends z.ZodObject = z.ZodObject> {
  input: z.output<I>
  who: Who
  now: number
  /** True where the answer is for people: then the parts that only its table needs are read, too. */
  isForPeople: boolean
  /** Someone waits for a slow answer: shows its progress, and parts of it before its end. */
  onlooker?: Onlooker
  /** The body of an operation that takes a file. */
  file?: AsyncIterable<Buffer>
  /** Aborts when the caller is gone, or this process ends. */
  stop: AbortSignal
}

export interface Onlooker {
  progress(done: number, total: number | undefined): void
  show(parts: readonly Shown[]): Promise<void>
  note(text: string): void
}

/** A request as an example. */
interface Example {
  params?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  body?: object
}

/** An operation on the command line. Its options are the fields of its input that are no arguments. */
export interface Command {
  /** `accounts list` */
  name: string
  /** Fields that are arguments: `<hubId>`, `[accounts...]`. */
  args?: string
  /** Values of options that are not given, where they are others than the API's. */
  defaults?: Readonly<Record<string, string>>
  /** Examples: the text behind the command's name. */
  examples?: readonly string[]
  /** More help, below the options. */
  notes?: string
  /** A flag leads to another operation, by its id, with the same input. */
  flags?: Readonly<Record<string, { id: string; description: string }>>
  /** A field that is given leads to another operation, by its id. */
  given?: Readonly<Record<string, string>>
  /** `--watch` shows it again every few seconds. */
  isWatched?: true
  /** `--max`: how many rows people see, of a list that is not shown whole. */
  maxRows?: string
  /** The question before it destroys, and the words that answer it; `{field}` is what was given. */
  confirm?: { question: string; answer: string }
  /** The words beside the progress of a slow operation. */
  busy?: string
  /** An option `--exit-code`, without which `exitCode` does not count. */
  exitCodeOption?: string
  /** An installation may begin with it. */
  begins?: true
  /** Tokens are encrypted: where no daemon runs, a rekey waits for its end. */
  writesTokens?: true
  /** A key of `encryption.keys` may be missing: this finds out whether it is needed. */
  allowsMissingKeys?: true
  /** The answer goes to a file, which is named in its place. */
  saves?: true
}

type Defaults = 'scope' | 'problems' | 'answers'

/** An operation; without a scope of its own it needs that of its method. */
export function operation<I extends z.ZodObject, V>(
  given: Omit<Operation<I, V>, Defaults> & Partial<Pick<Operation<I, V>, Defaults>>,
): Operation<I, V> {
  const { method, output } = given
  return {
    scope: method === 'GET' ? 'read' : 'write',
    problems: [],
    answers: { 200: output.description ?? 'A page of the list.' },
    ...given,
  }
}

/** A page of a list. */
export interface Listed<T> {
  items: readonly T[]
  /** Absent at the end. */
  next?: string | undefined
}

/** The shape of a list that is given in pages: `next` goes back in as `after`. */
export function pageShape<S extends z.ZodType>(item: S, order: string) {
  return z.object({
    items: z.array(item).describe(order),
    next: z.string().exactOptional().describe('Hand it back as `after` for what follows; absent at the end.'),
  })
}

/** A page for programs. */
export function pageJson<T>({ items, next }: Listed<T>) {
  return { items, ...(next === undefined ? {} : { next }) }
}

/** An answer that is no JSON, written as fast as it is read. */
export class Lines {
  readonly type: string
  readonly fileName: string
  readonly text: AsyncIterable<string> | Iterable<string>

  constructor(type: string, fileName: string, text: Lines['text']) {
    this.type = type
    this.fileName = fileName
    this.text = text
  }
}
