import type { AccountKeys } from '../../redis/keys.ts'
import type { Readings } from '../readings.ts'
import { decodeReadings, type KeptReadings } from './packed-readings.ts'
import { readKey } from './unreadable-key.ts'

/**
 * The last numbers of an account from what Redis holds; undefined if it was never polled. `names`: see `decodeReadings`.
 *
 * @throws UnreadableKey
 */
export function keptReadings(
  hubId: number,
  keys: AccountKeys,
  stored: Buffer | null,
  names?: Readings,
): KeptReadings | undefined {
  if (stored === null) return undefined
  return readKey(hubId, keys.readings, wayOut(keys), () => decodeReadings(stored, names))
}

/** Records of the history are told from the readings: without these they say nothing. */
function wayOut(keys: AccountKeys): string {
  return `Delete it and ${keys.history}: the next poll reads all numbers, and its history begins anew.`
}
