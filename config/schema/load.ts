import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Secret } from '../../src/runtime/secret.ts'
import { advise } from './advice.ts'
import { explain, issuesOf } from './explain.ts'
import { logoOf, readLogoFile } from './logo.ts'
import { isForeign, locate, removeAt, valueAt } from './places.ts'
import { type ConfigProblem, type Notice, renderPath } from './problems.ts'
import { readContent, whyUnreadable } from './read-content.ts'
import { type Config, configSchema } from './schema.ts'
import { settleNames } from './settle-names.ts'
import { type Environment, readSource, type Source } from './source.ts'
import { noteLines } from './thresholds.ts'
import { asGroup, isGroup } from './values.ts'

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
  /** Settings that may not come from the environment: who sent the file is shown them. */
  shown?: readonly string[]
  /** For what has a date, ms. */
  now: number
}

export type LoadResult = { ok: true; config: Config; notices: Notice[] } | { ok: false; problems: ConfigProblem[] }

/** Reads the config file. Never throws: all that is wrong with it is among the problems, at once. */
export function loadConfig(options: LoadOptions): LoadResult {
  const { file, env, cwd, readFile = (path) => readFileSync(path, 'utf8'), readLogo = readLogoFile, now } = options
  const path = resolve(cwd, file)
  const folder = dirname(path)
  const { text, fault } = readContent(path, readFile)
  if (text === undefined) return refused({ path: '', message: `${fault}: ${path}` })
  const source = readSource(text, env)
  if (source.data === undefined) return refused(...(source.problems.length > 0 ? source.problems : [EMPTY]))
  if (!isGroup(source.data)) return refused(...source.problems, NO_GROUP)

  const checked = check(source, { folder, readFile })
  const { problems } = source
  for (const { path, message, unquoted } of issuesOf(checked.error?.issues)) {
    problems.push(locate(source, path, isForeign(source, path) ? unquoted : message))
  }
  problems.push(...checkSchedule(source, options.validateCron ?? (() => true)))
  problems.push(...checkBrand(source, (logo) => readLogo(resolve(folder, logo))))
  problems.push(...checkShown(source, options.shown ?? []))
  if (problems.length > 0 || !checked.success) return refused(...inOrder(firstPerPath(problems)))

  const config = withWholePaths(checked.data, folder)
  noteLines(config.thresholds, (index) => source.values.get(renderPath(['thresholds', index]))?.line)
  const notices = advise(config, now).map(({ path, message }) => locate(source, path, message))
  return { ok: true, config, notices }
}

const refused = (...problems: ConfigProblem[]): LoadResult => ({ ok: false, problems })

const EMPTY: ConfigProblem = {
  path: '',
  message:
    'the file is empty; the least it must have: provider.clientId, provider.clientSecret, http.publicUrl, one receiver, one route',
}

const NO_GROUP: ConfigProblem = {
  path: '',
  line: 1,
  column: 1,
  message: 'must be a group of settings (name: value), starting with provider',
}

/** First the names, because a name may stand for another one, and an empty setting is as good as none; then the values. */
function check(source: Source, world: Parameters<typeof settleNames>[2]) {
  const parse = () =>
    configSchema.safeParse(source.data, {
      error: (issue) => explain(issue, isForeign(source, issue.path ?? [])),
      // The schema is used once: compiling it, for many uses, takes as long as all of this.
      jitless: true,
    })
  const first = parse()
  const unknown = issuesOf(first.error?.issues).filter((issue) => issue.unknown !== undefined)
  if (unknown.length === 0 && source.empty.length === 0) return first
  for (const issue of unknown) settleNames(source, issue, world)
  for (const path of source.empty) removeAt(source, path)
  return parse()
}

function checkSchedule(source: Source, validateCron: (expression: string) => boolean): ConfigProblem[] {
  return Object.entries(asGroup(valueAt(source.data, ['schedule']))).flatMap(([name, expression]) => {
    if (typeof expression !== 'string' || validateCron(expression)) return []
    const message = 'not a cron expression: 5 fields, or 6 with seconds first, like */10 * * * * *'
    return [locate(source, ['schedule', name], message)]
  })
}

function checkShown(source: Source, shown: readonly string[]): ConfigProblem[] {
  const paths = [...source.foreign].filter((path) => shown.some((name) => path.split(/[.[]/)[0] === name))
  const message = 'must be written out here: what comes from the environment is not shown'
  return paths.map((path) => ({ path, ...source.values.get(path), message }))
}

function checkBrand(source: Source, readLogo: (path: string) => Buffer): ConfigProblem[] {
  const at = (name: string) => ['http', 'brand', name]
  // An unquoted `#` begins a comment: the color would be dropped silently.
  const isComment = source.empty.some((path) => renderPath(path) === renderPath(at('color')))
  const problems = isComment
    ? [locate(source, at('color'), 'has no value: # begins a comment, write "#0b6e4f", in quotes')]
    : []
  const logo = valueAt(source.data, at('logo'))
  if (typeof logo !== 'string') return problems
  const fault = faultOfLogo(() => readLogo(logo))
  return fault === undefined ? problems : [...problems, locate(source, at('logo'), fault)]
}

function faultOfLogo(read: () => Buffer): string | undefined {
  try {
    const logo = logoOf(read())
    return typeof logo === 'string' ? logo : undefined
  } catch (error) {
    return whyUnreadable(error)
  }
}

function withWholePaths({ dataDir, log, http, ...rest }: Config, folder: string): Config {
  const { logo } = http.brand
  return freeze({
    ...rest,
    dataDir: resolve(folder, dataDir),
    http: logo === undefined ? http : { ...http, brand: { ...http.brand, logo: resolve(folder, logo) } },
    log: log.file === undefined ? log : { ...log, file: resolve(folder, log.file) },
  })
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
