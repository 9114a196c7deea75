import type { Secret } from '../../../runtime/secret.ts'
import { type SignedParameters, signedQuery } from '../../../runtime/signed-links.ts'

/** Page of the vendor that customers get in place of a page that reports success: its address comes from the config alone. */
export interface AfterInstall {
  url: string
  /** The vendor checks by it that an address was made here. */
  secret: Secret
}

const PARAMETERS: SignedParameters<'hubId' | 'outcome'> = {
  purpose: 'after-install',
  parameters: { hubId: /^[1-9]\d{0,15}$/, outcome: /^(re)?connected$/ },
}

/** A browser follows at once; clocks may differ. */
const LASTS_MS = 300_000

export function afterInstallUrl(
  { url, secret }: AfterInstall,
  { hubId, is }: { hubId: number; is: 'connected' | 'reconnected' },
  now: number,
): string {
  const address = new URL(url)
  const values = { hubId: String(hubId), outcome: is }
  for (const [name, value] of signedQuery(PARAMETERS, values, Buffer.from(secret.reveal()), now + LASTS_MS))
    address.searchParams.set(name, value)
  return address.href
}
