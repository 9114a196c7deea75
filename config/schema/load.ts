import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type * as z from 'zod'
import { Secret } from '../../src/runtime/secret.ts'
import { suggest } from '../../src/text/suggest.ts'
import { advise } from './advice.ts'
import { type FilledIn, fillIn, type Surroundings, whyUnreadable } from './fill-in.ts'
import { logoOf, readLogoFile } from './logo.ts'
import { type ConfigProblem, type Notice, type Path, type Position, renderPath } from './problems.ts'
import { type Config, configSchema } from './schema.ts'
import { twinOf } from './shape.ts'
import { noteLines } from './thresholds.ts'
import { asGroup, type IssueFacts, isGroup, REQUIRED } from './values.ts'
import { type Environment, readYaml } from './yaml-source.ts'

export interface LoadOptions {
  file: string
  env: Environment
  /**
   * Folder that `file` is relative to: the working directory of the process. Paths in the file are relative to its
   * folder.
   */
  cwd: string
  /** Default: the disk. */
  readFile?: (path: string) => string
  readLogo?: (path: string) => Buffer
  /** True where the scheduler will take the expression. Default: only the number of its fields is checked. */
  validateCron?: (expression: string) => boolean
  /** For what has a date, ms. */
  now: number
}

export type LoadResult = { ok: true; config: Config; notices: Notice[] } | { ok: false; problems: ConfigProblem[] }

/** Reads the config file. Never throws: all that is wrong with it is among the problems, at once. */
export function loadConfig(options: LoadOptions): LoadResult {
  const { file, env, cwd, readFile = fromDisk, readLogo = readLogoFile, validateCron, now } = options
  const path = resolve(cwd, file)
  const folder = dirname(path)
  const world: Surroundings = { env, folder, readFile }
  const text = readText(path, readFile)
  if (typeof text !== 'string') return { ok: false, problems: [text] }

  const source = readYaml(text)
  if (source.root === undefined) return { ok: false, problems: source.problems }
  if (source.root.kind === 'scalar' && source.root.value === null && source.problems.length === 0) {
    return { ok: false, problems: [{ path: '', message: EMPTY }] }
  }
  if (source.root.kind !== 'map') {
    const message = 'must be a group of settings (name: value), starting with provider'
    return { ok: false, problems: [...source.problems, { path: '', ...source.root.at, message }] }
  }

  const filled = fillIn(source.root, configSchema, world)
  const checked = configSchema.safeParse(filled.data, {
    error: (issue) => explain(issue, isForeign(issue.path ?? [], filled)),
    // The schema is used once: compiling it, for many uses, takes as long as all of this.
    jitless: true,
  })
  const problems = [
    ...source.problems,
    ...filled.problems,
    ...(checked.error?.issues ?? []).flatMap(ofTheList).map((issue) => problemOf(issue, filled)),
    ...(validateCron === undefined ? [] : checkSchedule(filled, validateCron)),
    ...checkBrand(filled, (path) => readLogo(resolve(folder, path))),
  ]
  if (problems.length > 0 || !checked.success) return { ok: false, problems: inOrder(firstPerPath(problems)) }

  const { dataDir, log, http } = checked.data
  const { logo } = http.brand
  const config = freeze({
    ...checked.data,
    dataDir: resolve(folder, dataDir),
    http: logo === undefined ? http : { ...http, brand: { ...http.brand, logo: resolve(folder, logo) } },
    log: log.file === undefined ? log : { ...log, file: resolve(folder, log.file) },
  }) as Config
  noteLines(config.thresholds, (index) => nearest(['thresholds', index], filled.positions)?.line)
  const notices = advise(config, now).map(({ path, message }) => locate(path, message, filled))
  return { ok: true, config, notices }
}

const EMPTY =
  'the file is empty; the least it must have: provider.clientId, provider.clientSecret, http.publicUrl, one receiver, one route'

const fromDisk = (path: string): string => readFileSync(path, 'utf8')

function readText(file: string, readFile: (path: string) => string): string | ConfigProblem {
  try {
    return readFile(file).replace(/^\uFEFF/, '')
  } catch (error) {
    return { path: '', message: `${whyUnreadable(error)}: ${file}` }
  }
}

/** A list, or a word in its place, of which neither fits: its faults as a list. */
function ofTheList(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  const issues = issue.code === 'invalid_union' ? issue.errors.at(-1) : undefined
  return issues?.map((inside) => ({ ...inside, path: [...issue.path, ...inside.path] })) ?? [issue]
}

function problemOf(issue: z.core.$ZodIssue, filled: FilledIn): ConfigProblem {
  return locate(issue.path, messageOf(issue, filled), filled)
}

function messageOf(issue: z.core.$ZodIssue, filled: FilledIn): string {
  const facts = issue.code === 'custom' ? (issue.params as Partial<IssueFacts> | undefined) : undefined
  if (issue.message === REQUIRED) return facts?.secret ? explainMissingSecret(issue.path) : REQUIRED
  return facts?.unquoted !== undefined && isForeign(issue.path, filled) ? facts.unquoted : issue.message
}

function isForeign(path: Path, { foreign }: FilledIn): boolean {
  return path.some((_, index) => foreign.has(renderPath(path.slice(0, index + 1))))
}

function checkSchedule({ data, ...filled }: FilledIn, validateCron: (expression: string) => boolean): ConfigProblem[] {
  const schedule = asGroup(asGroup(data).schedule)
  return Object.entries(schedule).flatMap(([name, expression]) => {
    if (typeof expression !== 'string' || validateCron(expression)) return []
    const message = 'not a cron expression: 5 fields, or 6 with seconds first, like */10 * * * * *'
    return [locate(['schedule', name], message, { data, ...filled })]
  })
}

function checkBrand({ data, ...filled }: FilledIn, readLogo: (path: string) => Buffer): ConfigProblem[] {
  const { logo, color } = asGroup(asGroup(asGroup(data).http).brand)
  const problem = (name: string, message: string) => locate(['http', 'brand', name], message, { data, ...filled })
  // An unquoted `#` begins a comment: the color would be dropped silently.
  const isComment = color === undefined && filled.positions.has('http.brand.color')
  const unquoted = isComment ? [problem('color', 'has no value: # begins a comment, write "#0b6e4f", in quotes')] : []
  if (typeof logo !== 'string') return unquoted
  try {
    const found = logoOf(readLogo(logo))
    return typeof found === 'string' ? [...unquoted, problem('logo', found)] : unquoted
  } catch (error) {
    return [...unquoted, problem('logo', whyUnreadable(error))]
  }
}

/** Reports at the setting that is in the file: the list's only entry at the list, the file's content at the file. */
function locate(path: Path, message: string, { data, positions, twins }: FilledIn): ConfigProblem {
  for (let length = path.length; length > 0; length--) {
    const twin = twins.get(renderPath(path.slice(0, length)))
    if (twin !== undefined) return { path: twin, ...positions.get(twin), message: `what the file holds: ${message}` }
  }
  const shown =
    typeof path.at(-1) === 'number' && !Array.isArray(at(data, path.slice(0, -1))) ? path.slice(0, -1) : path
  return { path: renderPath(shown), ...nearest(shown, positions), message }
}

function at(data: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => {
    if (Array.isArray(value)) return value[Number(step)]
    // A list may be written as its only entry, a group.
    return isGroup(value) && typeof step === 'number' ? value : asGroup(value)[String(step)]
  }, data)
}

function nearest(path: Path, positions: ReadonlyMap<string, Position>): Position | undefined {
  for (let length = path.length; length > 0; length--) {
    const position = positions.get(renderPath(path.slice(0, length)))
    if (position !== undefined) return position
  }
  return undefined
}

/** The first problem at a place explains those that follow from it. */
function firstPerPath(problems: ConfigProblem[]): ConfigProblem[] {
  const seen = new Set<string>()
  return problems.filter(({ path, message }) => {
    const key = path === '' ? `: ${message}` : path
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

function inOrder(problems: ConfigProblem[]): ConfigProblem[] {
  return problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0))
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof Secret) return value
  for (const part of Object.values(value)) freeze(part)
  return Object.freeze(value)
}

type RawIssue = z.core.$ZodRawIssue

const KINDS_OF_VALUE: Readonly<Record<string, string>> = {
  object: 'a group of settings (name: value)',
  record: 'a group of settings (name: value)',
  array: 'a list',
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
}

/** A problem of the schema in the words of the file. `foreign` values came from outside the file and are not quoted. */
export function explain(issue: RawIssue, foreign: boolean): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return REQUIRED
      return `must be ${KINDS_OF_VALUE[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return issue.input === undefined
        ? `${REQUIRED}: one of ${list(issue.values)}`
        : oneOf(issue.input, issue.values, foreign)
    case 'invalid_union': {
      const by = (issue as { discriminator?: string }).discriminator ?? ''
      const options = (issue as { options?: unknown[] }).options ?? []
      const given = (issue.input as Record<string, unknown> | null | undefined)?.[by]
      return given === undefined ? `${REQUIRED}: one of ${list(options)}` : oneOf(given, options, foreign)
    }
    case 'invalid_key':
      return issue.issues[0]?.message ?? 'not a possible name'
    case 'unrecognized_keys':
      return 'unknown'
    default:
      return 'not possible here'
  }
}

/** How to give a secret that is missing. */
function explainMissingSecret(path: Path): string {
  const name = path.findLast((step) => typeof step === 'string')
  return `${REQUIRED}, here or in a file that ${twinOf(String(name))} names`
}

function oneOf(given: unknown, allowed: readonly unknown[], foreign: boolean): string {
  if (foreign || typeof given !== 'string') return `must be one of ${list(allowed)}`
  const near = suggest(given, allowed.map(String))
  // Only a plain word is shown: an address may be a secret.
  const quoted = given.length <= 60 && !given.includes('/') ? `"${given}" is ` : ''
  return `${quoted}not one of ${list(allowed)}${near === undefined ? '' : `; did you mean "${near}"?`}`
}

const list = (values: readonly unknown[]): string => values.map(String).join(', ')
