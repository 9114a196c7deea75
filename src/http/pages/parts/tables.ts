import { countOf } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'

export interface TableColumn {
  title: string
  /** Numbers stand on the right. */
  number?: boolean
  /** The address that orders the table by this column, and its order by it now. */
  sort?: { href: string; is: 'ascending' | 'descending' | undefined }
}

/** A list by one of its orders, and the other way round where it is by that already: first it is by `worst`. */
export function sortLink<Sort extends string>(
  asked: { sort?: Sort | undefined; order?: string | undefined },
  sort: Sort,
  pathBy: (by: { sort: Sort | undefined; order: 'desc' | undefined }) => string,
): NonNullable<TableColumn['sort']> {
  const isNow = (asked.sort ?? 'worst') === sort
  const isDescending = asked.order === 'desc'
  return {
    href: pathBy({ sort: sort === 'worst' ? undefined : sort, order: isNow && !isDescending ? 'desc' : undefined }),
    is: isNow ? (isDescending ? 'descending' : 'ascending') : undefined,
  }
}

/** A column that is there only for some readers or rows, with its cell: false leaves both out. */
type Maybe<T> = T | false

/** A table that becomes a list of cards on a phone: each cell brings the title of its column along. */
export function htmlTable(
  caption: string,
  columns: readonly Maybe<TableColumn | string>[],
  rows: readonly (readonly Maybe<Html | string>[])[],
): Html {
  const shown = columns.flatMap((column) =>
    column === false ? [] : [typeof column === 'string' ? { title: column } : column],
  )
  const body = rows.map((cells) => {
    const row = cells
      .filter((cell) => cell !== false)
      .map((cell, n) => html`<td data-label="${shown[n]?.title}"${numeric(shown[n]?.number)}><div>${cell}</div></td>`)
    return html`<tr>${row}</tr>\n`
  })
  return html`<table aria-label="${caption}">
<thead><tr>${shown.map(headOf)}</tr></thead>
<tbody>
${body}</tbody>
</table>`
}

/** The first rows of a table, and the others folded. */
export function longTable(
  caption: string,
  columns: readonly Maybe<TableColumn | string>[],
  rows: readonly (readonly Maybe<Html | string>[])[],
  atOnce: number,
): Html {
  const more = rows.length - atOnce
  return html`${htmlTable(caption, columns, rows.slice(0, atOnce))}
${more <= 0 ? undefined : html`<details><summary>${countOf(more, 'more row')}</summary>${htmlTable(`More: ${caption}`, columns, rows.slice(atOnce))}</details>`}`
}

function headOf({ title, number, sort }: TableColumn): Html {
  if (sort === undefined) return html`<th scope="col"${numeric(number)}>${title}</th>`
  const { href, is } = sort
  const ordered = is === undefined ? undefined : html` aria-sort="${is}"`
  return html`<th scope="col"${numeric(number)}${ordered}><a href="${href}">${title}</a></th>`
}

function numeric(number: boolean | undefined): Html | undefined {
  return number === true ? html` class="number"` : undefined
}

/** Text in place of an empty table. */
export function nothing(text: string): Html {
  return html`<p class="nothing">${text}</p>`
}

/** Facts with their names; undefined ones are left out. */
export function factList(rows: readonly (readonly [name: string, value: Html | string | undefined])[]): Html {
  const shown = rows.filter(([, value]) => value !== undefined)
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}
