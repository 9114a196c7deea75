import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { changeBetween, type Value } from '../../../src/limits/history/change.ts'
import {
  changesOfFormat1,
  isFormat1,
  readingsOfFormat1,
  samplesOfFormat1,
} from '../../../src/limits/history/format-1.ts'
import { History } from '../../../src/limits/history/history.ts'
import { decodeReadings, encodeReadings } from '../../../src/limits/history/kept-readings.ts'
import { decodeSamples, KeptSamples } from '../../../src/limits/history/kept-samples.ts'
import { UnreadableBytes } from '../../../src/limits/history/packed.ts'
import { PollStore } from '../../../src/limits/poll-store.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import type { Samples } from '../../../src/limits/samples.ts'
import { NO_ALERT_WRITES } from '../../../src/redis/steps.ts'
import { seedAccount } from '../../support/accounts.ts'
import { useRedis } from '../../support/test-store.ts'
import { pollAccount } from './poll-account.ts'

interface Kept {
  histories: {
    stored: string
    records: string[]
    readings: Readings
    changes: { at: number; missingSince?: number; before: [string, Value | null][] }[]
  }[]
  samples: { stored: string; samples: Samples }[]
}

/** Made by the last version that wrote this form: what it wrote, and what it read back. */
const KEPT = JSON.parse(readFileSync(join(import.meta.dirname, 'format-1.json'), 'utf8')) as Kept

const bytes = (base64: string) => Buffer.from(base64, 'base64')
const histories = KEPT.histories.map(({ stored, records, readings, changes }, n) => ({
  ...{ n, stored: bytes(stored), records: records.map(bytes), readings },
  changes: changes.map((change) => ({ ...change, before: change.before.map(([id, was]) => [id, was ?? undefined]) })),
}))
const inOrder = ({ before, ...change }: { before: unknown[][] }) => ({
  ...change,
  before: before.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
})

describe('what versions before format 2 kept', () => {
  test.each(histories)('reads back: numbers and history, $n', ({ stored, records, readings, changes }) => {
    expect(isFormat1(stored)).toBe(true)
    expect(decodeReadings(stored)).toEqual(readings)
    expect(isFormat1(encodeReadings(readings))).toBe(false)
    expect(changesOfFormat1(stored, records).reverse()).toEqual(changes)
  })

  test('reads back: records behind the numbers', () => {
    for (const { stored, samples } of KEPT.samples) expect(decodeSamples(bytes(stored))).toEqual(samples)
  })

  test('is numbers at worst where its bytes are damaged, or told to be unreadable', () => {
    const read = [
      ...histories.slice(0, 3).map(({ stored }) => [stored, readingsOfFormat1] as const),
      ...histories
        .slice(0, 3)
        .flatMap(({ stored, records }) =>
          records
            .slice(-1)
            .map((record) => [record, (damaged: Buffer) => changesOfFormat1(stored, [damaged])] as const),
        ),
      ...KEPT.samples.map(({ stored }) => [bytes(stored), samplesOfFormat1] as const),
    ]
    for (const [whole, decode] of read) {
      for (let n = 1; n < whole.length; n++) {
        const flipped = Buffer.from(whole)
        flipped[n] = (flipped[n] as number) ^ 0x81
        for (const damaged of [whole.subarray(0, n), flipped]) {
          try {
            decode(damaged)
          } catch (error) {
            expect(error).toBeInstanceOf(UnreadableBytes)
          }
        }
      }
    }
  })
})

describe('an account that an earlier version left', () => {
  const redis = useRedis()
  const HUB = 123

  async function left({ stored, records }: (typeof histories)[number]) {
    const keys = redis.freshKeys()
    const own = keys.account(HUB)
    await seedAccount(redis.store, keys, { obtainedAt: 1 })
    await redis.store.set(own.readings, stored)
    await redis.store.rpush(own.history, ...records)
    return { keys, own, history: new History(redis.store, keys) }
  }

  test.each(histories)('keeps its history when it is polled on, $n', async (account) => {
    const { keys, own, history } = await left(account)
    // Before its first poll it reads as it is, and is left so.
    const before = await history.changes(HUB)
    expect(before?.changes).toEqual(account.changes)
    const at = (before?.readAt ?? 0) + 1_000
    expect(await redis.store.getBuffer(own.readings)).toEqual(account.stored)
    const { customProperties = { at, report: { overallUsage: 1, overallLimit: 9, byObjectType: [] } } } =
      account.readings
    const next: Readings = {
      associations: {},
      customProperties: { at, report: { ...customProperties.report, overallUsage: 77, byObjectType: [] } },
    }
    await pollAccount(redis.store, keys, HUB, at, next)
    const after = await history.changes(HUB)
    const found = changeBetween(account.readings, next, at, Number.POSITIVE_INFINITY)
    expect(after?.readings).toEqual(next)
    expect(after?.changes.map(inOrder)).toEqual([...account.changes, found].map((one) => inOrder(one as never)))
    expect((await redis.store.lrangeBuffer(own.history, 0, -1)).some(isFormat1)).toBe(false)
  })

  test('is polled on where its history can not be read', async () => {
    const { keys, own } = await left(histories[0] as never)
    await redis.store.lset(own.history, 0, 'x')
    const context = await new PollStore(redis.store, keys).read(HUB)
    expect(context?.readings).toEqual(histories[0]?.readings)
  })

  test('takes nothing of a poll that an earlier version began before it was written anew', async () => {
    const { keys } = await left(histories[0] as never)
    const polls = new PollStore(redis.store, keys)
    await polls.read(HUB)
    const result = { polls: '0', nextAt: 1, fields: {}, readings: undefined, alerts: NO_ALERT_WRITES }
    expect(await polls.commit(HUB, result)).toBe('lost')
  })

  test('has its records still, as far as the settings allow', async () => {
    const { keys, own } = await left(histories[0] as never)
    const [first] = KEPT.samples
    await redis.store.set(own.samples, bytes(first?.stored ?? ''))
    const samples = new KeptSamples(redis.store, keys, { records: 'full', keepMs: 1_000 })
    expect(await samples.read(HUB)).toEqual(first?.samples)
  })
})
