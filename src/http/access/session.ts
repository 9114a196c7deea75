import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { isSameText } from '../../runtime/secret.ts'
import type { Vault } from '../../tokens/vault.ts'
import type { AdminToken } from './admin-tokens.ts'

/** How long a session lasts. */
const SESSION_MS = 12 * 3_600_000

/**
 * A session is the name of an admin token, a moment of expiry and a signature; nothing of it is stored. The token's hash is
 * signed with it: once the token is removed, or another one bears its name, its sessions are over. The key is derived from the
 * encryption key: every daemon of an installation has it, it survives a restart, and a reader of Redis, where the hashes are,
 * can't sign with it.
 */
export interface Sessions {
  /** The whole Set-Cookie header that signs in. */
  begin(token: AdminToken, now: number): string
  /** The one that signs out. */
  end(): string
  /** The token that signed in, if the session is good still. */
  ownerOf<T extends AdminToken>(cookies: string | undefined, tokens: readonly T[], now: number): T | undefined
  /** The text that makes this session unique. */
  textOf(cookies: string | undefined): string
  /**
   * The proof that a form was ours: a stranger's page can make a browser send one, cookie and all, but it can't read the token
   * in ours. Good for as long as the session is, at every daemon of the installation, and for no other session.
   */
  formTokenOf(session: string): string
  /** The same for a person whom a proxy signs in, and who has no session here: good for as long as the key is. */
  formTokenOfPerson(name: string): string
}

/** The vault is asked for each signature: the encryption key may be another one after a SIGHUP. */
export function createSessions(vault: Pick<Vault, 'derive'>, publicUrl: string): Sessions {
  const secure = publicUrl.startsWith('https:')
  // The prefix makes browsers refuse a cookie of this name from any neighboring host; it needs Secure.
  const cookie = secure ? '__Host-plimsoll' : 'plimsoll'
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
  const sign = ({ name, hash }: AdminToken, expires: string) =>
    createHmac('sha256', vault.derive('session'))
      .update(`session:${name}:${expires}:${hash.toString('hex')}`)
      .digest('base64url')
  const formToken = (of: string) => createHmac('sha256', vault.derive('form')).update(of).digest('base64url')
  return {
    begin: (token, now) => {
      const expires = String(now + SESSION_MS)
      const value = `${token.name}.${expires}.${sign(token, expires)}`
      return `${cookie}=${value}; Max-Age=${SESSION_MS / 1000}; ${attributes}`
    },
    end: () => `${cookie}=; Max-Age=0; ${attributes}`,
    ownerOf: (cookies, tokens, now) => {
      const [, name, expires = '', signature = ''] =
        /^([\w.-]{1,40})\.(\d{1,16})\.([\w-]{43})$/.exec(cookieOf(cookies, cookie)) ?? []
      const owner = tokens.find((token) => token.name === name)
      // The text as sent, not its number: an ended session is remembered by its cookie.
      if (owner === undefined || !isSameText(signature, sign(owner, expires))) return undefined
      return Number(expires) > now ? owner : undefined
    },
    textOf: (cookies) => cookieOf(cookies, cookie),
    formTokenOf: (session) => formToken(`form:${session}`),
    formTokenOfPerson: (name) => formToken(`person:${name}`),
  }
}

export function cookieOf(cookies: string | undefined, name: string): string {
  for (const pair of (cookies ?? '').split(';')) {
    const [key, value] = pair.trim().split('=', 2)
    if (key === name) return value ?? ''
  }
  return ''
}

/** The sessions that were signed out, for as long as they would have lasted. */
export class EndedSessions {
  readonly #store: Store
  readonly #key: string

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#key = keys.endedSessions
  }

  async list(): Promise<ReadonlySet<string>> {
    return new Set(await this.#store.zrange(this.#key, 0, '-1'))
  }

  async add(session: string, now: number): Promise<void> {
    // First, so that the addition is in force however the rest ends.
    await this.#store.zadd(this.#key, now + SESSION_MS, endedAs(session))
    await this.#store.zremrangebyscore(this.#key, '-inf', now)
    await this.#store.pexpire(this.#key, SESSION_MS)
  }
}

/** The stored name of a session that is over: a reader of Redis must learn no session from it. */
export function endedAs(session: string): string {
  return createHash('sha256').update(session).digest('base64url')
}

/** Signs its first visitor in, once: for the operator at the terminal, as in the demo. It is kept in memory only. */
export class SignInLink {
  readonly #code = randomBytes(32).toString('base64url')
  #isUsed = false

  get path(): string {
    return `/sign-in?code=${this.#code}`
  }

  /** True where this is the link's code, and for the first time: it works once. */
  use(code: unknown): boolean {
    if (this.#isUsed || !isSameText(code, this.#code)) return false
    this.#isUsed = true
    return true
  }
}
