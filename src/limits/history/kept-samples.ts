import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { allowedSamples, type SampleSettings, type Samples } from '../samples.ts'
import { decodeSamples } from './packed-samples.ts'
import { readKey } from './unreadable-key.ts'

/** The records behind accounts' last numbers, as far as the settings allow. */
export class KeptSamples {
  readonly settings: SampleSettings
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys, settings: SampleSettings) {
    this.#store = store
    this.#keys = keys
    this.settings = settings
  }

  /**
   * Empty for an account that was shown none, or none for too long.
   *
   * @throws UnreadableKey
   */
  async read(hubId: number): Promise<Samples> {
    const { samples } = this.#keys.account(hubId)
    const stored = await this.#store.getBuffer(samples)
    if (stored === null) return {}
    const wayOut = 'Delete it: the next poll reads the records again.'
    // Of an account that is not polled any more they were kept before the setting was changed.
    return allowedSamples(
      readKey(hubId, samples, wayOut, () => decodeSamples(stored)),
      this.settings.records,
    )
  }
}
