import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AdminToken } from './admin-token.ts'

/** How long a session lasts. */
export const SESSION_MS = 12 * 3_600_000

/**
 * A session is the name of an admin token, a moment of expiry and a signature; nothing is kept of it. The token's hash
 * is signed with it: once the token is removed, or another one bears its name, its sessions are over. The key is derived
 * from the encryption key: every daemon of an installation has it, it survives a restart, and who reads Redis, where the
 * hashes are, can't sign with it.
 */
export interface Sessions {
  /** The whole Set-Cookie header that signs in. */
  begin(token: AdminToken, now: number): string
  /** The one that signs out. */
  end(): string
  /** The token that signed in, if the session is good still. */
  ownerOf<T extends AdminToken>(cookies: string | undefined, tokens: readonly T[], now: number): T | undefined
  /** What makes this session unique. */
  textOf(cookies: string | undefined): string
}

/** `key` is asked for each signature: the encryption key may be another one after a SIGHUP. */
export function createSessions(key: () => Buffer, publicUrl: string): Sessions {
  const secure = publicUrl.startsWith('https:')
  // The prefix makes browsers refuse a cookie of this name from any neighbouring host; it needs Secure.
  const cookie = secure ? '__Host-plimsoll' : 'plimsoll'
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
  const sign = ({ name, hash }: AdminToken, expires: string) =>
    createHmac('sha256', key())
      .update(`session:${name}:${expires}:${hash.toString('hex')}`)
      .digest()
  return {
    begin: (token, now) => {
      const expires = String(now + SESSION_MS)
      const value = `${token.name}.${expires}.${sign(token, expires).toString('base64url')}`
      return `${cookie}=${value}; Max-Age=${SESSION_MS / 1000}; ${attributes}`
    },
    end: () => `${cookie}=; Max-Age=0; ${attributes}`,
    ownerOf: (cookies, tokens, now) => {
      const [, name, expires = '', signature = ''] =
        /^([\w.-]{1,40})\.(\d{1,16})\.([\w-]{43})$/.exec(cookieOf(cookies, cookie)) ?? []
      const owner = tokens.find((token) => token.name === name)
      if (owner === undefined) return undefined
      if (!timingSafeEqual(Buffer.from(signature, 'base64url'), sign(owner, expires))) return undefined
      return Number(expires) > now ? owner : undefined
    },
    textOf: (cookies) => cookieOf(cookies, cookie),
  }
}

function cookieOf(cookies: string | undefined, name: string): string {
  for (const pair of (cookies ?? '').split(';')) {
    const [key, value] = pair.trim().split('=', 2)
    if (key === name) return value ?? ''
  }
  return ''
}
