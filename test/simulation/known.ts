import type { MixName } from './mixes.ts'

/**
 * An uninstall deletes the last two refresh tokens of an account. Where a provider lets the one before live until its successor
 * is used, a third may be alive: two daemons redeemed one token, or a new grant was proved while the uninstall began.
 */
const LEFT = 'a refresh token is left alive after the uninstall'

/** What is known to happen still, by mix. What is fixed goes out of here. */
export const KNOWN: Partial<Record<MixName, readonly string[]>> = {
  'steps again': [LEFT],
  'links for another account': [LEFT],
}
