import type { FastifyRequest } from 'fastify'
import type * as z from 'zod'
import { type Field, fieldsOf, sentence } from '../../operations/fields.ts'
import type { Operation } from '../../operations/operation.ts'
import { cleanText } from '../../text/clean-text.ts'
import { type Column, known } from '../../text/columns.ts'
import { type Html, html } from '../../text/html.ts'
import { type Cell, type Shown, textOfCell } from '../../text/shown.ts'
import { tokenOfWriter } from '../access/forms.ts'
import { runForPage } from '../run-for-page.ts'
import type { WebDeps } from '../web-deps.ts'
import type { OperatorPage } from './page.ts'
import { badge } from './parts/cells.ts'
import { withQuery } from './parts/forms.ts'
import { factList, htmlTable, nothing } from './parts/tables.ts'

export interface ListPage<I extends z.ZodObject = z.ZodObject, V = unknown> {
  operation: Operation<I, V>
  at: NonNullable<OperatorPage['at']>
  path: string
  title: string
  /** Values of fields that the query leaves out. */
  defaults?: Readonly<Record<string, string>>
  /** For readers who may change something, above the list. */
  above?(value: V, token: string): Html
  /** The same for each row of its first table. */
  toDo?(value: V, token: string): readonly Html[]
}

/** Forgets the types of the operation, once its forms are checked against them. */
export function listPage<I extends z.ZodObject, V>(page: ListPage<I, V>): ListPage {
  return page as unknown as ListPage
}

/** A list as a page, made of its operation: the fields as a form, its table, the way to the next page. */
export async function showList(
  { operation, at, path, title, defaults = {}, above, toDo }: ListPage,
  deps: WebDeps,
  request: FastifyRequest,
): Promise<OperatorPage> {
  const query = { ...defaults, ...(request.query as Record<string, string>) }
  const { value, call } = await runForPage(operation, deps, { limit: A_PAGE, ...query }, request)
  const { next } = (value ?? {}) as { next?: string }
  const notes = operation.notes?.(value) ?? []
  const parts = operation.table?.(value, call) ?? []
  const token = tokenOfWriter(request)
  const forms = token === undefined ? undefined : toDo?.(value, token)
  const first = parts.findIndex(isTable)
  const body = html`${token === undefined ? undefined : above?.(value, token)}
${searchForm(path, operation, query)}
<div data-live="list">
${notes.map((note) => html`<p class="soft">${note}</p>`)}
${parts.map((part, n) => htmlOf(title, part, parts.length === 1, n === first ? forms : undefined))}
</div>
${pager(path, query, next)}`
  return { at, title, body }
}

const A_PAGE = '50'

function pager(path: string, query: Query, next: string | undefined): Html | undefined {
  const isLater = (query.after ?? '') !== ''
  if (next === undefined && !isLater) return undefined
  return html`<nav class="pager" aria-label="Pages">
${isLater ? html`<a href="${withQuery(path, { ...query, after: undefined })}">First page</a>` : undefined}
${next === undefined ? undefined : html`<a rel="next" href="${withQuery(path, { ...query, after: next })}">Next page</a>`}
</nav>`
}

/** Times to choose from, for a list since a moment. */
const SINCE = { '24h': '24 hours', '7d': '7 days', '90d': '90 days' }

type Query = Readonly<Record<string, string>>

function searchForm(path: string, { input }: Operation, query: Query): Html | undefined {
  const fields = fieldsOf(input).filter(({ name, meta }) => meta['x-option'] !== false && name !== 'since')
  const hasTime = 'since' in input.shape
  const chips = Object.entries(SINCE).map(
    ([since, text]) =>
      html`<a href="${withQuery(path, { ...query, since, after: undefined })}"${since === query.since ? html` aria-current="true"` : undefined}>${text}</a> `,
  )
  const form =
    fields.length === 0
      ? undefined
      : html`<form method="get" action="${path}" class="search" role="search">
${hasTime ? html`<input type="hidden" name="since" value="${query.since}">` : undefined}
${fields.map((field) => inputOf(field, query))}
<button>Show</button>
</form>`
  return html`${hasTime ? html`<nav class="chips" aria-label="Time">${chips}</nav>` : undefined}
${form}`
}

function inputOf({ name, kind, choices, description, meta }: Field, query: Query): Html {
  const called = typeof meta['x-option'] === 'string' ? meta['x-option'] : name
  const value = query[called] ?? ''
  const label = `${called.charAt(0).toUpperCase()}${called.slice(1)}`
  if (choices !== undefined) {
    const options = choices.map(
      (one) => html`<option value="${one}"${one === value ? html` selected` : undefined}>${one}</option>`,
    )
    return html`<label>${label} <select name="${called}"><option value="">any</option>${options}</select></label>\n`
  }
  if (kind === 'flag')
    return html`<label class="check"><input type="checkbox" name="${called}" value="true"${value === 'true' ? html` checked` : undefined}> ${description}</label>\n`
  return html`<label>${label} <input name="${called}" value="${value}" maxlength="200" autocomplete="off" title="${description}"></label>\n`
}

function isTable(part: Shown): boolean {
  return typeof part === 'object' && 'columns' in part
}

/** `isAll`: a sentence that is all there is stands in place of a table. `forms`: one for each row of a table. */
export function htmlOf(caption: string, part: Shown, isAll = false, forms?: readonly Html[]): Html {
  if (part === '') return html``
  if (typeof part === 'string') return isAll ? nothing(part) : html`<p>${part}</p>\n`
  if ('facts' in part) return factList(part.facts.filter(([, value]) => value !== ''))
  const { columns, rows } = part
  const shown = shownColumns(columns)
  return htmlTable(
    caption,
    [
      ...shown.map(({ column }) => ({ title: headingOf(column), number: known(column).isNumber === true })),
      forms !== undefined && 'To do',
    ],
    rows.map((row, n) => [
      ...shown.map(({ column, place }) => htmlCell(column, row[place] ?? '')),
      forms !== undefined && (forms[n] ?? ''),
    ]),
  )
}

const MOST_COLUMNS = 9

/** The columns that a page has room for: without the last spare ones. */
function shownColumns(columns: readonly Column[]): { column: Column; place: number }[] {
  const placed = columns.map((column, place) => ({ column, place }))
  const spare = placed.filter(({ column }) => known(column).isSpare === true)
  const most = Math.max(0, spare.length - Math.max(0, columns.length - MOST_COLUMNS))
  return placed.filter((one) => !spare.slice(most).includes(one))
}

/** `HUB ID` as a page has it: `Hub id`. */
function headingOf(column: Column): string {
  return sentence(known(column).title.toLowerCase()).replace(/\.$/, '')
}

const LOOK: Readonly<Record<string, string>> = {
  critical: 'critical',
  dead: 'critical',
  failed: 'critical',
  disabled: 'critical',
  'must reconnect': 'critical',
  warning: 'warning',
  retry: 'warning',
  failing: 'warning',
  ok: 'good',
  delivers: 'good',
  delivered: 'good',
  active: 'good',
}

function htmlCell(column: Column, cell: Cell): Html | string {
  const { title, isColoured, isWhole } = known(column)
  const text = cleanText(textOfCell(cell), 400)
  const href =
    typeof cell === 'object' ? cell.href : title === 'HUB ID' && /^\d+$/.test(text) ? `/accounts/${text}` : undefined
  if (href !== undefined) return html`<a href="${href}">${text}</a>`
  if (isColoured === true && text !== '') return badge(LOOK[text] ?? 'off', text)
  return isWhole === true ? html`<span class="whole">${text}</span>` : text
}
