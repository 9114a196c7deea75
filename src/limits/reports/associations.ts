import { boundedRecords, boundedWords } from '../../provider/bounds.ts'
import { asObject, Gaps, type JsonObject, type ListPlace, type ObjectId, readCount } from '../../provider/read.ts'
import type { Pair } from '../pair.ts'
import type { ReadReport, Report, SampleRecord } from './report.ts'

/** The provider shows a record as near its limit from this share on; below it there is nothing to see. */
const SHOWN_FROM = 80

/** Association limit report (interface 2.3, 4.5) of one direction of a pair. Totals count all, lists hold samples. */
export const associations: Report = {
  name: 'associations',
  words: 'associations',
  limitWords: 'association limit',
  wayOut: 'Remove associations of these records',
  metrics: {
    'associations.atLimit': {
      word: 'at',
      about: 'pair',
      noun: 'records at the association limit',
      unit: 'records',
      counts: 'full',
    },
    'associations.nearLimit': {
      word: 'near',
      about: 'pair',
      noun: 'records near the association limit',
      unit: 'records',
      counts: 'near',
    },
    'associations.fullest': {
      word: 'fullest',
      about: 'pair',
      noun: 'fullest record',
      unit: 'associations',
      isOne: true,
      shownFrom: SHOWN_FROM,
    },
  },
  perPair: { none: (pair, limit) => valuesOf(pair, { limit, atLimit: 0, nearLimit: 0, fullest: 0 }) },
  path: ({ from, to }) => `/associations/records/${encodeURIComponent(from)}/${encodeURIComponent(to)}`,
  read(json, pair) {
    const answer = asObject(json, 'the answer')
    const totals = [readCount(answer, 'totalRecordsAtLimit'), readCount(answer, 'totalRecordsNearLimit')] as const
    const gaps = new Gaps()
    const limit = gaps.count(answer, 'limit') ?? 0
    const full = gaps.list(answer, 'atLimitFromRecordSamples', (item, at) => recordIn(gaps, item, at))
    const near = gaps.list(answer, 'nearLimitFromRecordSamples', (item, at) => {
      const record = recordIn(gaps, item, at)
      const usage = gaps.count(item, 'usage', at)
      // Without its usage it would pass for one that is at its limit.
      return record === undefined || usage === undefined ? undefined : { ...record, usage }
    })
    const [atLimit, nearLimit] = [atLeast(full, totals[0]), atLeast(near, totals[1])]
    const records = { atLimit: boundedRecords(full), nearLimit: boundedRecords(near) }
    const fullest = fullestUsage({ limit, atLimit, nearLimit, shown: records.nearLimit })
    return { ...valuesOf(pair, { limit, atLimit, nearLimit, fullest }), records, ...gaps.named() }
  },
}

type Numbers = Record<'limit' | 'atLimit' | 'nearLimit' | 'fullest', number>

function valuesOf({ from, to }: Pair, { limit, atLimit, nearLimit, fullest }: Numbers): Pick<ReadReport, 'values'> {
  return {
    values: [
      { metric: 'associations.atLimit', from, to, usage: atLimit, limit: 0 },
      { metric: 'associations.nearLimit', from, to, usage: nearLimit, limit: 0 },
      { metric: 'associations.fullest', from, to, usage: fullest, limit },
    ],
  }
}

function recordIn(gaps: Gaps, item: JsonObject, at: ListPlace): SampleRecord | undefined {
  const label = gaps.text(item, 'label', at)
  const objectId = gaps.id(item, 'objectId', at)
  if (objectId === undefined) return undefined
  return label === undefined ? { objectId } : { label: boundedWords(label), objectId }
}

/** A total that is less than what is shown is wrong: the records are there. */
function atLeast(samples: readonly { objectId: ObjectId }[], total: number): number {
  return total >= samples.length ? total : Math.max(total, new Set(samples.map(({ objectId }) => objectId)).size)
}

/**
 * Usage of the fullest record shown. A record at its limit comes without a number and counts as full; where none is shown at
 * all, every record is below the share from which they are, and 0 stands for that.
 */
function fullestUsage({ limit, atLimit, nearLimit, shown }: Omit<Numbers, 'fullest'> & { shown: SampleRecord[] }) {
  const usages = shown.map(({ usage = 0 }) => usage)
  if (atLimit > 0) usages.push(limit)
  else if (nearLimit > 0 && usages.length === 0) usages.push(Math.ceil((limit * SHOWN_FROM) / 100))
  return usages.reduce((fullest, usage) => Math.max(fullest, usage), 0)
}
