import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parse, parseDocument } from 'yaml'
import { suggest } from '../../src/text/suggest.ts'
import { type ConfigProblem, type Path, type Position, renderPath } from './problems.ts'

/** The file as it was written: plain nodes with their positions. Aliases are followed, doubles reported. */
export type Node =
  | { kind: 'map'; at: Position; entries: Entry[] }
  | { kind: 'list'; at: Position; items: Node[] }
  /** `source` is the value's text as written: `007` is the number 7, but stays 007 where text is wanted. */
  | { kind: 'scalar'; at: Position; value: string | number | boolean | null; source: string }

export interface Entry {
  key: string
  keyAt: Position
  value: Node
}

export interface YamlSource {
  root?: Node
  problems: ConfigProblem[]
}

// Far above any real file, far below what a bomb of aliases unfolds to.
const MOST_CHARACTERS = 1_000_000
const MOST_NODES = 50_000
const DEEPEST = 50

export function readYaml(text: string): YamlSource {
  if (text.length > MOST_CHARACTERS) return { problems: [{ path: '', message: 'larger than 1 MB: not a config file' }] }
  // Read as UTF-8, its byte order mark is no character, and half of its bytes are zeros.
  if (/^\uFFFD\uFFFD|\0/.test(text))
    return { problems: [{ path: '', message: 'not UTF-8 text (UTF-16?): save it as UTF-8' }] }
  const lines = new LineCounter()
  let document: Document.Parsed
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  } catch {
    return { problems: [{ path: '', message: 'not readable as YAML' }] }
  }
  const positionOf = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const faults = [...document.errors, ...document.warnings]
  if (faults.length > 0) {
    const problems = faults.map(({ message, pos }) => {
      const at = positionOf(pos[0])
      return { path: '', ...at, message: sayFault(message, text.split('\n')[at.line - 1] ?? '') }
    })
    return { problems: oncePerLine(problems) }
  }
  return new Reader(document, positionOf).read()
}

class Reader {
  readonly #document: Document.Parsed
  readonly #positionOf: (offset: number) => Position
  readonly #problems: ConfigProblem[] = []
  #left = MOST_NODES

  constructor(document: Document.Parsed, positionOf: (offset: number) => Position) {
    this.#document = document
    this.#positionOf = positionOf
  }

  read(): YamlSource {
    const root = this.#node(this.#document.contents, [], { line: 1, column: 1 })
    if (this.#left >= 0) return { root, problems: this.#problems }
    return { problems: [{ path: '', message: 'the aliases in it unfold to more than a config file can hold' }] }
  }

  #node(node: unknown, path: Path, parentAt: Position): Node {
    const at = this.#at(node) ?? parentAt
    const nothing: Node = { kind: 'scalar', at, value: null, source: '' }
    this.#left -= 1
    if (this.#left < 0) return nothing
    if (path.length > DEEPEST) {
      this.#report(path, at, `nested deeper than ${DEEPEST} levels`)
      return nothing
    }
    if (isAlias(node)) {
      const target = this.#resolve(node)
      if (target !== undefined) return this.#node(target, path, at)
      this.#report(path, at, 'an alias of nothing: no anchor of that name precedes it')
      return nothing
    }
    if (isMap(node)) return { kind: 'map', at, entries: this.#entries(node.items, path, at) }
    if (isSeq(node)) {
      return { kind: 'list', at, items: node.items.map((item, index) => this.#node(item, [...path, index], at)) }
    }
    if (!isScalar(node)) return nothing
    return { kind: 'scalar', at, ...this.#scalar(node.value, node.source, path, at) }
  }

  #entries(pairs: readonly { key: unknown; value: unknown }[], path: Path, at: Position): Entry[] {
    const entries = new Map<string, Entry>()
    for (const pair of pairs) {
      if (this.#left < 0) break
      const keyNode = isAlias(pair.key) ? this.#resolve(pair.key) : pair.key
      const keyAt = this.#at(pair.key) ?? at
      if (!isScalar(keyNode)) {
        this.#report(path, keyAt, 'a name of a setting must be plain text')
        continue
      }
      const key = typeof keyNode.value === 'string' ? keyNode.value : (keyNode.source ?? String(keyNode.value))
      const first = entries.get(key)
      if (first === undefined) {
        entries.set(key, { key, keyAt, value: this.#node(pair.value, [...path, key], keyAt) })
      } else {
        this.#report([...path, key], keyAt, `given twice: first in line ${first.keyAt.line}`)
      }
    }
    return [...entries.values()]
  }

  #scalar(value: unknown, source: string | undefined, path: Path, at: Position) {
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      return { value, source: source ?? String(value ?? '') }
    }
    this.#report(path, at, 'must be plain text, a number, true or false')
    return { value: null, source: '' }
  }

  #resolve(alias: { resolve(document: Document): unknown }): unknown {
    try {
      return alias.resolve(this.#document)
    } catch {
      return undefined
    }
  }

  #at(node: unknown): Position | undefined {
    const range = (node as { range?: [number, number, number] | null } | null | undefined)?.range
    return range ? this.#positionOf(range[0]) : undefined
  }

  #report(path: Path, at: Position, message: string): void {
    this.#problems.push({ path: renderPath(path), ...at, message })
  }
}

/** The parser's message without what it quotes from the file, which may be a secret. */
function sayFault(message: string, line: string): string {
  if (message.startsWith('Unresolved tag')) return 'YAML: tags (!...) have no meaning here'
  const quiet = message.replace(/: .*$/s, '').replace(/(Unknown directive|extra characters).*$/s, '$1')
  const hint = line.includes('${') ? '; between { } or [ ] a value with ${NAME} needs quotes: "${NAME}"' : ''
  return `YAML: ${quiet}${hint}`
}

function oncePerLine(problems: ConfigProblem[]): ConfigProblem[] {
  return problems.filter((problem, index) => problems.findIndex(({ line }) => line === problem.line) === index)
}

export type Environment = Readonly<Record<string, string | undefined>>

export interface Interpolated {
  text: string
  /** True where a part of it came from the environment: such text is never shown. */
  used: boolean
  /** The whole text was one `${NAME}`. */
  whole: boolean
  complaints: string[]
}

const REFERENCE = /\$(\$\{)|\$\{([^}]*)(\})?/g

/** `text` with every `${NAME}` replaced by the variable of that name; `$${` is `${` itself. */
export function interpolate(text: string, env: Environment): Interpolated {
  const complaints: string[] = []
  let used = false
  const filled = text.replace(REFERENCE, (reference, escaped?: string, name?: string, end?: string) => {
    if (escaped !== undefined) return escaped
    if (end === undefined || name === undefined || !/^[A-Za-z_]\w*$/.test(name)) {
      complaints.push(
        'a ${ starts the name of an environment variable, as in ${NAME}; for the two characters write $${',
      )
      return reference
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value === undefined) {
      const near = suggest(name, Object.keys(env))
      complaints.push(
        `the environment variable ${name} is not set${near === undefined ? '' : `, did you mean ${near}?`}`,
      )
      return reference
    }
    used = true
    return value
  })
  return { text: filled, used, whole: /^\$\{[^}]*\}$/.test(text), complaints }
}

/** The value that YAML would make of `text` in the file: for settings that are not text. */
export function asYamlScalar(text: string): string | number | boolean {
  const plain = text.trim()
  if (/^(true|false)$/i.test(plain)) return plain.toLowerCase() === 'true'
  if (/^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/.test(plain)) return Number(plain)
  return text
}

/** The names under `receivers` in the text of a config file, as far as it can be read; never throws. */
export function receiverNames(text: string): string[] {
  try {
    // Silent: it may be half written.
    const config: unknown = parse(text, { logLevel: 'silent' })
    const receivers = isRecord(config) ? config.receivers : undefined
    return isRecord(receivers) ? Object.keys(receivers) : []
  } catch {
    return []
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
