import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parseAst } from 'vitest/node'

export const ROOT = join(import.meta.dirname, '..', '..')

/** A source file of the product: its path from the root of the repository, its text, the text without comments. */
export interface Source {
  path: string
  text: string
  code: string
}

/** Paths below a folder that fit, from the root of the repository. */
export function filesIn(folder: string, pattern: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((path) => pattern.test(path) && !/node_modules|\.plimsoll/.test(path))
    .sort()
}

export function readSources(): Source[] {
  const paths = ['src', 'jobs', 'config'].flatMap((folder) => filesIn(folder, /\.(ts|mts|mjs|js|lua)$/))
  return paths.map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    return { path, text, code: path.endsWith('.lua') ? withoutLuaComments(text) : withoutComments(text, 'kept') }
  })
}

/** Lines that are neither blank nor a comment. */
export function codeLines({ code }: Source): number {
  return code.split('\n').filter((line) => line.trim() !== '').length
}

/** `src/tokens/vault.ts` is in `tokens`, `src/app.ts` is `app`, `jobs/clock.ts` is in `jobs`. */
export function roomOf(path: string): string {
  const [root = '', second = '', ...rest] = path.split('/')
  if (root !== 'src') return root
  return rest.length === 0 ? second.replace(/\.ts$/, '') : second
}

export interface Import {
  from: string
  /** A file of ours by its path, or a package by its name. */
  to: string
  isOurs: boolean
  typesOnly: boolean
}

/** A node of the syntax tree, as far as these rules read it (ESTree). */
export interface SyntaxNode {
  type: string
  start: number
  value?: unknown
  quasis?: { value: { cooked: string } }[]
  source?: { value?: unknown } | null
  importKind?: string
  exportKind?: string
  specifiers?: { importKind?: string; exportKind?: string }[]
}

export function syntaxNodes({ path, text }: Source, skip: (node: SyntaxNode) => boolean = () => false): SyntaxNode[] {
  const found: SyntaxNode[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) visit(one)
    else if (typeof value === 'object' && value !== null) {
      if (isNode(value)) {
        if (skip(value)) return
        found.push(value)
      }
      for (const inner of Object.values(value)) if (typeof inner === 'object') visit(inner)
    }
  }
  visit(parseAst(text, { lang: path.endsWith('ts') ? 'ts' : 'js' }))
  return found
}

function isNode(value: object): value is SyntaxNode {
  return 'type' in value && typeof value.type === 'string' && 'start' in value
}

/** Every import of a file, also `export from` and import(). */
export function importsOf(source: Source): Import[] {
  return syntaxNodes(source).flatMap((node) => {
    const specifier = node.source?.value
    if (typeof specifier !== 'string') return []
    const isOurs = specifier.startsWith('.')
    const to = isOurs ? posix.join(posix.dirname(source.path), specifier) : packageOf(specifier)
    return [{ from: source.path, to, isOurs, typesOnly: isTypesOnly(node) }]
  })
}

function isTypesOnly({ importKind, exportKind, specifiers = [] }: SyntaxNode): boolean {
  if (importKind === 'type' || exportKind === 'type') return true
  return specifiers.length > 0 && specifiers.every((one) => (one.importKind ?? one.exportKind) === 'type')
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier
  const parts = specifier.split('/')
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
}

/** Lines of code, not of comments or texts, in which a pattern occurs. */
export function linesWith(sources: readonly Source[], pattern: RegExp, allowed: readonly string[]): string[] {
  return sources
    .filter(({ path }) => path.endsWith('.ts') && !allowed.includes(path))
    .flatMap(({ path, text }) =>
      withoutComments(text, 'blanked')
        .split('\n')
        .flatMap((line, n) => (pattern.test(line) ? [`${path}:${n + 1}: ${line.trim()}`] : [])),
    )
}

function withoutLuaComments(text: string): string {
  return text.replace(/--\[\[[\s\S]*?\]\]/g, (comment) => comment.replace(/[^\n]/g, '')).replace(/--.*$/gm, '')
}

/** `text` with its comments blanked out and, if asked for, the insides of its strings too; lines stay where they are. */
function withoutComments(text: string, strings: 'kept' | 'blanked'): string {
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
