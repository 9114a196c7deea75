import { timingSafeEqual } from 'node:crypto'
import { inspect } from 'node:util'

/**
 * A value that must never reach text. Printing it - in a template, JSON, a log line, `util.inspect` - gets
 * `[secret]`; only `reveal()` hands the value out, so that the places that do are found by one search.
 */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [inspect.custom](): string {
    return '[secret]'
  }
}

/** `text` with every occurrence of the given secrets, plain or encoded for a URL or a form, taken out. */
export function withoutSecrets(text: string, ...secrets: readonly Secret[]): string {
  let clean = text
  for (const secret of secrets) {
    const value = secret.reveal()
    if (value === '') continue
    const inForm = new URLSearchParams([['', value]]).toString().slice(1)
    for (const form of [value, encodeURIComponent(value), inForm]) clean = clean.replaceAll(form, '[secret]')
  }
  return clean
}

/**
 * Takes as long whatever is given. Texts are compared, never what they decode to: the last character of base64 has bits to
 * spare, so that several texts mean the same bytes.
 */
export function isSameText(given: unknown, expected: string): boolean {
  if (typeof given !== 'string' || expected === '') return false
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
