import { createHmac, timingSafeEqual } from 'node:crypto'

/** How long a customer may take on the provider's install page. */
const LIFETIME_MS = 3_600_000

/** The `state` of one install: a nonce and a moment of expiry, signed. Nothing is kept of it before it is used. */
export interface InstallState {
  nonce: string
  /** ms */
  expiresAt: number
}

export function writeInstallState(key: Buffer, nonce: Buffer, now: number): string {
  const text = `${nonce.toString('base64url')}.${(now + LIFETIME_MS).toString(36)}`
  return `${text}.${sign(key, text).toString('base64url')}`
}

/** Undefined: none of ours, or too old. Any of the keys may have signed it: they change while installs are under way. */
export function readInstallState(keys: readonly Buffer[], state: string, now: number): InstallState | undefined {
  const [, text = '', nonce = '', expires = '', signature = ''] =
    /^(([\w-]{22})\.([0-9a-z]{1,10}))\.([\w-]{43})$/.exec(state) ?? []
  const given = Buffer.from(signature, 'base64url')
  if (given.length === 0 || !keys.some((key) => timingSafeEqual(given, sign(key, text)))) return undefined
  const expiresAt = Number.parseInt(expires, 36)
  return expiresAt > now ? { nonce, expiresAt } : undefined
}

function sign(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(`install:${text}`).digest()
}
