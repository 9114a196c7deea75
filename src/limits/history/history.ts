import { createHash } from 'node:crypto'
import type { Commands, Store } from '../../redis/connect.ts'
import type { AccountKeys, Keys } from '../../redis/keys.ts'
import { accountStepKeys } from '../../redis/steps.ts'
import { type Change, lastReadAt, type Value, valuesOf } from './change.ts'
import { encodeAnew, type ReadChanges } from './encode-anew.ts'
import { keptReadings } from './kept-readings.ts'
import { changesBackward, type Snapshot, snapshotOf, snapshotsBackward } from './read-back.ts'
import { Standing } from './standing.ts'
import { readKey } from './unreadable-key.ts'

export type { Snapshot, SnapshotSeries } from './read-back.ts'

/** All that is known of an account's numbers. What was before the first change stands in it; since when is not known. */
export interface AccountHistory extends ReadChanges {
  /** When its limits were last read, ms. */
  readAt: number
  /** How things stand since the last change, by series id. */
  current: ReadonlyMap<string, Value>
}

/**
 * The history of an account is a list of changes, oldest first, one per poll that saw any or that ended a gap. Each tells
 * what was *before* it, so old ones can be cut off at any point and the rest still reads; what is now stands in the
 * readings.
 */
export class History {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /**
   * What was reported between two moments, oldest first: one snapshot per change, and one for how things stood at
   * `from`. Empty for an account that was never polled.
   *
   * @throws UnreadableKey
   */
  async read(hubId: number, from: number, to: number): Promise<Snapshot[]> {
    const stored = await this.#stored(hubId)
    if (stored === undefined) return []
    const { readAt, standing, records } = stored
    // Of numbers that have stood for longer than any change is kept.
    if (records.length === 0) return readAt <= to ? [snapshotOf({ at: readAt }, standing.values)] : []
    return this.#reading(hubId, () => snapshotsBackward(standing, records, from, to).reverse())
  }

  /**
   * Every change that is kept. Undefined for an account that was never polled.
   *
   * @throws UnreadableKey
   */
  async changes(hubId: number): Promise<AccountHistory | undefined> {
    const stored = await this.#stored(hubId)
    if (stored === undefined) return undefined
    const { readAt, standing, records } = stored
    const changes = this.#reading(hubId, () => [...changesBackward(standing.copy(), records)].reverse())
    return { readAt, current: standing.values, changes, records, standing }
  }

  /**
   * Puts `thinned` in the place of the changes of `asRead`, in one step. Changes that polls have added meanwhile stay;
   * 'lost': the oldest ones are not what they were any more, and nothing was changed.
   */
  async replace(hubId: number, asRead: AccountHistory, thinned: readonly Change[]): Promise<'replaced' | 'lost'> {
    const { kept, records } = encodeAnew(asRead, thinned)
    const replaced = asRead.records.slice(0, asRead.records.length - kept)
    if (replaced.length === 0) {
      if (records.length > 0) throw new RangeError('a history is replaced by fewer changes, not by more')
      return 'replaced'
    }
    const step = [replaced.length, digestOf(replaced), ...records]
    return this.#store.replaceHistory(...accountStepKeys(this.#keys, hubId), ...step)
  }

  async #stored(hubId: number) {
    const keys = this.#keys.account(hubId)
    // Together, or a poll committed in between would pair new numbers with old changes.
    const [stored, records] = (await inOneStep(
      this.#store.multi().getBuffer(keys.readings).lrangeBuffer(keys.history, 0, -1),
    )) as [Buffer | null, Buffer[]]
    const kept = keptReadings(hubId, keys, stored)
    const readAt = kept === undefined ? undefined : lastReadAt(kept.readings)
    if (kept === undefined || readAt === undefined) return undefined
    return { readAt, records, standing: new Standing(valuesOf(kept.readings), kept.slots) }
  }

  #reading<T>(hubId: number, read: () => T): T {
    const { history }: AccountKeys = this.#keys.account(hubId)
    return readKey(hubId, history, 'Delete it: its history begins anew with the next change.', read)
  }
}

async function inOneStep(commands: Commands): Promise<unknown[]> {
  const answers = (await commands.exec()) ?? []
  return answers.map(([error, answer]) => {
    if (error !== null) throw error
    return answer
  })
}

/** As replace-history.lua makes it. */
function digestOf(records: readonly Buffer[]): string {
  const hash = createHash('sha1')
  for (const record of records) hash.update(`${record.length}:`).update(record)
  return hash.digest('hex')
}
