import type { Change, Value } from './change.ts'
import { PackedReader, PackedWriter, UnreadableBytes } from './packed.ts'
import type { Standing } from './standing.ts'

/*
 * One change as a record of the history. It leads from how things stood after it to how they stood before it, so the
 * newest record starts from the last readings, and the oldest ones can be cut off at any point.
 *
 * A byte with version and flags, 6 bytes of time, 6 more where a gap ended, then series by series until the end: slot,
 * then a number of which the two low bits say what was before, and the others are `d`:
 *   0  usage was d higher               1  usage was d lower
 *   2  d 0: usage and limit follow      1: usage follows, there was no limit to compare with
 *   3  d 0: it did not exist            1, 2: it exists no more: its id, then as 2 with d 0, 1
 */

const VERSION = 1
const ENDED_GAP = 1

const HIGHER = 0
const LOWER = 1
const ABSOLUTE = 2
const EXISTENCE = 3

/** Larger ones are as short told absolutely, and times four they must stay a whole number. */
const LARGEST_DELTA = 2 ** 49

/**
 * The record of `change`, which led to `standing`; `standing` is moved to how things stood before. `slotOf` says where a
 * series that exists no more had its place.
 */
export function encodeRecord(change: Change, standing: Standing, slotOf: (id: string) => number): Buffer {
  const { at, missingSince, before } = change
  const out = new PackedWriter()
  out.byte(VERSION * 16 + (missingSince === undefined ? 0 : ENDED_GAP))
  out.time(at)
  if (missingSince !== undefined) out.time(missingSince)
  const changed = before.filter(([id, was]) => !standing.is(id, was))
  for (const [id, was] of changed) if (standing.valueOf(id) !== undefined) encodeStanding(out, standing, id, was)
  // Last, because one may have had the slot of another that did not exist yet.
  for (const [id, was] of changed) {
    if (was === undefined || standing.valueOf(id) !== undefined) continue
    const slot = slotOf(id)
    out.whole(slot)
    out.whole(EXISTENCE + 4 * (was.limit === null ? 2 : 1))
    out.text(id)
    encodeValue(out, was)
    standing.add(id, slot, was)
  }
  return out.done()
}

function encodeStanding(out: PackedWriter, standing: Standing, id: string, was: Value | undefined): void {
  const now = standing.valueOf(id) as Value
  out.whole(standing.slotOf(id) as number)
  if (was === undefined) {
    out.whole(EXISTENCE)
    standing.remove(id)
    return
  }
  const delta = Math.abs(was.usage - now.usage)
  if (was.limit === now.limit && delta < LARGEST_DELTA) {
    out.whole((was.usage > now.usage ? HIGHER : LOWER) + 4 * delta)
  } else {
    out.whole(ABSOLUTE + 4 * (was.limit === null ? 1 : 0))
    encodeValue(out, was)
  }
  standing.set(id, was)
}

function encodeValue(out: PackedWriter, { usage, limit }: Value): void {
  out.whole(usage)
  if (limit !== null) out.whole(limit)
}

/**
 * The change that led to `standing`, which is moved to how things stood before.
 *
 * @throws UnreadableBytes where that can't have been written
 */
export function decodeRecord(record: Buffer, standing: Standing): Change {
  const { input, at, missingSince } = openRecord(record)
  const before: Change['before'] = []
  while (!input.atEnd) before.push(decodeBefore(input, standing))
  return { at, ...(missingSince === undefined ? {} : { missingSince }), before }
}

function openRecord(record: Buffer): { input: PackedReader; at: number; missingSince: number | undefined } {
  const input = new PackedReader(record)
  const head = input.byte()
  if (Math.floor(head / 16) !== VERSION || head % 16 > ENDED_GAP) {
    throw new UnreadableBytes(`it begins with ${head}: no version that is known`)
  }
  const at = input.time()
  const missingSince = head % 16 === ENDED_GAP ? input.time() : undefined
  if (missingSince !== undefined && missingSince >= at) throw new UnreadableBytes('a gap ends before it begins')
  return { input, at, missingSince }
}

function decodeBefore(input: PackedReader, standing: Standing): [string, Value | undefined] {
  const slot = input.whole()
  const how = input.whole()
  const [kind, d] = [how % 4, Math.floor(how / 4)]
  if (kind === EXISTENCE && d > 0) return decodeVanished(input, standing, slot, d)
  const id = standing.idAt(slot)
  const now = id === undefined ? undefined : standing.valueOf(id)
  if (id === undefined || now === undefined) throw new UnreadableBytes(`it names series ${slot}, which is unknown`)
  if (kind === EXISTENCE) {
    standing.remove(id)
    return [id, undefined]
  }
  const was =
    kind === ABSOLUTE
      ? decodeValue(input, d)
      : { usage: kind === HIGHER ? now.usage + d : now.usage - d, limit: now.limit }
  if (!Number.isSafeInteger(was.usage) || was.usage < 0) throw new UnreadableBytes(`${id} would have been ${was.usage}`)
  standing.set(id, was)
  return [id, was]
}

function decodeVanished(input: PackedReader, standing: Standing, slot: number, d: number): [string, Value] {
  const id = input.text()
  const was = decodeValue(input, d - 1)
  if (standing.idAt(slot) !== undefined || standing.valueOf(id) !== undefined) {
    throw new UnreadableBytes(`series ${slot}, ${JSON.stringify(id)}, would have been there twice`)
  }
  standing.add(id, slot, was)
  return [id, was]
}

function decodeValue(input: PackedReader, d: number): Value {
  if (d > 1) throw new UnreadableBytes(`it has a change of an unknown kind, ${d}`)
  return { usage: input.whole(), limit: d === 0 ? input.whole() : null }
}
