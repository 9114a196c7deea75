import { randomBytes, randomInt, randomUUID } from 'node:crypto'

/**
 * An access token of about 290 to 370 characters, its size changing from one to the next as the provider's do, unless a
 * length is asked for. It always holds `/`, `+`, `=`, `-` and `_`, so that a client that forgets to encode a path or a form
 * fails here, not in production.
 */
export function newAccessToken(length = 290 + randomInt(80)): string {
  const bytes = randomBytes(Math.ceil((length * 3) / 4))
  const text = bytes.toString('base64').replaceAll('=', '')
  const token = `C${text.slice(0, 40)}/${text.slice(40, 90)}+${text.slice(90, 130)}-${text.slice(130, 180)}_${text.slice(180)}==`
  // Joined texts keep all their pieces in memory; there may be hundreds of thousands of these.
  return Buffer.from(token, 'latin1').toString('latin1')
}

export function newRefreshToken(): string {
  return `na1-${randomUUID()}`
}

export function newCode(): string {
  return `na1-${randomUUID()}`
}
