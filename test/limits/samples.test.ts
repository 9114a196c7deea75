import { describe, expect, test } from 'vitest'
import {
  decodeSamples,
  mergeSamples,
  RECORD_CHOICES,
  type SampleSettings,
  type Samples,
  shownRecords,
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

test.each(['', 'x', 'null', '[null]'])('%j is read as no records', (text) => {
  expect(decodeSamples(Buffer.from(text))).toEqual({})
})

describe('the records behind a series', () => {
  const report = associations(500, [400, 490, 450], 2, { totalRecordsAtLimit: 12, totalRecordsNearLimit: 30 })
  const now = readings(1, properties(1), { [PAIR]: report })
  const shown = samples(1, { [PAIR]: report })

  test.each<[id: string, known: Samples, total: number, usages: (number | undefined)[]]>([
    [`at/${PAIR}`, shown, 12, [undefined, undefined]],
    [`near/${PAIR}`, shown, 30, [490, 450, 400]],
    [`fullest/${PAIR}`, shown, 42, [undefined, undefined, 490, 450, 400]],
    [`fullest/${PAIR}`, {}, 42, []],
    ['overall', shown, 0, []],
  ])('%s are those at the limit, then those near it, the fullest first', (id, known, total, usages) => {
    const records = shownRecords(seriesOf(now).find((one) => one.id === id) as Series, now, known)
    expect(records).toMatchObject({ total, shown: usages.length })
    expect(records.items.map(({ usage }) => usage)).toEqual(usages)
  })
})
