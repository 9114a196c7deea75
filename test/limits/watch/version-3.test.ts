import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeReadings } from '../../../src/limits/history/packed-readings.ts'
import { PollStore } from '../../../src/limits/poll-store.ts'
import { encodeSamples } from '../../../src/limits/samples.ts'
import { decodeWatch } from '../../../src/limits/watch/packed-watch.ts'
import { readableWatch, readWatch } from '../../../src/limits/watch/read-watch.ts'
import { NEW_WATCH } from '../../../src/limits/watch/watch.ts'
import { dump, seedAccount } from '../../support/accounts.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { associations, properties, readings, samples } from '../reports.ts'
import { turns } from './watches.ts'

const redis = redisOfFile()
const HUB = 123
const NOW = 1_763_719_200_000

/** An account as format 3 of the data has it: fields of its record, and its numbers under a key of their own. */
async function accountOfVersion3(fields: Record<string, string>, packed: Buffer | undefined) {
  const keys = redis.freshKeys()
  await seedAccount(redis.store, keys, { obtainedAt: NOW })
  const own = keys.account(HUB)
  const partition = `${keys.prefix}:{${HUB % 64}}`
  const old = { readings: `${partition}:readings:${HUB}`, calls: `${partition}:calls:${HUB}` }
  if (Object.keys(fields).length > 0) await redis.store.hset(own.account, fields)
  if (packed !== undefined) await redis.store.set(old.readings, packed)
  await redis.store.rpush(old.calls, NOW)
  const move = () => redis.store.moveWatch(keys.own(HUB))
  const read = () => readWatch(redis.store, keys, HUB)
  return { keys, own, old, move, read }
}

const FULL = {
  ...{ polls: '7', polledAt: `${NOW}`, changedAt: `${NOW - 9}`, typesLeftOut: '4' },
  pollBecause: `[${NOW + 5},0.25,{"is":"changed","at":${NOW - 9}}]`,
  ...{ pollFailures: '3', pollFailureReason: 'away\n"x"', pollFailureAt: `${NOW - 1}`, pollFailingSince: `${NOW - 8}` },
  ...{ pollBlocked: 'part', pollBlockedSince: `${NOW - 7}`, pollBlockedScopes: 'oauth crm.x' },
  gaps: '{"custom properties":["a gap"]}',
  notAvailable: `pipelines:${NOW + 3}`,
  bucket: `2 30/110/10000/${NOW}`,
  seen: 'a b c d',
  ...{ companionsAwayUntil: `${NOW + 6}`, pairsSeen: '1', disagreed: '1' },
}

/** The same, read. */
const WHOLE = {
  ...{ polledAt: NOW, changedAt: NOW - 9, typesLeftOut: 4 },
  turn: { regularAt: NOW + 5, urgency: 0.25, because: { is: 'changed', at: NOW - 9 } },
  failing: { count: 3, reason: 'away\n"x"', at: NOW - 1, since: NOW - 8 },
  blocked: { what: 'part', since: NOW - 7, scopes: ['oauth', 'crm.x'] },
  gaps: { 'custom properties': ['a gap'] },
  notAvailable: { pipelines: NOW + 3 },
  bucket: { refused: 2, lastSeen: { used: 30, of: 110, intervalMs: 10_000, at: NOW } },
  // It is of all answers together: the next poll reads them all.
  seen: undefined,
  ...{ companionsAwayUntil: NOW + 6, allPairsRead: true, disagreed: true },
  // It did not say: the next poll looks.
  hasAlerts: true,
  ...{ records: undefined, calls: undefined },
}

describe('what polls knew of an account in format 3 of the data', () => {
  test('is all known still, with its numbers, and nothing of it stands twice', async () => {
    const numbers = readings(NOW, properties(5))
    const { keys, own, old, move, read } = await accountOfVersion3(FULL, encodeReadings(numbers))
    expect(await move()).toBe(1)
    expect(await read()).toEqual({ watch: WHOLE, readings: encodeReadings(numbers), isInterrupted: false })
    expect((await new PollStore(redis.store, keys).read(HUB))?.readings.unpacked()).toEqual(numbers)
    expect(await redis.store.hmget(own.account, ...Object.keys(FULL))).toEqual(Object.keys(FULL).map(() => null))
    expect(await redis.store.exists(old.readings, old.calls)).toBe(0)
    expect(await redis.store.hget(own.account, 'state')).toBe('active')
  })

  test('is moved once: done again, also where it was stopped half-way, nothing is changed', async () => {
    const { keys, old, move, read } = await accountOfVersion3(FULL, encodeReadings(readings(NOW, properties(5))))
    await move()
    const after = await dump(redis.store, keys)
    expect(await move()).toBe(0)
    expect(await dump(redis.store, keys)).toEqual(after)
    // A new daemon does not write them, and an old one is not let in: they are none of this account's.
    await redis.store.rpush(old.calls, NOW)
    expect(await move()).toBe(0)
    expect(await dump(redis.store, keys)).toEqual(after)
    expect(await read()).toMatchObject({ watch: WHOLE })
  })

  test('of an account that was never polled is nothing, and of one that only failed no numbers', async () => {
    const never = await accountOfVersion3({}, undefined)
    expect(await never.move()).toBe(0)
    expect(await never.read()).toBeUndefined()
    expect(await redis.store.exists(never.own.watch, never.old.calls)).toBe(0)
    const failed = await accountOfVersion3(
      { pollFailures: '1', pollFailureReason: 'x', pollFailureAt: `${NOW}` },
      undefined,
    )
    expect(await failed.move()).toBe(1)
    // It began to fail with the failure that is known, where no other moment is.
    const failing = { count: 1, reason: 'x', at: NOW, since: NOW }
    expect(await failed.read()).toMatchObject({ watch: { polledAt: 0, failing }, readings: undefined })
  })

  test('is only numbers where the record has no such field', async () => {
    const packed = encodeReadings(readings(NOW, properties(5)))
    const { move, read } = await accountOfVersion3({}, packed)
    expect(await move()).toBe(1)
    expect(await read()).toEqual({
      ...{ watch: { ...NEW_WATCH, hasAlerts: true }, readings: packed, isInterrupted: false },
    })
  })

  test('has the records behind the numbers as long as they have left', async () => {
    const { own, move, read } = await accountOfVersion3(FULL, undefined)
    const shown = samples(NOW, { '0-1/0-2': associations(500, [480], 1) })
    await redis.store.set(own.samples, encodeSamples(shown), 'PX', 60_000)
    await move()
    const until = Number(await redis.store.pexpiretime(own.samples))
    const kept = await read()
    const { records } = kept === undefined || kept === 'unreadable' ? NEW_WATCH : kept.watch
    expect(records?.readAt).toBe(NOW)
    expect(Math.abs((records?.until ?? 0) - until)).toBeLessThan(10)
  })

  test('leaves numbers that are of another type aside', async () => {
    const { old, move, read } = await accountOfVersion3(FULL, undefined)
    await redis.store.rpush(old.readings, 'no string')
    await move()
    expect(await read()).toEqual({ watch: WHOLE, readings: undefined, isInterrupted: false })
    expect(await redis.store.lrange(`${old.readings}:unreadable`, 0, -1)).toEqual(['no string'])
    expect(await redis.store.pttl(`${old.readings}:unreadable`)).toBeGreaterThan(0)
  })

  test('is stopped, and granted anew, like any other', async () => {
    const { keys, own, move, read } = await accountOfVersion3(FULL, undefined)
    await move()
    await seedAccount(redis.store, keys, { obtainedAt: NOW + 1 })
    const watch = {
      ...WHOLE,
      failing: undefined,
      blocked: undefined,
      turn: undefined,
      notAvailable: {},
      seen: undefined,
    }
    expect(await read()).toMatchObject({ isInterrupted: true, watch: { ...watch, companionsAwayUntil: 0 } })
    expect((await redis.store.getBuffer(own.watch))?.[0]).toBe('g'.charCodeAt(0))
  })

  test('is brought forward where it seems to be from the future', async () => {
    const { own, move } = await accountOfVersion3(FULL, undefined)
    await move()
    // As `bringForward` looks for it.
    expect(await redis.store.getrange(own.watch, 0, 40)).toMatch(/^.{9}\s\{"polledAt":1763719200000/)
  })
})

const ofFields = (fields: Record<string, unknown>) => Buffer.from(`1version3 ${JSON.stringify({ fields })}\n`)

describe('an odd field of format 3', () => {
  test.each([
    ['pollBecause', 'x', { turn: undefined }],
    ['pollBecause', 'null', { turn: undefined }],
    ['pollBecause', '{}', { turn: undefined }],
    // As an earlier version wrote it.
    ['pollBecause', 's0 1763719200', { turn: undefined }],
    ['pollBecause', '[1,0]', { turn: undefined }],
    ['pollBecause', '[1,0,{"is":"quick"}]', { turn: undefined }],
    ['pollBecause', '["1",0,{"is":"still"}]', { turn: undefined }],
    ['pollBecause', '[1,2,{"is":"still"}]', { turn: undefined }],
    ['pollBecause', '[1,0,{"is":"changed"}]', { turn: undefined }],
    ['pollBecause', '[1,0,{"is":"rising","series":"overall","days":-1,"to":"warning"}]', { turn: undefined }],
    ['pollBecause', '[1,0,{"is":"budget","instead":{"is":"budget","instead":{"is":"still"}}}]', { turn: undefined }],
    ['polledAt', 'x', { polledAt: 0 }],
    ['changedAt', '1e300', { changedAt: 0 }],
    ['typesLeftOut', 'NaN', { typesLeftOut: 0 }],
    ['seen', 'a b c d e', { seen: undefined }],
    ['bucket', 'x', { bucket: undefined }],
    ['notAvailable', 'x pipelines:5', { notAvailable: { pipelines: 5 } }],
    ['gaps', '{', { gaps: {} }],
    ['gaps', 'null', { gaps: {} }],
    ['gaps', '{"custom properties":5}', { gaps: {} }],
    ['gaps', '[["x"]]', { gaps: {} }],
  ])('%s = %j is none', (name, value, read) => {
    const watch = { ...NEW_WATCH, polledAt: 5, hasAlerts: true, ...read }
    expect(readableWatch(ofFields({ polledAt: '5', [name]: value }))).toEqual({ watch, isInterrupted: false })
  })

  test.each(['{}', '[]', '5', '{"fields":5}', '{"fields":{"polledAt":5}}', '{', ''])(
    'is unreadable if all is %j',
    (line) => {
      expect(readableWatch(Buffer.from(`1version3 ${line}\n`))).toBe('unreadable')
    },
  )

  test('never takes down who reads it, whatever stands there', () => {
    const names = [...Object.keys(FULL), 'recordsReadAt', 'recordsUntil']
    const odd = fc.oneof(
      // So that not all is over with the first number.
      { weight: 9, arbitrary: fc.nat().map(String) },
      ...[fc.string({ unit: 'binary' }), fc.json(), fc.double().map(String)].map((arbitrary) => ({
        weight: 1,
        arbitrary,
      })),
    )
    const fields = fc.record(Object.fromEntries(names.map((name) => [name, odd])), { requiredKeys: [] })
    fc.assert(
      fc.property(fields, (found) => void readableWatch(ofFields(found))),
      { numRuns: 500 },
    )
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (line) => void readableWatch(Buffer.from(`1version3 ${line}\n`))),
    )
  })

  test('a turn reads back as it was', () => {
    fc.assert(
      fc.property(turns, ({ regularAt, urgency, because }) => {
        const stored = ofFields({ pollBecause: JSON.stringify([regularAt, urgency, because]) })
        expect(decodeWatch(stored).watch.turn).toEqual({ regularAt, urgency, because })
      }),
    )
  })
})
