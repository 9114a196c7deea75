import * as z from 'zod'
import type { Who } from '../audit/audited.ts'
import type { Scope } from '../http/access/scopes.ts'
import type { Shown } from '../text/shown.ts'
import { type DescribedShape, listOf, type Shape } from '../views/shapes/words.ts'
import type { ActingDeps, OperationDeps } from './deps.ts'
import type { Fields, Given } from './field.ts'

/** One call of an operation. */
export interface OperationCall<F extends Fields> {
  given: Given<F>
  who: Who
  now: number
  page: Page
  /** True where the answer is for people: then the parts that only `show` needs are read, too. */
  isForPeople: boolean
  /** The person who waits for a command. */
  onlooker?: Onlooker
}

/** Shows the progress of an operation, and may stop it. */
export interface Onlooker {
  at(done: number, of: number): void
  stop: AbortSignal
}

/** A page of a list: at most so many items, from behind `next` of the page before. */
export interface Page {
  limit: number
  after?: string | undefined
}

/** The context in which people read a value. */
export interface Reader<F extends Fields> {
  given: Given<F>
  now: number
  isTerminal: boolean
}

/** How an operation is called and described, everywhere. */
interface Called<F extends Fields> {
  /** A word for programs that make clients from the API's document. */
  id: string
  /** Method and path below /api/v1; a field that the path names is read from there. */
  route: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`
  /** The same by other methods, with their own descriptions. */
  also?: readonly (Pick<Called<F>, 'id' | 'route' | 'is'> & { given?: Partial<Given<F>> })[]
  /** Arguments of the command: `<account> [address]`; fields that it names are arguments, the others options. */
  args?: string
  /** Scope that the admin token must have; default: `read` for GET, else `write`. */
  scope?: Scope
  /** The operation gets new tokens: a rekey waits for its end, and so does a caller that stops it. */
  writesTokens?: true
  /** The question before it destroys, for a person at a terminal, and the words that answer it. */
  asks?(deps: OperationDeps, given: Given<F>): Promise<{ question: string; answer: string }>
  /** After a signal to stop, the command waits for the operation: it ends soon. */
  stops?: 'by itself'
  /** Text that is shown while a slow operation runs. */
  busy?(given: Given<F>): string | undefined
  /** Description of the effect: lower case, without a dot at the end. */
  is: string
  /** More of that, for the document. */
  description?: string
  takes: F
  /** Statuses of the API that are problems, beside those that every route may have. */
  problems?: readonly number[]
  /** A request that works against the installation that tests seed. */
  example?: { params?: Readonly<Record<string, string>>; query?: Readonly<Record<string, string>>; body?: object }
  /** Examples: the text behind the command's name. */
  examples?: readonly string[]
}

/** The answer of one surface to programs: its shape, and a value in it. */
interface Answers<V> {
  shape: Shape
  json(value: V): unknown
}

/** One thing that Plimsoll is asked for, by the API and on the command line alike. */
export interface Operation<F extends Fields = Fields, V = unknown> extends Called<F> {
  api: Answers<V>
  cli: Answers<V>
  statuses?: Statuses<V>
  /** `--watch` shows it again every few seconds. */
  isWatched?: true
  /** Paging, for a list that is given in parts. */
  pages?: Pages
  /** A list, which the command line prints whole for programs. */
  isList?: true
  /** Reads stored values, and nothing else; or `does` its action. */
  reads?(deps: OperationDeps, call: OperationCall<F>): Promise<V>
  does?(deps: ActingDeps, call: OperationCall<F>): Promise<V>
  /** For people, in words and tables. */
  show(value: V, reader: Reader<F>): readonly Shown[]
  /** Notes for people about the value, also where a program reads it. */
  notes?(value: V): readonly string[]
  /** The reason why a command ends with 1, once it has shown the outcome. */
  fails?(value: V): string | undefined
}

/** Statuses of the API, where they are others than 200: their descriptions, and the status of a value. */
interface Statuses<V> {
  says: Readonly<Record<number, string>>
  /** `location`: of a new item, below /api/v1. */
  of(value: V): { status: number; location?: string }
}

interface Pages {
  /** Pattern of `next`; absent: there is one page only. */
  cursor?: RegExp
  /** Description of the API's `limit`, where it needs one. */
  limit?: string
  /** Description of the command's `--max`; absent: it prints all. */
  max?: string
}

interface Described<F extends Fields, S extends Shape, V> extends Called<F> {
  gives: S
  statuses?: Statuses<V>
  pages?: Pages
  isWatched?: true
  reads?(deps: OperationDeps, call: OperationCall<F>): Promise<V>
  does?(deps: ActingDeps, call: OperationCall<F>): Promise<V>
  show: Operation<F, V>['show']
  notes?: NonNullable<Operation<F, V>['notes']>
  fails?: NonNullable<Operation<F, V>['fails']>
}

/** An operation that gives one thing; `json` where that is not yet the value for programs. */
export function operation<F extends Fields, S extends Shape, V>(
  described: Described<F, S, V> & { json(value: V): DescribedShape<S> },
): Operation<F, V>
export function operation<F extends Fields, S extends Shape, V extends DescribedShape<S>>(
  described: Described<F, S, V>,
): Operation<F, V>
export function operation<F extends Fields, S extends Shape, V>(
  described: Described<F, S, V> & { json?(value: V): unknown },
): Operation<F, V> {
  const { gives: shape, json = (value: V) => value } = described
  const answers = { shape, json }
  return { ...described, api: answers, cli: answers }
}

/** Reads or does it. */
export function carryOut<F extends Fields, V>(
  { id, reads, does }: Pick<Operation<F, V>, 'id' | 'reads' | 'does'>,
  deps: ActingDeps,
  call: OperationCall<F>,
): Promise<V> {
  const carried = reads ?? does
  if (carried === undefined) throw new Error(`${id} neither reads nor does anything`)
  return carried(deps, call)
}

export interface Listed<I> {
  items: readonly I[]
  /** Absent at the end. */
  next?: string | undefined
}

/** An operation that gives a list: in pages over the API, whole on the command line. `gives` is the shape of an item. */
export function listing<F extends Fields, S extends Shape, I, V extends Listed<I>>(
  described: Described<F, S, V & Listed<I>> & {
    order: string
    json(item: I): DescribedShape<S>
  },
): Operation<F, V & Listed<I>> {
  const { gives, order, json } = described
  return {
    ...described,
    isList: true,
    api: {
      shape: pageShape(gives, order),
      json: ({ items, next }) => ({ items: items.map(json), ...(next === undefined ? {} : { next }) }),
    },
    cli: { shape: listOf(gives), json: ({ items }) => items.map(json) },
  }
}

/** A list that goes on: `next` goes back in as `after`. */
export function pageShape<S extends Shape>(item: S, order: string) {
  return z.object({
    items: z.array(item).describe(order),
    next: z.string().exactOptional().describe('Hand it back as `after` for what follows; absent at the end.'),
  })
}
