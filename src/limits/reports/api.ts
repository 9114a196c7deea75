import type { StoredBucketUse } from '../../provider/bucket-use.ts'
import type { ReportedValue, ReportWords } from './report.ts'

const BUCKET = 'api.bucket'

/** The account's rate limit, which every answer shows: no report, so there is no call for it. */
export const api: ReportWords = {
  name: 'api',
  words: 'API calls',
  limitWords: 'API rate limit',
  wayOut: 'Spread the calls that your app makes for this account over more time',
  metrics: { [BUCKET]: { word: 'bucket', about: 'account', noun: 'API calls', unit: 'calls', isSample: true } },
}

export const BUCKET_SERIES = { metric: BUCKET }

/** The bucket as a reading; undefined where it was never seen. */
export function bucketReadings(
  kept: StoredBucketUse | null | undefined,
): Record<string, { at: number; values: ReportedValue[] }> | undefined {
  if (kept?.lastSeen === undefined) return undefined
  const { used, of, at } = kept.lastSeen
  return { [api.name]: { at, values: [{ metric: BUCKET, usage: used, limit: of }] } }
}
