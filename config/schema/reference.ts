import { stringify } from 'yaml'
import * as z from 'zod'
import { TEMPLATE_FIELDS, TEMPLATE_FILTERS, TEMPLATE_TAGS } from '../../src/delivery/templates/template-fields.ts'
import { settings } from './schema.ts'
import { twinOf } from './shape.ts'
import { choices, forms, needsRestart } from './values.ts'

/** Every setting as Markdown, from the same schema that checks the file. */
export function configReference(): string {
  const root = z.toJSONSchema(settings, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      const { type: says, secret } = forms.get(zodSchema) ?? {}
      Object.assign(jsonSchema, { ...(says && { says }), ...(secret && { secret: true }), ...choices.get(zodSchema) })
      if (needsRestart(zodSchema)) Object.assign(jsonSchema, { restart: true })
    },
  }) as Setting
  return [HEAD, ...childrenOf(root).map(([name, setting]) => chapter(name, setting)), templateFields()].join('\n')
}

/** A setting as JSON Schema has it, and what else is declared of it. */
interface Setting {
  description?: string
  default?: unknown
  type?: string
  enum?: unknown[]
  const?: unknown
  minimum?: number
  maximum?: number
  properties?: Record<string, Setting>
  required?: string[]
  additionalProperties?: Setting | false
  items?: Setting
  oneOrMany?: true
  anyOf?: Setting[]
  oneOf?: Setting[]
  /** The setting that a choice of groups depends on. */
  by?: string
  /** Allowed values, in words. */
  says?: string
  secret?: true
  restart?: true
  /** Required in its group. */
  isRequired?: boolean
}

function childrenOf({ properties = {}, required = [], restart }: Setting): [name: string, setting: Setting][] {
  return Object.entries(properties).map(([name, one]) => [
    name,
    { ...one, isRequired: required.includes(name), ...(restart && { restart }) },
  ])
}

const HEAD = `# Every setting

<!-- Written by \`plimsoll config schema --markdown > config/reference.md\`: change config/schema/schema.ts, not this file. -->

One YAML file; what it leaves out has the default below. \`[]\` is each entry of a list, \`NAME\` for a name of yours. Durations are
\`30s\`, \`15m\`, \`12h\`, \`7d\`; percentages 0 to 100; \`\${NAME}\` takes an environment variable. A secret may come from a file instead: then the
setting's name ends in \`File\`. **SIGHUP** shows whether a running daemon takes a change over when it reads its file again; the rest needs
a restart. [\`example.yaml\`](example.yaml) shows all of it in its place, \`plimsoll config check\` names everything that is wrong with a file.
`

/** Fields for templates of receivers. */
function templateFields(): string {
  const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')
  const lists = TEMPLATE_FIELDS.map(({ of, fields }) => {
    const rows = Object.entries(fields).map(([name, { is }]) => `| \`${name}\` | ${inText(is)} |`)
    return [`### Of ${of}\n`, '| field | what it holds |', '|---|---|', ...rows, ''].join('\n')
  })
  return [
    '## Template fields\n',
    'What `template` and `payload` of a receiver may name. These fields stay: none is renamed or taken away. What a message does not',
    'have is empty, and false in a condition; times are ISO 8601. A template is [Liquid](https://liquidjs.com) without what reads files or runs',
    `without end. Tags: ${code(TEMPLATE_TAGS)}. Filters: ${code(TEMPLATE_FILTERS)}; \`number\` makes \`1,000\`,`,
    '`percent` makes `96 %`, `time` makes `2026-11-21 10:00 CET` in `http.timeZone`.\n',
    ...lists,
  ].join('\n')
}

interface Row {
  /** The type of a group whose settings depend on it. */
  variant: string
  path: string
  value: string
  fallback: string
  reloads: boolean
  help: string
}

function chapter(name: string, setting: Setting): string {
  const [own, ...inner] = rowsOf('', name, setting)
  const rows = inner.length === 0 && own !== undefined ? [own] : inner
  const long = setting.default !== undefined && isLong(setting.default) ? setting.default : undefined
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
function rowsOf(variant: string, path: string, setting: Setting): Row[] {
  const isSecret = (setting.secret ?? setting.items?.secret) === true
  const own: Row = {
    variant,
    path: isSecret ? `\`${path}\` or \`${twinOf(path)}\`` : `\`${path}\``,
    value: valueIn(setting),
    fallback: fallbackOf(setting),
    reloads: setting.restart !== true,
    help: setting.description ?? '',
  }
  return [own, ...within(variant, path, setting)]
}

function within(variant: string, path: string, setting: Setting): Row[] {
  const { properties, items, oneOrMany, additionalProperties: named, oneOf = [], by, restart } = setting
  const inherited = (one: Setting) => ({ ...one, ...(restart && { restart }) })
  if (properties !== undefined)
    return childrenOf(setting).flatMap(([name, one]) => rowsOf(variant, `${path}.${name}`, one))
  if (items !== undefined) return within(variant, oneOrMany ? path : `${path}[]`, inherited(items))
  if (named) return within(variant, `${path}.NAME`, inherited(named))
  if (by !== undefined) {
    return oneOf.flatMap((group) =>
      within(`${path}, with ${by}: ${String(group.properties?.[by]?.const)}`, path, inherited(group)),
    )
  }
  const list = listIn(setting)
  return list === undefined ? [] : within(variant, path, inherited(list))
}

/** The list in whose place a word may be set. */
const listIn = ({ anyOf = [], says }: Setting) => (says === undefined ? anyOf.find(({ items }) => items) : undefined)

function valueIn(setting: Setting): string {
  const { says, properties, by, additionalProperties: named, items, oneOrMany, anyOf = [] } = setting
  if (says !== undefined) return says.replace(/^(an?|the) /, '')
  if (properties !== undefined) return 'group'
  if (by !== undefined) return `group, by its \`${by}\``
  if (named) return `by name: ${valueIn(named)}`
  if (items !== undefined) return oneOrMany ? `${valueIn(items)}; or a list` : `list: ${valueIn(items)}`
  const list = listIn(setting)
  if (list === undefined) return plainType(setting)
  const words = anyOf.flatMap((one) => (one.const === undefined ? [] : [`${String(one.const)}, or `]))
  return `${words.join('')}${valueIn(list)}`
}

function plainType({ type, enum: values, const: only, minimum, maximum }: Setting): string {
  if (values !== undefined) return values.join(', ')
  if (only !== undefined) return String(only)
  if (type === 'boolean') return 'true or false'
  if (type !== 'number') return 'text'
  return `number${minimum === undefined ? '' : `, from ${minimum}`}${maximum === undefined ? '' : ` to ${maximum}`}`
}

function fallbackOf({ default: given, isRequired }: Setting): string {
  if (given === undefined) return isRequired ? '**required**' : ''
  return isLong(given) || JSON.stringify(given) === '{}' ? '' : `\`${written(given)}\``
}

const written = (given: unknown) => (typeof given === 'string' ? given : JSON.stringify(given))

const isLong = (given: unknown) => written(given).length > 60
