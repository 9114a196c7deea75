/** Markup that is safe to show as it is. Only `html` makes it, so that nothing reaches a page unescaped by accident. */
export class Html {
  readonly #markup: string

  constructor(markup: string) {
    this.#markup = markup
  }

  toString(): string {
    return this.#markup
  }
}

type Part = Html | string | number | readonly Html[]

/** A template whose values are escaped, unless they are markup themselves. */
export function html(markup: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(String.raw({ raw: markup }, ...values.map(asMarkup)))
}

function asMarkup(value: Part): string {
  if (value instanceof Html) return value.toString()
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value))
  return value.join('')
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}
