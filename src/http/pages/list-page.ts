import type { FastifyRequest } from 'fastify'
import type * as z from 'zod'
import { type Field, fieldsOf, sentence } from '../../operations/fields.ts'
import type { Operation } from '../../operations/operation.ts'
import { cleanText } from '../../text/clean-text.ts'
import { type Column, known } from '../../text/columns.ts'
import { capitalized } from '../../text/format-number.ts'
import { type Html, html } from '../../text/html.ts'
import { type Cell, type Shown, textOfCell } from '../../text/shown.ts'
import { tokenOfWriter } from '../access/forms.ts'
import { runForPage } from '../run-for-page.ts'
import type { WebDeps } from '../web-deps.ts'
import type { OperatorPage } from './page.ts'
import { badge } from './parts/cells.ts'
import { hidden, select, withQuery } from './parts/forms.ts'
import { factList, htmlTable, nothing } from './parts/tables.ts'

export interface ListPage<I extends z.ZodObject = z.ZodObject, V = unknown> {
  operation: Operation<I, V>
  at: NonNullable<OperatorPage['at']>
  path: string
  title: string
  /** Values of fields that the query leaves out. */
  defaults?: Readonly<Record<string, string>>
  /** Fields that links set, and the form keeps. */
  linked?: readonly string[]
  /** Values of choices as people read them. */
  words?: Readonly<Record<string, string>>
  /** Columns that only the command line needs. */
  without?: readonly string[]
  /** For readers who may change something, above the list. */
  above?: Html
  /** The same for each row of its first table. */
  toDo?(value: V, token: string): readonly Html[]
}

/** Forgets the types of the operation, once its forms are checked against them. */
export function listPage<I extends z.ZodObject, V>(page: ListPage<I, V>): ListPage {
  return page as unknown as ListPage
}

/** A list as a page, made of its operation: the fields as a form, its table, the way to the next page. */
export async function showList(page: ListPage, deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const { operation, at, path, title, above, toDo } = page
  const asked = request.query as Query
  const { value, call } = await runForPage(operation, deps, { limit: A_PAGE, ...page.defaults, ...asked }, request)
  const { next, leftOut = 0 } = (value ?? {}) as { next?: string; leftOut?: number }
  const notes = operation.notes?.(value) ?? []
  const parts = operation.table?.(value, call) ?? []
  const token = tokenOfWriter(request)
  const forms = token === undefined ? undefined : toDo?.(value, token)
  const first = parts.findIndex(isTable)
  const form = searchForm(page, asked)
  // If links choose a row of the first table, the form narrows the last one.
  const body = html`${token === undefined ? undefined : above}
${page.linked === undefined ? form : undefined}
<div data-live="list">
${notes.map((note) => html`<p class="soft">${sentence(note)}</p>`)}
${parts.map((part, n) => {
  if (typeof part === 'string' && n < parts.length - 1 && /[^.]$/.test(part))
    return html`<h2>${part}</h2>\n${page.linked !== undefined && n === parts.length - 2 ? form : undefined}`
  const isAll = parts.length === 1
  return htmlOf(title, part, { isAll, forms: n === first ? forms : undefined, without: page.without })
})}
${leftOut === 0 ? undefined : html`<p><a href="${withQuery(path, { ...asked, limit: '500' })}">Show all</a></p>`}
</div>
${pager(path, asked, next)}`
  return { at, title, body }
}

const A_PAGE = '50'

function pager(path: string, { after = '', ...asked }: Query, next: string | undefined): Html | undefined {
  if (next === undefined && after === '') return undefined
  return html`<nav class="pager" aria-label="Pages">
${after === '' ? undefined : html`<a href="${withQuery(path, asked)}">First page</a>`}
${next === undefined ? undefined : html`<a rel="next" href="${withQuery(path, { ...asked, after: next })}">Next page</a>`}
</nav>`
}

/** Times to choose from, for a list since a moment. */
const SINCE = { '24h': '24 hours', '7d': '7 days', '90d': '90 days' }

type Query = Readonly<Record<string, string>>

function searchForm(
  { path, operation: { input }, linked = [], words = {}, defaults = {} }: ListPage,
  { after: _, ...asked }: Query,
): Html {
  const { since, ...narrowed } = asked
  const inForm = ({ name, meta }: Field) => meta['x-option'] !== false && !['since', ...linked].includes(name)
  const fields = fieldsOf(input).filter(inForm)
  const chips = Object.entries(SINCE).map(
    ([each, text]) =>
      html`<a href="${withQuery(path, { ...asked, since: each })}"${each === (since ?? defaults.since) ? html` aria-current="true"` : undefined}>${text}</a> `,
  )
  const form = html`<form method="get" action="${path}" class="search" role="search">
${['since', ...linked].map((name) => hidden(name, asked[name]))}
${fields.map((field) => inputOf(field, asked, words))}
<button>Show</button>
${Object.values(narrowed).some(Boolean) ? html`<a href="${path}">Show all</a>` : undefined}
</form>`
  return html`${'since' in input.shape ? html`<nav class="chips" aria-label="Time">${chips}</nav>` : undefined}
${fields.length === 0 ? undefined : form}`
}

function inputOf(
  { name, kind, choices, description, meta }: Field,
  query: Query,
  words: NonNullable<ListPage['words']>,
): Html {
  const called = typeof meta['x-option'] === 'string' ? meta['x-option'] : name
  const value = query[called] ?? ''
  const label = capitalized(called)
  if (choices !== undefined)
    return select(
      { name: called, label, of: [['', 'any'], ...choices.map((one) => [one, words[one] ?? one] as const)] },
      value,
    )
  if (kind === 'flag')
    return html`<label class="check"><input type="checkbox" name="${called}" value="true"${value === 'true' ? html` checked` : undefined}> ${description}</label>\n`
  return html`<label>${label} <input name="${called}" value="${value}" maxlength="200" autocomplete="off" title="${description}"></label>\n`
}

function isTable(part: Shown | undefined): boolean {
  return typeof part === 'object' && 'columns' in part
}

interface PartOfPage {
  /** A sentence that is all there is stands in place of a table. */
  isAll?: boolean
  /** One for each row of a table. */
  forms?: readonly Html[] | undefined
  without?: readonly string[] | undefined
}

function htmlOf(caption: string, part: Shown, { isAll, forms, without }: PartOfPage = {}): Html {
  if (part === '') return html``
  if (typeof part === 'string') return isAll ? nothing(sentence(part)) : html`<p>${sentence(part)}</p>\n`
  if ('facts' in part) return factList(part.facts.filter(([, value]) => value !== ''))
  const { columns, rows } = part
  const shown = shownColumns(columns, without)
  const idOf = columns.findIndex((column) => known(column).title === 'HUB ID')
  return htmlTable(
    caption,
    [
      ...shown.map(({ column }) => ({ title: headingOf(column), number: known(column).isNumber === true })),
      forms !== undefined && 'To do',
    ],
    rows.map((row, n) => [
      ...shown.map(({ column, place }) => htmlCell(column, row[place] ?? '', textOfCell(row[idOf] ?? ''))),
      forms !== undefined && (forms[n] ?? ''),
    ]),
  )
}

/** The columns of a page: without those for the command line, and without the id of an account beside its domain. */
function shownColumns(columns: readonly Column[], without: readonly string[] = []) {
  const titles = columns.map((column) => known(column).title)
  const left = [...without, ...(titles.includes('DOMAIN') ? ['HUB ID'] : [])]
  return columns.map((column, place) => ({ column, place })).filter(({ place }) => !left.includes(titles[place] ?? ''))
}

/** `FIRST FAILURE` as a page has it: `First failure`. */
function headingOf(column: Column): string {
  const { title } = known(column)
  if (title === 'HUB ID' || title === 'DOMAIN') return 'Account'
  return sentence(title.toLowerCase()).replace(/\.$/, '')
}

const LOOK: Readonly<Record<string, string>> = {
  critical: 'critical',
  dead: 'critical',
  'gave up': 'critical',
  'test failed': 'critical',
  'switched off': 'critical',
  'must reconnect': 'critical',
  warning: 'warning',
  waiting: 'warning',
  failing: 'warning',
  ok: 'good',
  delivers: 'good',
  delivered: 'good',
  active: 'good',
}

function htmlCell(column: Column, cell: Cell, hubId: string): Html | string {
  const { title, isColoured, isWhole } = known(column)
  const isAccount = (title === 'HUB ID' || title === 'DOMAIN') && /^\d+$/.test(hubId)
  const text = cleanText(textOfCell(cell), 400) || (isAccount ? `account ${hubId}` : '')
  const href = typeof cell === 'object' ? cell.href : isAccount ? `/accounts/${hubId}` : undefined
  if (href !== undefined) return html`<a href="${href}">${text}</a>`
  if (isColoured === true && text !== '') return badge(LOOK[text] ?? 'off', text)
  return isWhole === true && text !== '' ? html`<span class="whole">${text}</span>` : text
}
