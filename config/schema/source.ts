import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parse, parseDocument, type Scalar } from 'yaml'
import { Secret } from '../../src/runtime/secret.ts'
import { suggest } from '../../src/text/suggest.ts'
import { type ConfigProblem, type Path, type Position, renderPath } from './problems.ts'
import { isGroup } from './values.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** A config file as plain values, its variables filled in, and where each of them stands. */
export interface Source {
  /** Every value is its text as written, so that `007` stays what it is; undefined where the file can't be read. */
  data: unknown
  problems: ConfigProblem[]
  /** Places of values and of their names, by rendered path. */
  values: Map<string, Position>
  names: Map<string, Position>
  /** Paths whose value came from outside the file: it is never shown. */
  foreign: Set<string>
  /** Settings without a value. */
  empty: Path[]
  /** Files of secrets, by the rendered path of the secret. */
  twins: Map<string, Twin>
}

/** A file that is named in place of a secret. */
interface Twin {
  /** The rendered path of the setting that names it. */
  place: string
  /** The name of the file in messages. */
  file: string
  /** Why the secret can't be read from it. */
  fault?: string
}

// Far above any real file, far below what a bomb of aliases unfolds to.
const MOST_CHARACTERS = 1_000_000
const MOST_NODES = 50_000
const DEEPEST = 50

/** Groups whose names are the owner's: one without a value is not a setting that may be left out. */
const TABLES = /^(tags|receivers|receivers\.[^.]+\.(headers|payload.*)|http\.trustedGroups)$/

export function readSource(text: string, env: Environment): Source {
  const source: Source = {
    data: undefined,
    problems: [],
    values: new Map(),
    names: new Map(),
    foreign: new Set(),
    empty: [],
    twins: new Map(),
  }
  const lines = new LineCounter()
  const positionOf = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const document = parsed(text, lines)
  if (typeof document === 'string') return { ...source, problems: [{ path: '', message: document }] }
  const faults = [...document.errors, ...document.warnings].map(({ message, pos }) => {
    const at = positionOf(pos[0])
    return { path: '', ...at, message: sayFault(message, text.split('\n')[at.line - 1] ?? '') }
  })
  if (faults.length > 0) return { ...source, problems: oncePerLine(faults) }
  source.data = valuesOf(document, source, env, positionOf)
  return source
}

function parsed(text: string, lineCounter: LineCounter): Document.Parsed | string {
  if (text.length > MOST_CHARACTERS) return 'larger than 1 MB: not a config file'
  // Read as UTF-8, its byte order mark is no character, and half of its bytes are zeros.
  if (/^\uFFFD\uFFFD|\0/.test(text)) return 'not UTF-8 text (UTF-16?): save it as UTF-8'
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false })
  } catch {
    return 'not readable as YAML'
  }
}

type PositionOf = (offset: number) => Position

/** The document as plain values; what there is to say of them goes into `source`. */
function valuesOf(document: Document.Parsed, source: Source, env: Environment, positionOf: PositionOf): unknown {
  let left = MOST_NODES

  /** Undefined for what has no value. */
  function take(given: unknown, path: Path, parentAt: Position): unknown {
    const node = resolved(given)
    const at = placeOf(node) ?? placeOf(given) ?? parentAt
    source.values.set(renderPath(path), at)
    left -= 1
    if (left === -1)
      source.problems.push({ path: '', message: 'the aliases in it unfold to more than a config file can hold' })
    if (left < 0) return undefined
    if (path.length > DEEPEST) report(path, at, `nested deeper than ${DEEPEST} levels`)
    else if (isMap(node)) return group(node.items, path, at)
    else if (isSeq(node)) return node.items.map((item, index) => take(item, [...path, index], at) ?? null)
    else if (isScalar(node)) return scalar(node, path, at)
    else if (isAlias(given)) report(path, at, 'an alias of nothing: no anchor of that name precedes it')
    return undefined
  }

  function group(pairs: readonly { key: unknown; value: unknown }[], path: Path, at: Position): object {
    const values = new Map<string, unknown>()
    const isTable = TABLES.test(renderPath(path))
    for (const pair of pairs) {
      const name = resolved(pair.key)
      const nameAt = placeOf(pair.key) ?? at
      if (!isScalar(name)) {
        report(path, nameAt, 'a name of a setting must be plain text')
        continue
      }
      const key = typeof name.value === 'string' ? name.value : (name.source ?? String(name.value))
      const inside = [...path, key]
      const first = source.names.get(renderPath(inside))
      if (values.has(key)) report(inside, nameAt, `given twice: first in line ${first?.line}`)
      else if (key === '__proto__') report(inside, nameAt, 'unknown')
      else {
        source.names.set(renderPath(inside), nameAt)
        const value = take(pair.value, inside, nameAt)
        values.set(key, value === undefined && isTable ? null : value)
        if (value === undefined && !isTable) source.empty.push(inside)
      }
    }
    return Object.fromEntries(values)
  }

  function scalar(node: Scalar, path: Path, at: Position): unknown {
    const isPayload = path[0] === 'receivers' && path[2] === 'payload'
    if (node.value === null) return undefined
    // There a number is sent as a number.
    if (typeof node.value !== 'string') return isPayload ? node.value : (node.source ?? String(node.value))
    const { text, used, complaints } = interpolate(node.value, env)
    for (const complaint of complaints) report(path, at, complaint)
    if (used) source.foreign.add(renderPath(path))
    // Values from the environment are secrets there: keys of other services are among them.
    return used && isPayload ? new Secret(text) : text
  }

  function resolved(node: unknown): unknown {
    return isAlias(node) ? node.resolve(document) : node
  }

  function placeOf(node: unknown): Position | undefined {
    const range = (node as { range?: [number, number, number] | null } | null | undefined)?.range
    return range ? positionOf(range[0]) : undefined
  }

  function report(path: Path, at: Position, message: string): void {
    source.problems.push({ path: renderPath(path), ...at, message })
  }

  return take(document.contents, [], { line: 1, column: 1 })
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

const REFERENCE = /\$(\$\{)|\$\{([^}]*)(\})?/g

/** `text` with every `${NAME}` replaced by the variable of that name; `$${` is `${` itself. `used`: a variable is in it. */
function interpolate(written: string, env: Environment): { text: string; used: boolean; complaints: string[] } {
  const complaints: string[] = []
  let used = false
  const text = written.replace(REFERENCE, (reference, escaped?: string, name = '', end?: string) => {
    if (escaped !== undefined) return escaped
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (end === undefined || !/^[A-Za-z_]\w*$/.test(name)) {
      complaints.push(
        'a ${ starts the name of an environment variable, as in ${NAME}: letters, digits and _; for the two characters write $${',
      )
    } else if (value === undefined) {
      const near = suggest(name, Object.keys(env))
      const hint = near === undefined ? '' : `, did you mean ${near}?`
      complaints.push(`the environment variable ${name} is not set${hint}`)
    } else {
      used = true
      return value
    }
    return reference
  })
  return { text, used, complaints }
}

/** The names under `receivers` in the text of a config file, as far as it can be read; never throws. */
export function receiverNames(text: string): string[] {
  try {
    // Silent: it may be half written.
    const config: unknown = parse(text, { logLevel: 'silent' })
    const receivers = isGroup(config) ? config.receivers : undefined
    return isGroup(receivers) ? Object.keys(receivers) : []
  } catch {
    return []
  }
}
