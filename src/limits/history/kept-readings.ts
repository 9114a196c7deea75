import type { AccountKeys } from '../../redis/keys.ts'
import type { AssociationReading, Readings } from '../readings.ts'
import { lastReadAt } from './change.ts'
import { asCount, asList, asText, pack, readKey, UnreadableBytes, unpack } from './packed.ts'

/**
 * The last numbers of an account from what Redis holds; undefined if it was never polled.
 *
 * @throws UnreadableKey
 */
export function keptReadings(hubId: number, keys: AccountKeys, stored: Buffer | null): Readings | undefined {
  if (stored === null) return undefined
  // Records of the history are read from the readings: without these they are useless.
  const wayOut = `Delete it and ${keys.history}: the next poll reads all numbers, and its history begins anew.`
  return readKey(hubId, keys.readings, wayOut, () => decodeReadings(stored))
}

/** Moments are kept as how much earlier than the last one they were, so that all of them move with it. */
export function encodeReadings(readings: Readings): Buffer {
  const last = lastReadAt(readings) ?? 0
  const { customProperties, associations } = readings
  const pairs = Object.entries(associations).map(([pair, { at, limit, atLimit, nearLimit, fullest }]) => {
    return [pair, last - at, limit, atLimit, nearLimit, fullest]
  })
  if (customProperties === undefined) return pack(last, [pairs])
  const { overallUsage, overallLimit, reportedPercentage, byObjectType } = customProperties.report
  const overall = [last - customProperties.at, overallUsage, overallLimit, reportedPercentage ?? null]
  const types = byObjectType.map((type) => {
    const { objectTypeId, singularLabel, pluralLabel, usage, limit, reportedPercentage: percentage = null } = type
    return [objectTypeId, singularLabel, pluralLabel, usage, limit, percentage]
  })
  return pack(last, [pairs, overall, types])
}

/** @throws UnreadableBytes */
export function decodeReadings(stored: Buffer): Readings {
  const { at: last, value } = unpack(stored)
  const [pairs, overall, types] = asList(value)
  const associations = Object.fromEntries(asList(pairs).map((pair) => readPair(asList(pair), last)))
  if (overall === undefined) return { associations }
  const [age, usage, limit, percentage] = asList(overall)
  const numbers = { overallUsage: asCount(usage), overallLimit: asCount(limit), ...reported(percentage) }
  const report = { ...numbers, byObjectType: asList(types).map((type) => readType(asList(type))) }
  return { customProperties: { at: earlier(last, age), report }, associations }
}

function readPair(
  [pair, age, limit, atLimit, nearLimit, fullest]: readonly unknown[],
  last: number,
): [string, AssociationReading] {
  const counts = { limit: asCount(limit), atLimit: asCount(atLimit), nearLimit: asCount(nearLimit) }
  return [asText(pair), { at: earlier(last, age), ...counts, fullest: asCount(fullest) }]
}

function readType([objectTypeId, singular, plural, usage, limit, percentage]: readonly unknown[]) {
  return {
    ...{ objectTypeId: asText(objectTypeId), singularLabel: asText(singular), pluralLabel: asText(plural) },
    ...{ usage: asCount(usage), limit: asCount(limit), ...reported(percentage) },
  }
}

function reported(percentage: unknown): { reportedPercentage?: number } {
  if (percentage === null) return {}
  if (typeof percentage !== 'number') throw new UnreadableBytes('a percentage is no number')
  return { reportedPercentage: percentage }
}

function earlier(last: number, age: unknown): number {
  const at = last - asCount(age)
  if (at < 0) throw new UnreadableBytes('a reading is older than there are times')
  return at
}
