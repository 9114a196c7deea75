import type { Readings } from '../readings.ts'
import { seriesById } from '../series.ts'
import type { Change } from './change.ts'
import { encodeRecord } from './history-record.ts'
import { encodeReadings } from './packed-readings.ts'
import { type Slots, Standing, slotsFor } from './standing.ts'

/** What a poll leaves in Redis: its readings, and the record of what it found changed. */
export interface PackedPoll {
  readings: Buffer
  /** Undefined where nothing changed. */
  record: Buffer | undefined
}

/** `before`: slots as they were read. */
export function packPoll(
  readings: Readings,
  before: Slots,
  change: Change | undefined,
  packedTexts?: Buffer,
): PackedPoll {
  const { slots, record } = packChange(readings, before, change)
  return { readings: encodeReadings(readings, slots, packedTexts), record }
}

export function packChange(
  readings: Readings,
  before: Slots,
  change: Change | undefined,
): { slots: Slots; record: Buffer | undefined } {
  const values = seriesById(readings)
  const slots = slotsFor([...values.keys()], before)
  if (change === undefined) return { slots, record: undefined }
  const slotBefore = (id: string) => before.get(id) ?? noSlot(id)
  return { slots, record: encodeRecord(change, new Standing(values, slots), slotBefore) }
}

function noSlot(id: string): never {
  throw new Error(`the change says that ${id} is gone, but it was not there`)
}
