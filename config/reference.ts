import { stringify } from 'yaml'
import * as z from 'zod'
import { takeOver } from './in-force.ts'
import { type Config, settings } from './schema.ts'
import { isSecret, shapeOf, twinOf } from './shape.ts'

/** Every setting as Markdown, from the same schema that checks the file. */
export function configReference(): string {
  const { shape } = settings
  return [HEAD, ...Object.entries(shape).map(([name, schema]) => chapter(name, schema))].join('\n')
}

const HEAD = `# Every setting

<!-- Written by \`plimsoll config schema --markdown > config/reference.md\`: change config/schema.ts, not this file. -->

One YAML file; what it leaves out has the default below. \`[]\` is each entry of a list, \`NAME\` for a name of yours. Durations are
\`30s\`, \`15m\`, \`12h\`, \`7d\`; percentages 0 to 100; \`\${NAME}\` takes an environment variable. A secret may come from a file instead: then the
setting's name ends in \`File\`. **SIGHUP** shows whether a running daemon takes a change over when it reads its file again; the rest needs
a restart. [\`example.yaml\`](example.yaml) shows all of it in its place, \`plimsoll config check\` names everything that is wrong with a file.
`

interface Row {
  /** Of a group whose settings depend on its type: which one. */
  variant: string
  path: string
  value: string
  fallback: string
  reloads: boolean
  help: string
}

function chapter(name: string, schema: z.core.$ZodType): string {
  const [own, ...inner] = rowsOf('', name, schema)
  const rows = inner.length === 0 && own !== undefined ? [own] : inner
  const long = longDefault(schema)
  return [
    `## ${name}\n`,
    `${inText(own?.help ?? '')}\n`,
    ...[...new Set(rows.map(({ variant }) => variant))].map((variant) =>
      table(
        variant,
        rows.filter((row) => row.variant === variant),
      ),
    ),
    ...(long === undefined ? [] : ['Default:\n', '```yaml', stringify({ [name]: long }).trimEnd(), '```\n']),
  ].join('\n')
}

function table(variant: string, rows: readonly Row[]): string {
  return [
    ...(variant === '' ? [] : [`### ${variant}\n`]),
    '| setting | value | default | SIGHUP | what it does |',
    '|---|---|---|---|---|',
    ...rows.map(
      ({ path, value, fallback, reloads, help }) =>
        `| ${path} | ${inText(value)} | ${fallback} | ${reloads ? 'yes' : 'restart'} | ${inText(help)} |`,
    ),
    '',
  ].join('\n')
}

/** Signs that Markdown takes for its own, but in code. */
function inText(text: string): string {
  const parts = text.split('`')
  return parts.map((part, index) => (index % 2 === 0 ? part.replace(/[*<|]/g, '\\$&') : part)).join('`')
}

/** The setting itself, then all that is in it. */
function rowsOf(variant: string, path: string, schema: z.core.$ZodType): Row[] {
  const own: Row = {
    variant,
    path: withTwin(path, schema),
    value: valueIn(schema),
    fallback: fallbackOf(schema),
    reloads: isTakenOver(path),
    help: helpOf(schema) ?? '',
  }
  return [own, ...within(variant, path, schema)]
}

function within(variant: string, path: string, schema: z.core.$ZodType): Row[] {
  const shape = shapeOf(schema)
  switch (shape.kind) {
    case 'group':
      return Object.entries(shape.settings).flatMap(([name, setting]) => rowsOf(variant, `${path}.${name}`, setting))
    case 'list':
      return within(variant, shape.oneOrMany ? path : `${path}[]`, shape.item)
    case 'table':
      return within(variant, `${path}.NAME`, shape.value)
    case 'choice':
      return [...shape.groups].flatMap(([chosen, group]) =>
        within(`${path}, with ${shape.by}: ${String(chosen)}`, path, group),
      )
    case 'value':
      return []
  }
}

const withTwin = (path: string, schema: z.core.$ZodType) =>
  isSecret(schema) ? `\`${path}\` or \`${twinOf(path)}\`` : `\`${path}\``

function valueIn(schema: z.core.$ZodType): string {
  const shape = shapeOf(schema)
  switch (shape.kind) {
    case 'group':
      return 'group'
    case 'choice':
      return `group, by its \`${shape.by}\``
    case 'table':
      return `by name: ${valueIn(shape.value)}`
    case 'list': {
      const item = valueIn(shape.item)
      return shape.oneOrMany ? `${item}; or a list` : `${wordOf(schema)}list: ${item}`
    }
    case 'value':
      return shape.form.type?.replace(/^(an?|the) /, '') ?? plainType(schema)
  }
}

/** The word that may be set in place of a list. */
function wordOf(schema: z.core.$ZodType): string {
  const { def } = (innermost(schema) as z.core.$ZodTypes)._zod
  if (def.type !== 'union') return ''
  const words = def.options.flatMap((option) => {
    const { def: one } = (option as z.core.$ZodTypes)._zod
    return one.type === 'literal' ? one.values.map(String) : []
  })
  return words.map((word) => `${word}, or `).join('')
}

function plainType(schema: z.core.$ZodType): string {
  const { def } = (innermost(schema) as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'enum':
      return Object.values(def.entries).join(', ')
    case 'literal':
      return def.values.map(String).join(', ')
    case 'boolean':
      return 'true or false'
    case 'number':
      return rangeOf(innermost(schema))
    case 'pipe':
      return plainType(def.out)
    default:
      return 'text'
  }
}

function rangeOf(schema: z.core.$ZodType): string {
  const { minimum, maximum } = z.toJSONSchema(schema, { io: 'input' })
  return `number${minimum === undefined ? '' : `, from ${minimum}`}${maximum === undefined ? '' : ` to ${maximum}`}`
}

function fallbackOf(schema: z.core.$ZodType): string {
  const given = defaultOf(schema)
  if (given !== undefined) return isLong(given) || isEmptyGroup(given) ? '' : `\`${written(given)}\``
  return isOptional(schema) ? '' : '**required**'
}

const isEmptyGroup = (given: unknown) => JSON.stringify(given) === '{}'

const written = (given: unknown) => (typeof given === 'string' ? given : JSON.stringify(given))

const isLong = (given: unknown) => written(given).length > 60

function longDefault(schema: z.core.$ZodType): unknown {
  const given = defaultOf(schema)
  return given !== undefined && isLong(given) ? given : undefined
}

function defaultOf(schema: z.core.$ZodType): unknown {
  return wrappers(schema)
    .map((one) => (one as z.core.$ZodTypes)._zod.def)
    .map((def) => (def.type === 'prefault' || def.type === 'default' ? def.defaultValue : undefined))
    .find((value) => value !== undefined)
}

function isOptional(schema: z.core.$ZodType): boolean {
  return wrappers(schema).some((one) => (one as z.core.$ZodTypes)._zod.def.type === 'optional')
}

function helpOf(schema: z.core.$ZodType): string | undefined {
  return wrappers(schema)
    .map((one) => z.globalRegistry.get(one)?.description)
    .find((text) => text !== undefined)
}

/** The schema, and what is inside its wrappers, from outside in. */
function wrappers(schema: z.core.$ZodType): z.core.$ZodType[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  const wraps = def.type === 'optional' || def.type === 'default' || def.type === 'prefault' || def.type === 'readonly'
  return wraps ? [schema, ...wrappers(def.innerType)] : [schema]
}

const innermost = (schema: z.core.$ZodType): z.core.$ZodType => wrappers(schema).at(-1) ?? schema

/** Asked of what decides it: of two configs, which one's setting is in force after a reload. */
function isTakenOver(path: string): boolean {
  let at: unknown = RELOADED
  for (const name of path.split(/[.[]/)) {
    if (typeof at !== 'object' || at === null) break
    at = (at as Record<string, unknown>)[name]
  }
  return typeof at === 'object' && at !== null ? leavesOf(at).some((leaf) => leaf === 'next') : at === 'next'
}

const RELOADED: unknown = takeOver(marked('before') as Config, marked('next') as Config)

/** A config whose settings are marked with the config they are from. */
function marked(mark: string, schema: z.core.$ZodType = settings): unknown {
  const shape = shapeOf(schema)
  if (shape.kind !== 'group') return mark
  return Object.fromEntries(Object.entries(shape.settings).map(([name, setting]) => [name, marked(mark, setting)]))
}

const leavesOf = (at: object): unknown[] =>
  Object.values(at).flatMap((value) => (typeof value === 'object' && value !== null ? leavesOf(value) : [value]))
