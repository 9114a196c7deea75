import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { allowedSamples, type PairSamples, type SampleRecord, type SampleSettings, type Samples } from '../samples.ts'
import { asCount, asList, asText, pack, readKey, unpack } from './packed.ts'

/** The records behind accounts' last numbers, as far as the settings allow. */
export class KeptSamples {
  readonly settings: SampleSettings
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys, settings: SampleSettings) {
    this.settings = settings
    this.#store = store
    this.#keys = keys
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

/** Moments as those of readings. */
export function encodeSamples(samples: Samples): Buffer {
  const pairs = Object.entries(samples)
  const last = pairs.reduce((latest, [, { at }]) => Math.max(latest, at), 0)
  const records = (some: readonly SampleRecord[]) =>
    some.map(({ objectId, label = null, usage = null }) => [objectId, label, usage])
  return pack(
    last,
    pairs.map(([pair, { at, atLimit, nearLimit }]) => [pair, last - at, records(atLimit), records(nearLimit)]),
  )
}

/** @throws UnreadableBytes */
export function decodeSamples(stored: Buffer): Samples {
  const { at: last, value } = unpack(stored)
  const pairs = asList(value).map((one): [string, PairSamples] => {
    const [pair, age, atLimit, nearLimit] = asList(one)
    return [asText(pair), { at: last - asCount(age), atLimit: readRecords(atLimit), nearLimit: readRecords(nearLimit) }]
  })
  return Object.fromEntries(pairs)
}

function readRecords(records: unknown): SampleRecord[] {
  return asList(records).map((record) => {
    const [objectId, label, usage] = asList(record)
    return {
      objectId: typeof objectId === 'string' ? objectId : asCount(objectId),
      ...(label === null ? {} : { label: asText(label) }),
      ...(usage === null ? {} : { usage: asCount(usage) }),
    }
  })
}
