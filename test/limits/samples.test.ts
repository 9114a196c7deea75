import { brotliCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pack, UnreadableBytes } from '../../src/limits/history/packed-bytes.ts'
import {
  decodeSamples,
  encodeSamples,
  mergeSamples,
  RECORD_CHOICES,
  recordsOf,
  type SampleSettings,
  type Samples,
} from '../../src/limits/samples.ts'
import { type Series, seriesOf } from '../../src/limits/series.ts'
import type { ProviderFailure } from '../../src/provider/failure.ts'
import { associations, fetched, properties, readings, samples } from './reports.ts'

const PAIR = '0-1/0-2'
const KEY = `associations/${PAIR}`
const FAILURE: ProviderFailure = { class: 'transient', code: '503', message: 'x', status: 503 }
const FULL: SampleSettings = { records: 'full', keepMs: 1_000 }

describe('the records of a report', () => {
  const report = associations(500, [480], 1)

  test('are kept as they are shown', () => {
    expect(mergeSamples({}, fetched(7, undefined, { [PAIR]: report }), FULL)).toEqual({
      [KEY]: {
        at: 7,
        atLimit: [{ objectId: 100, label: 'full 0' }],
        nearLimit: [{ objectId: 200, label: 'near 0', usage: 480 }],
      },
    })
  })

  test('are kept without a label where only ids are to be kept, and not at all where none are', () => {
    const read = fetched(7, undefined, { [PAIR]: report })
    expect(mergeSamples({}, read, { ...FULL, records: 'ids' })).toEqual({
      [KEY]: { at: 7, atLimit: [{ objectId: 100 }], nearLimit: [{ objectId: 200, usage: 480 }] },
    })
    expect(mergeSamples({}, read, { ...FULL, records: 'none' })).toEqual({})
  })

  test.each(RECORD_CHOICES)('that were kept before lose what %s does not allow when their call fails', (records) => {
    const before = samples(1, { [PAIR]: report })
    const kept = mergeSamples(before, fetched(2, undefined, { [PAIR]: FAILURE }), { ...FULL, records })
    expect(kept).toEqual(mergeSamples({}, fetched(1, undefined, { [PAIR]: report }), { ...FULL, records }))
    expect(JSON.stringify(kept).includes('near 0')).toBe(records === 'full')
  })

  test('stay for their time while their call fails, and go with their pair', () => {
    const before = samples(1, { [PAIR]: report, '0-1/0-3': report })
    const failing = (at: number) => mergeSamples(before, fetched(at, properties(1), { [PAIR]: FAILURE }), FULL)
    expect(failing(1_000)).toEqual({ [KEY]: before[KEY] })
    expect(failing(1_001)).toEqual({})
  })
})

test('records read back as they were kept', () => {
  const id = fc.maxSafeNat()
  const label = fc.option(
    fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.toWellFormed()),
    { nil: undefined },
  )
  const record = fc
    .record({ objectId: id, label, usage: fc.option(id, { nil: undefined }) })
    .map(({ objectId, ...more }) => ({
      objectId,
      ...(more.label === undefined ? {} : { label: more.label }),
      ...(more.usage === undefined ? {} : { usage: more.usage }),
    }))
  const pair = fc.record({
    at: fc.nat(2 ** 47),
    atLimit: fc.array(record, { maxLength: 4 }),
    nearLimit: fc.array(record, { maxLength: 4 }),
  })
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(KEY, 'associations/2-1/p_x', 'associations/é/0-1'), pair), (all) => {
      const plain: Samples = { ...all }
      expect(decodeSamples(encodeSamples(plain))).toEqual(plain)
    }),
  )
})

test('eighty records with names of people take less than 60 % of what they took', () => {
  const words = ['Amber', 'Bruno', 'Clara', 'Dorian', 'Edith', 'Fabian', 'Greta', 'Hugo', 'Irene', 'Jonas', 'Karla']
  const records = Array.from({ length: 80 }, (_, n) => ({
    objectId: 10_000_000_000 + ((n * 7_919_000_017) % 90_000_000_000),
    label: `${words[(n * 7) % 11]} ${words[(n * 5 + (n >> 3)) % 11]}son`,
  }))
  const before = pack(9, [[KEY, 0, records.map(({ objectId, label }) => [objectId, label, null]), []]])
  const now = encodeSamples({ [KEY]: { at: 9, atLimit: records, nearLimit: [] } })
  expect(now.length).toBeLessThan(before.length * 0.6)
})

test('bytes that are no records of any version are unreadable', () => {
  const whole = encodeSamples(samples(1, { [PAIR]: associations(500, [480], 1) }))
  const compressed = (value: unknown) => pack(9, brotliCompressSync(JSON.stringify(value)), whole[0])
  const spoiled = [
    Buffer.alloc(0),
    Buffer.from('x'),
    whole.subarray(0, whole.length - 1),
    pack(9, [], whole[0]),
    pack(9, Buffer.from('x'), whole[0]),
    compressed(5),
    compressed([[], [], []]),
    compressed([[], [1], [], [null]]),
    compressed([[[KEY, 0, -1, 0]], [], [], []]),
    compressed([[[KEY, 0, 1]], [1], [null], [null]]),
    compressed([[[KEY, 0, 1, 0]], [{}], [null], [null]]),
  ]
  for (const [n, bytes] of spoiled.entries()) expect(() => decodeSamples(bytes), `${n}`).toThrow(UnreadableBytes)
})

describe('the records behind a series', () => {
  const report = associations(500, [400, 490, 450], 2, { totalRecordsAtLimit: 12, totalRecordsNearLimit: 30 })
  const now = readings(1, properties(1), { [PAIR]: report })
  const shown = samples(1, { [PAIR]: report })
  const recordsFor = (id: string, known = shown) =>
    recordsOf(seriesOf(now).find((one) => one.id === id) as Series, now, known)

  test('at the limit are those, without a usage', () => {
    expect(recordsFor(`at/${PAIR}`)).toEqual({ total: 12, items: report.atLimitFromRecordSamples })
  })

  test('near the limit are those, the fullest first', () => {
    expect(recordsFor(`near/${PAIR}`).total).toBe(30)
    expect(recordsFor(`near/${PAIR}`).items.map(({ usage }) => usage)).toEqual([490, 450, 400])
  })

  test('of the fullest are all, those at the limit first', () => {
    expect(recordsFor(`fullest/${PAIR}`).total).toBe(42)
    expect(recordsFor(`fullest/${PAIR}`).items.map(({ usage }) => usage)).toEqual([undefined, undefined, 490, 450, 400])
  })

  test('that are not kept are counted all the same', () => {
    expect(recordsFor(`fullest/${PAIR}`, {})).toEqual({ total: 42, items: [] })
  })

  test('of custom properties there are none', () => {
    expect(recordsFor('overall')).toEqual({ total: 0, items: [] })
  })
})
