import { type Html, html } from '../../../text/html.ts'

export interface TableColumn {
  title: string
  /** Numbers stand on the right. */
  number?: boolean
  /** Where the table is ordered by this column, and how it is ordered by it now. */
  sort?: { href: string; is: 'ascending' | 'descending' | undefined }
}

/** A table that becomes a list of cards on a phone: each cell brings the title of its column along. */
export function table(
  caption: string,
  columns: readonly TableColumn[],
  rows: readonly (readonly (Html | string)[])[],
): Html {
  const heads = columns.map(headOf)
  const body = rows.map((cells) => {
    const row = cells.map(
      (cell, n) => html`<td data-label="${columns[n]?.title}"${numeric(columns[n]?.number)}><div>${cell}</div></td>`,
    )
    return html`<tr>${row}</tr>\n`
  })
  return html`<table aria-label="${caption}">
<thead><tr>${heads}</tr></thead>
<tbody>
${body}</tbody>
</table>`
}

function headOf({ title, number, sort }: TableColumn): Html {
  if (sort === undefined) return html`<th scope="col"${numeric(number)}>${title}</th>`
  const { href, is } = sort
  const ordered = is === undefined ? undefined : html` aria-sort="${is}"`
  return html`<th scope="col"${numeric(number)}${ordered}><a class="sort" href="${href}">${title}</a></th>`
}

function numeric(number: boolean | undefined): Html | undefined {
  return number === true ? html` class="number"` : undefined
}

/** What stands where a table would be empty. */
export function nothing(text: string): Html {
  return html`<p class="nothing">${text}</p>`
}
