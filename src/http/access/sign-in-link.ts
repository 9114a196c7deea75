import { randomBytes } from 'node:crypto'
import { isSameToken } from './form-token.ts'

/** Signs its first visitor in, once: for the operator at the terminal, as in the demo. It is kept in memory only. */
export class SignInLink {
  readonly #code = randomBytes(32).toString('base64url')
  #isUsed = false

  get path(): string {
    return `/sign-in?code=${this.#code}`
  }

  /** Whether this is its code; from then on it is none any more. */
  use(code: unknown): boolean {
    if (this.#isUsed || !isSameToken(code, this.#code)) return false
    this.#isUsed = true
    return true
  }
}
