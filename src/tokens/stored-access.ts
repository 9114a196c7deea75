import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { TokenTimes } from './plan-refresh.ts'

/** An account's access token as it is stored, with all that a poll or a caller needs to know of it: read at one moment. */
export interface StoredAccess {
  /** Which of the account's tokens it is: that of its record while it is the last one. */
  version: string
  times: TokenTimes
  hubDomain: string
  /** The token, encrypted. */
  sealed: Buffer
}

/** The line before the token, as `writeAccess` in `account-step.lua` makes it. */
const LINE = /^(\d{1,16}) (\d{1,16}(?:\.\d+)?) (\d{1,16}(?:\.\d+)?) (.*)$/s
const LINE_END = 0x0a

/** Undefined where there is none, or an unreadable one: a refresh writes another one over it. */
export function parseAccess(stored: Buffer | null | undefined): StoredAccess | undefined {
  if (stored === null || stored === undefined) return undefined
  const end = stored.indexOf(LINE_END)
  const line = end < 0 ? null : LINE.exec(stored.toString('utf8', 0, end))
  if (line === null) return undefined
  const [, version = '', obtainedAt, expiresAt, hubDomain = ''] = line
  const times = { obtainedAt: Number(obtainedAt), expiresAt: Number(expiresAt) }
  return { version, times, hubDomain, sealed: stored.subarray(end + 1) }
}

export async function readAccess(store: Store, keys: Keys, hubId: number): Promise<StoredAccess | undefined> {
  // Not GET: a value of another type is none, and no failure.
  const [stored] = await store.mgetBuffer(keys.account(hubId).access)
  return parseAccess(stored)
}
