import { posix } from 'node:path'

/** A source file: its path from the root of the repository, with forward slashes, and its text. */
export interface SourceFile {
  path: string
  text: string
}

export interface Import {
  from: string
  /** A file of ours by its path, or a package by its name. */
  to: string
  isOurs: boolean
  typesOnly: boolean
}

/** `text` with its comments blanked out and, if asked for, the insides of its strings too; lines stay where they are. */
export function withoutComments(text: string, strings: 'kept' | 'blanked'): string {
  let clean = ''
  let at = 0
  /** Depth of braces inside each template expression that is open. */
  const templates: number[] = []
  const blank = (piece: string) => piece.replace(/[^\n]/g, ' ')
  const take = (length: number, as: 'code' | 'comment' | 'string') => {
    const piece = text.slice(at, at + length)
    clean += as === 'code' || (as === 'string' && strings === 'kept') ? piece : blank(piece)
    at += length
  }
  const template = () => {
    while (at < text.length) {
      if (text[at] === '\\') take(2, 'string')
      else if (text.startsWith('${', at)) {
        take(2, 'code')
        templates.push(0)
        return
      } else if (text[at] === '`') {
        take(1, 'code')
        return
      } else take(1, 'string')
    }
  }
  while (at < text.length) {
    const here = text[at] ?? ''
    if (text.startsWith('//', at)) take(/^[^\n]*/.exec(text.slice(at))?.[0].length ?? 0, 'comment')
    else if (text.startsWith('/*', at)) take(/^\/\*[\s\S]*?(?:\*\/|$)/.exec(text.slice(at))?.[0].length ?? 2, 'comment')
    else if (here === "'" || here === '"') {
      const length = new RegExp(`^${here}(?:\\\\[\\s\\S]|[^\\\\${here}\\n])*`).exec(text.slice(at))?.[0].length ?? 1
      take(1, 'code')
      take(length - 1, 'string')
      take(1, 'code')
    } else if (here === '/' && /(?:^|[(,=:[!&|?{};+\n]|=>|\breturn)\s*$/.test(clean)) {
      take(/^\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])*\//.exec(text.slice(at))?.[0].length ?? 1, 'string')
    } else if (here === '`') {
      take(1, 'code')
      template()
    } else {
      const depth = templates.at(-1)
      if (depth !== undefined && here === '{') templates[templates.length - 1] = depth + 1
      if (depth !== undefined && here === '}') {
        if (depth === 0) {
          templates.pop()
          take(1, 'code')
          template()
          continue
        }
        templates[templates.length - 1] = depth - 1
      }
      take(1, 'code')
    }
  }
  return clean
}

const STATIC =
  /^[ \t]*(?:import|export)\s+(type\s+)?((?:[\w$*]+(?:\s+as\s+[\w$]+)?\s*,?\s*)?(?:\{[^}]*\})?)\s*from\s*['"]([^'"]+)['"]/gm
const BARE = /^[ \t]*import\s*['"]([^'"]+)['"]/gm
const CALLED = /\b(?:import|require)\s*\(\s*['"]([^'"]+)['"]/g

/** Every import of a file, also `export from` and import(). */
export function importsOf(file: SourceFile): Import[] {
  const text = withoutComments(file.text, 'kept')
  const found: [specifier: string, typesOnly: boolean][] = [
    ...[...text.matchAll(STATIC)].map(([, type, names = '', specifier = '']): [string, boolean] => [
      specifier,
      type !== undefined || hasTypesOnly(names),
    ]),
    ...[...text.matchAll(BARE)].map(([, specifier = '']): [string, boolean] => [specifier, false]),
    ...[...text.matchAll(CALLED)].map(([, specifier = '']): [string, boolean] => [specifier, false]),
  ]
  return found.map(([specifier, typesOnly]) => {
    const isOurs = specifier.startsWith('.')
    const to = isOurs ? posix.join(posix.dirname(file.path), specifier) : packageOf(specifier)
    return { from: file.path, to, isOurs, typesOnly }
  })
}

function hasTypesOnly(names: string): boolean {
  const inBraces = /^\{([^}]*)\}$/.exec(names.trim())?.[1]
  if (inBraces === undefined) return false
  const each = inBraces.split(',').map((name) => name.trim())
  return each.filter((name) => name !== '').every((name) => name.startsWith('type '))
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** What a room may import of the others; `types` = nothing that remains at run time, `files` = those files alone. */
export type RoomTable = Record<string, { of: readonly string[]; types?: readonly string[]; files?: readonly string[] }>

/** Which rooms may use a library, and which its types. */
export type LibraryTable = Record<string, { of: readonly string[]; types?: readonly string[] }>

/** `src/tokens/vault.ts` is in `tokens`, `src/app.ts` is `app`, `jobs/clock.ts` is in `jobs`. */
export function roomOf(path: string): string {
  const [root = '', second = '', ...rest] = path.split('/')
  if (root !== 'src') return root
  return rest.length === 0 ? second.replace(/\.ts$/, '') : second
}

export function brokenRooms(imports: readonly Import[], table: RoomTable): string[] {
  return imports
    .filter(({ isOurs, to }) => isOurs && to !== 'package.json')
    .filter(({ from, to, typesOnly }) => {
      const room = table[roomOf(from)]
      if (room === undefined) return true
      const target = roomOf(to)
      if (target === roomOf(from) || room.of.includes(target) || room.files?.includes(to)) return false
      return !(typesOnly && room.types?.includes(target))
    })
    .map(({ from, to, typesOnly }) => `${from} -> ${to}${typesOnly ? ' (types)' : ''}`)
}

export function brokenLibraries(imports: readonly Import[], table: LibraryTable): string[] {
  return imports
    .filter(({ isOurs, to }) => !isOurs && !to.startsWith('node:'))
    .filter(({ from, to, typesOnly }) => {
      const library = table[to]
      const room = roomOf(from)
      return !(library?.of.includes(room) || (typesOnly && library?.types?.includes(room)))
    })
    .map(({ from, to, typesOnly }) => `${from} -> ${to}${typesOnly ? ' (types)' : ''}`)
}

/** Each way round in which files import each other, from its first file back to it. */
export function importCycles(imports: readonly Import[]): string[] {
  const next = new Map<string, string[]>()
  for (const { from, to, isOurs } of imports) if (isOurs) next.set(from, [...(next.get(from) ?? []), to])
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: string[]) => {
    const start = path.indexOf(file)
    if (start !== -1) {
      cycles.push([...path.slice(start), file].join(' -> '))
      return
    }
    if (done.has(file)) return
    for (const other of next.get(file) ?? []) visit(other, [...path, file])
    done.add(file)
  }
  for (const file of [...next.keys()].sort()) visit(file, [])
  return cycles
}

/** Lines of code, not of comments or texts, in which a pattern occurs. */
export function linesWith(files: readonly SourceFile[], pattern: RegExp, allowed: (path: string) => boolean): string[] {
  return files
    .filter(({ path }) => !allowed(path))
    .flatMap(({ path, text }) =>
      withoutComments(text, 'blanked')
        .split('\n')
        .flatMap((line, n) => (pattern.test(line) ? [`${path}:${n + 1}`] : [])),
    )
}

const EXPORTED =
  /^export (?:default )?(?:async )?(?:function\*?|const|let|class|abstract class|interface|type|enum) ([\w$]+)/gm

/** Names that more than one file exports: two things of one name, or one thing made twice. */
export function namesTwice(files: readonly SourceFile[]): string[] {
  const homes = new Map<string, string[]>()
  for (const { path, text } of files) {
    for (const name of new Set([...text.matchAll(EXPORTED)].map(([, found = '']) => found))) {
      homes.set(name, [...(homes.get(name) ?? []), path])
    }
  }
  return [...homes].filter(([, paths]) => paths.length > 1).map(([name, paths]) => `${name}: ${paths.join(', ')}`)
}
