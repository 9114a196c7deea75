import { suggest } from '../../src/text/suggest.ts'
import { maskAddress } from './addresses.ts'

export interface Position {
  line: number
  column: number
}

/** A fault that keeps the file from being used. */
export interface ConfigProblem extends Partial<Position> {
  /** `thresholds[2].warning.percent`; empty when it is about the file as a whole. */
  path: string
  /** The fault, and what is allowed. Never holds a value that came from the environment or from a secret's file. */
  message: string
}

/** A setting that works, but whose author should know more. */
export type Notice = ConfigProblem

export type Path = readonly PropertyKey[]

export function renderPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    const name = String(step)
    if (!/^[\w$*<>-]+$/.test(name)) return `${text}[${JSON.stringify(withoutAddress(name))}]`
    return text === '' ? name : `${text}.${name}`
  }, '')
}

/** No name has a slash: it is an address, which may be a secret, where `name: ` was forgotten. */
function withoutAddress(name: string): string {
  return name.includes('/') ? maskAddress(name) : name
}

/** One line, in the form that editors and terminals turn into a link. */
export function renderProblem(file: string, { path, line, column, message }: ConfigProblem): string {
  const place = line === undefined ? file : `${file}:${line}:${column ?? 1}`
  return path === '' ? `${place}: ${message}` : `${place} ${path}: ${message}`
}

/** `unknown, did you mean "threshold"?`, or what would be known where nothing is near. */
export function unknownName(word: string, known: readonly string[], what = 'unknown', listed = known): string {
  const near = suggest(word, known)
  if (near !== undefined) return `${what}, did you mean "${near}"?`
  return listed.length === 0 ? what : `${what}; allowed: ${listed.join(', ')}`
}
