import { type Html, html } from '../../../text/html.ts'

/** Values of the query that a filter is made of; what is left out narrows nothing. */
export type FilterValues = Readonly<Record<string, string | undefined>>

interface Choice {
  name: string
  label: string
  /** What is chosen from, with the words for it; the first of the list is for everything. */
  of: readonly (readonly [value: string, text: string])[]
}

/** A choice whose words are its values. */
export function choice(name: string, label: string, all: string, values: readonly string[]): Choice {
  return { name, label, of: [['', all], ...values.map((value) => [value, value] as const)] }
}

export function select({ name, label, of }: Choice, chosen: string | undefined): Html {
  const options = of.map(
    ([value, text]) =>
      html`<option value="${value}"${value === (chosen ?? '') ? html` selected` : undefined}>${text}</option>`,
  )
  return html`<label>${label} <select name="${name}">${options}</select></label>`
}

/** The address of a page with a filter: what is empty is left out. */
export function withQuery(path: string, values: FilterValues): string {
  const given = Object.entries(values).filter((pair): pair is [string, string] => (pair[1] ?? '') !== '')
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}
