import { expect, test } from 'vitest'
import {
  type BucketUse,
  NOTHING_USED,
  type StoredBucketUse,
  useAfter,
  useToStore,
} from '../../src/provider/bucket-use.ts'
import { type CrmResult, failed } from '../../src/provider/failure.ts'

const left = (remaining: number) => ({ bucket: { intervalMs: 10_000, max: 110, remaining } })
const used = (calls: number) => ({ lastSeen: { used: calls, of: 110, intervalMs: 10_000 } })
const fine = { ok: true, value: 'a report' } as const
const refused = (status: number) => failed({ class: 'transient', code: String(status), message: 'no', status })

test.each<[string, CrmResult<unknown>[], BucketUse]>([
  ['no call', [], { refused: 0 }],
  ['a call without the headers', [fine], { refused: 0 }],
  ['a call with them', [{ ...fine, ...left(64) }], { ...used(46), refused: 0 }],
  [
    'an untouched and an empty bucket',
    [
      { ...fine, ...left(110) },
      { ...fine, ...left(0) },
    ],
    { ...used(110), refused: 0 },
  ],
  [
    'the last answer counts, not the fullest',
    [
      { ...fine, ...left(3) },
      { ...fine, ...left(90) },
    ],
    { ...used(20), refused: 0 },
  ],
  [
    'one without the headers leaves what was seen',
    [{ ...fine, ...left(64) }, fine, refused(503)],
    { ...used(46), refused: 0 },
  ],
  ['failures have the headers, too', [{ ...refused(403), ...left(64) }], { ...used(46), refused: 0 }],
  [
    'each 429 counts, no other failure',
    [refused(429), refused(503), { ...refused(429), ...left(0) }],
    { ...used(110), refused: 2 },
  ],
])('the use of a bucket after %s', (_, results, expected) => {
  expect(results.reduce(useAfter, NOTHING_USED)).toEqual(expected)
})

const seenAt = (calls: number, at: number): StoredBucketUse => {
  return { lastSeen: { used: calls, of: 110, intervalMs: 10_000, at }, refused: 0 }
}

test.each<[string, StoredBucketUse | undefined, BucketUse, StoredBucketUse | undefined]>([
  ['of nothing, nothing', undefined, NOTHING_USED, undefined],
  ['what was seen, with its moment', seenAt(3, 10), { ...used(46), refused: 0 }, seenAt(46, 50)],
  ['what was seen before, where this poll saw nothing', { ...seenAt(3, 10), refused: 4 }, NOTHING_USED, seenAt(3, 10)],
  ['that calls were refused, though no headers came', undefined, { refused: 2 }, { refused: 2 }],
])('kept is %s', (_, before, use, kept) => {
  expect(useToStore(before, use, 50)).toEqual(kept)
})
