import { keyIdOf } from '../../src/tokens/vault.ts'
import type { Scene } from './daemon.ts'
import type { Violation } from './judge.ts'
import { OLD_KEY } from './rekey-parts.ts'

/**
 * Whether all that is stored of an account opens without the old key, or the old key is known to be in use: then no daemon
 * starts without it.
 */
export async function judgeKeys(
  { real, keys }: Scene,
  hubIds: readonly number[],
  rekeyed: string,
): Promise<Violation[]> {
  const isKnown = (await real.sismember(keys.vault.used, OLD_KEY.id)) === 1
  const found = await Promise.all(
    hubIds.map(async (hubId) => {
      const stored = await real.hmgetBuffer(keys.account(hubId).tokens, 'access', 'refresh', 'previous')
      const isOld = stored.some((sealed) => sealed !== null && sealed.length > 0 && keyIdOf(sealed) === OLD_KEY.id)
      return isOld && !isKnown ? [{ what: `a token needs the old key ${rekeyed}`, hubId }] : []
    }),
  )
  return found.flat()
}
