import { createRequire } from 'node:module'
import type * as Liquidjs from 'liquidjs'
import { countOf, formatCount, formatPercent } from '../../text/format-number.ts'
import { formatTime } from '../../text/format-time.ts'
import { suggest } from '../../text/suggest.ts'

/** A value that a template can show. */
export type TemplateValue =
  | string
  | number
  | boolean
  | null
  | readonly TemplateValue[]
  | { readonly [name: string]: TemplateValue }

/** All that a template names starts from here. */
export type TemplateScope = { readonly [name: string]: TemplateValue }

/** A text with fields in it, read once. */
export interface Template {
  /** Throws a `TemplateFault`. */
  text(scope: TemplateScope): string
  /** The value of a template that is one field and nothing else; else the text. Throws a `TemplateFault`. */
  value(scope: TemplateScope): TemplateValue
}

/** For people; of the template, and of no message that it was made for. */
export class TemplateFault extends Error {}

/** The fault in place of what is made. */
export function orFault<T>(make: () => T): T | TemplateFault {
  try {
    return make()
  } catch (error) {
    if (error instanceof TemplateFault) return error
    throw error
  }
}

export interface TemplateOptions {
  /** Made of each text that a field puts in; what the template itself has beside its fields stays as it is. */
  escapeField?: (text: string) => string
  /** A name that is not there is a fault. Without it that is an empty text. */
  mustExist?: boolean
}

/** Longer ones are a mistake. */
export const MOST_SOURCE = 10_000
/** One message may take so long (ms) and so much (characters), and become so long. A body of text ends far below. */
const MOST_MS = 1_000
const MOST_WORKED = 5_000_000
const MOST_OUTPUT = 500_000

const TAGS = ['if', 'unless', 'case', 'for', 'comment']
/** None grows a text by more than what is written, and none reads or evaluates anything but its value. */
const FILTERS = [
  'upcase',
  'downcase',
  'capitalize',
  'strip',
  'truncate',
  'remove',
  'append',
  'prepend',
  'default',
  'size',
  'first',
  'last',
  'join',
  'map',
  'where',
  'sort',
  'plus',
  'minus',
  'times',
  'divided_by',
  'round',
]
const OWN_FILTERS: Record<string, (value: unknown) => string> = {
  /** `1,000`. */
  number: (value) => (typeof value === 'number' ? formatCount(value) : asText(value)),
  /** `96 %`. */
  percent: (value) => (typeof value === 'number' ? formatPercent(value) : asText(value)),
  /** `2026-11-21 10:00 CET`, in `http.timeZone`. */
  time: (value) => (Number.isNaN(Date.parse(String(value))) ? asText(value) : formatTime(String(value))),
}

/** Throws a `TemplateFault`. */
export function readTemplate(source: string, options: TemplateOptions = {}): Template {
  if (source.length > MOST_SOURCE) throw new TemplateFault(`must have at most ${countOf(MOST_SOURCE, 'character')}`)
  const engine = newEngine(options)
  const { Context, toValueSync } = library()
  const parsed = asFault(() => engine.parse(source))
  const render = (scope: TemplateScope): TemplateValue[] => {
    const output = new Output()
    const context = new Context(scope, engine.options, { sync: true }, { liquid: engine })
    asFault(() => toValueSync(engine.renderer.renderTemplates(parsed, context, output)))
    return output.parts
  }
  return {
    text: (scope) => asFault(() => render(scope).map(asText).join('')),
    value(scope) {
      const [only = '', ...others] = render(scope)
      return others.length === 0 ? only : asFault(() => [only, ...others].map(asText).join(''))
    },
  }
}

/** Loaded with the first template: commands, and daemons without one, do without. At once, because a config is read at once. */
function library(): typeof Liquidjs {
  return createRequire(import.meta.url)('liquidjs')
}

function newEngine({ escapeField, mustExist = false }: TemplateOptions): Liquidjs.Liquid {
  const { Liquid } = library()
  const engine = new Liquid({
    // No other file is part of a template, whatever it names.
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: mustExist,
    parseLimit: MOST_SOURCE,
    renderLimit: MOST_MS,
    memoryLimit: MOST_WORKED,
    ...(escapeField !== undefined && { outputEscape: (value: unknown) => escapeField(asText(value)) }),
  })
  keepOnly(engine.tags, TAGS)
  keepOnly(engine.filters, FILTERS)
  for (const [name, filter] of Object.entries(OWN_FILTERS)) engine.registerFilter(name, filter)
  return engine
}

function keepOnly(all: Record<string, unknown>, names: readonly string[]): void {
  for (const name of Object.keys(all)) if (!names.includes(name)) delete all[name]
}

/** Output of the library, with a limit: it would write without end. */
class Output {
  readonly parts: TemplateValue[] = []
  #length = 0
  /** Nothing is read from it. */
  buffer = ''

  write(value: unknown): void {
    this.parts.push(value as TemplateValue)
    this.#length += typeof value === 'string' ? value.length : 20
    if (this.#length > MOST_OUTPUT) throw new TemplateFault('becomes too long')
  }
}

function asText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'object')
    throw new TemplateFault(
      Array.isArray(value)
        ? 'a list is no text: go through it by for, or join it'
        : 'a group of fields is no text: name one of its fields',
    )
  return String(value)
}

/** The library's own words are for its authors. */
function asFault<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof TemplateFault ? error : new TemplateFault(faultText(error))
  }
}

function faultText(error: unknown): string {
  const { LiquidError } = library()
  if (error instanceof RangeError) return 'is nested too deep'
  if (!LiquidError.is(error)) return error instanceof Error ? error.message : String(error)
  const { originalError, token } = error
  const why = originalError instanceof TemplateFault ? originalError.message : inPlainWords(originalError ?? error)
  const [line, column] = token.getPosition()
  return `${why} (line ${line}, column ${column} of it)`
}

function inPlainWords(error: Error): string {
  const message = error.message.replace(/, line:\d+, col:\d+$/, '')
  const [, tag] = /^tag "(.*)" not found$/.exec(message) ?? []
  if (tag !== undefined) return unknown('tag', tag, TAGS)
  const [, filter] = /^undefined filter: (.*)$/.exec(message) ?? []
  if (filter !== undefined) return unknown('filter', filter, [...FILTERS, ...Object.keys(OWN_FILTERS)])
  const [, name] = /^undefined variable: (.*)$/.exec(message) ?? []
  if (name !== undefined) return `there is no field ${name}`
  if (/limit exceeded/.test(message)) return 'takes too long, or too much memory'
  return message
}

function unknown(what: string, name: string, known: readonly string[]): string {
  const near = suggest(name, known)
  return `there is no ${what} ${name}${near === undefined ? `: ${known.join(', ')}` : `; did you mean ${near}?`}`
}
