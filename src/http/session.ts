import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../runtime/secret.ts'

/** How long somebody stays signed in. */
export const SESSION_MS = 12 * 3_600_000

/**
 * A session is a moment of expiry and a signature; nothing is kept of it. The key comes from the admin token, so that
 * another admin token ends all sessions.
 */
export interface Sessions {
  /** The whole Set-Cookie header that signs in. */
  begin(now: number): string
  /** The one that signs out. */
  end(): string
  isGood(cookies: string | undefined, now: number): boolean
}

export function createSessions(adminToken: Secret, publicUrl: string): Sessions {
  const key = Buffer.from(hkdfSync('sha256', adminToken.reveal(), '', 'plimsoll session', 32))
  const secure = publicUrl.startsWith('https:')
  // The prefix makes browsers refuse a cookie of this name from any neighbouring host; it needs Secure.
  const name = secure ? '__Host-plimsoll' : 'plimsoll'
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
  const sign = (expires: string) => createHmac('sha256', key).update(`session:${expires}`).digest()
  return {
    begin: (now) => {
      const expires = String(now + SESSION_MS)
      return `${name}=${expires}.${sign(expires).toString('base64url')}; Max-Age=${SESSION_MS / 1000}; ${attributes}`
    },
    end: () => `${name}=; Max-Age=0; ${attributes}`,
    isGood: (cookies, now) => {
      const [, expires = '', signature = ''] = /^(\d{1,16})\.([\w-]{43})$/.exec(cookieOf(cookies, name)) ?? []
      if (expires === '' || !timingSafeEqual(Buffer.from(signature, 'base64url'), sign(expires))) return false
      return Number(expires) > now
    },
  }
}

function cookieOf(cookies: string | undefined, name: string): string {
  for (const pair of (cookies ?? '').split(';')) {
    const [key, value] = pair.trim().split('=', 2)
    if (key === name) return value ?? ''
  }
  return ''
}
