import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { SILENCE_S } from '../../src/tokens/vault-keys.ts'

/**
 * Writers that say nothing are judged by the clock of Redis, in seconds. Here they are moved into the past by a thousand for
 * each second that passes in a run, so that those of real time don't matter.
 */
export const WRITER_SILENCE = SILENCE_S * 1_000 + 500

export async function ageWriters(real: Store, keys: Keys, ms: number): Promise<void> {
  for (const [writer, said] of Object.entries(await real.hgetall(keys.vault.writers))) {
    const [at, keyId] = said.split(' ')
    await real.hset(keys.vault.writers, writer, `${Number(at) - Math.round(ms)} ${keyId}`)
  }
}
