import { type LinkKind, readSigned, signedPath } from '../runtime/signed-links.ts'
import type { Vault } from '../tokens/vault.ts'

const LINKS: LinkKind<'account'> = {
  path: '/install',
  purpose: 'reconnect',
  parameters: { account: /^[1-9]\d{0,15}$/ },
}

/** As long as a customer may take to read the mail that it is in. */
const LASTS_MS = 7 * 86_400_000

/** Those of the links that acknowledge alerts; the purpose keeps the two kinds apart. */
const KEY = 'acknowledge'

/** A link that connects this account and no other, and until when it does (ms). It may be opened any number of times. */
export function reconnectLink(
  vault: Pick<Vault, 'deriveEach'>,
  publicUrl: string,
  hubId: number,
  now: number,
): { url: string; expiresAt: number } {
  const expiresAt = Math.ceil((now + LASTS_MS) / 1_000) * 1_000
  const path = signedPath(LINKS, { account: String(hubId) }, vault.deriveEach(KEY)[0], expiresAt)
  return { url: `${publicUrl}${path}`, expiresAt }
}

/** `none`: an install of any account. */
export function readReconnectLink(
  vault: Pick<Vault, 'deriveEach'>,
  query: object,
  now: number,
): { is: 'good'; hubId: number } | { is: 'expired' | 'forged' | 'none' } {
  if (!('account' in query || 'signature' in query)) return { is: 'none' }
  const link = readSigned(LINKS, query, vault.deriveEach(KEY), now)
  return link.is === 'good' ? { is: 'good', hubId: Number(link.values.account) } : link
}
