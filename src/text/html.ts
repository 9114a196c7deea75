/** Markup that may go into a page as it is. Only `html` makes it, so that nothing gets there unescaped by accident. */
export class Html {
  readonly #markup: string

  constructor(markup: string) {
    this.#markup = markup
  }

  toString(): string {
    return this.#markup
  }
}

type Part = Html | string | number | readonly Html[] | undefined

/** A template that escapes its values, unless they are markup themselves. `undefined` leaves nothing. */
export function html(texts: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(String.raw({ raw: texts }, ...values.map(asMarkup)))
}

function asMarkup(value: Part): string {
  if (value === undefined) return ''
  if (value instanceof Html) return value.toString()
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value))
  return value.join('')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}
