import { type LoadResult, loadConfig } from '../../config/schema/load.ts'
import { renderProblem } from '../../config/schema/problems.ts'
import type { Config } from '../../config/schema/schema.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
export const KEY = Buffer.alloc(32, 7).toString('base64')

export const LOGO = '<svg xmlns="http://www.w3.org/2000/svg"/>'

/** The smallest file that works. Tests add to it, or replace lines of it. */
export const SMALLEST = `
provider: { clientId: my-app, clientSecret: hush-hush }
http: { publicUrl: https://plimsoll.example.com }
receivers:
  ops: { type: email, smtp: "smtps://user:pw@mail.example.com", from: plimsoll@example.com, to: [ops@example.com] }
routes:
  - to: [ops]
`

export interface Given {
  env?: Record<string, string>
  files?: Record<string, string>
  validateCron?: (expression: string) => boolean
  now?: number
}

/** Loads a file of this text from a made-up disk: other files by absolute path, or relative to its folder, /work/dir. */
export function load(text: string, { env = {}, files = {}, validateCron, now = NOW }: Given = {}): LoadResult {
  const disk = new Map(
    Object.entries({ 'plimsoll.yaml': text, ...files }).map(([path, held]) => [absolute(path), held]),
  )
  const readFile = (path: string) => {
    const held = disk.get(path)
    if (held !== undefined) return held
    throw Object.assign(new Error('no such file'), { code: path.includes('forbidden') ? 'EACCES' : 'ENOENT' })
  }
  return loadConfig({
    file: 'dir/plimsoll.yaml',
    env,
    cwd: '/work',
    now,
    readFile,
    readLogo: (path) => Buffer.from(readFile(path), 'latin1'),
    ...(validateCron === undefined ? {} : { validateCron }),
  })
}

export function configOf(text: string, given?: Given): Config {
  const result = load(text, given)
  if (!result.ok) throw new Error(result.problems.map((problem) => renderProblem('plimsoll.yaml', problem)).join('\n'))
  return result.config
}

/** `path: message`, without where it stands. */
export function problemsOf(text: string, given?: Given): string[] {
  const result = load(text, given)
  return result.ok ? [] : result.problems.map(({ path, message }) => `${path}: ${message}`)
}

export function noticesOf(text: string, given?: Given): string[] {
  const result = load(text, given)
  if (!result.ok) throw new Error(result.problems.map((problem) => renderProblem('plimsoll.yaml', problem)).join('\n'))
  return result.notices.map(({ path, message }) => `${path}: ${message}`)
}

/** The smallest file with one top-level group replaced or added. */
export function smallestWith(lines: string): string {
  const name = /^(\w+):/.exec(lines.trimStart())?.[1]
  const kept = SMALLEST.split(/\n(?=\w)/).filter((group) => !group.startsWith(`${name}:`))
  return `${kept.join('\n')}\n${lines}\n`
}

const absolute = (path: string): string => (path.startsWith('/') ? path : `/work/dir/${path}`)
