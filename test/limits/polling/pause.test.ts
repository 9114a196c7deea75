import { expect, test } from 'vitest'
import { pausedUntil } from '../../../src/limits/polling/account-calls.ts'
import type { CrmResult } from '../../../src/provider/failure.ts'
import { failure } from '../../support/fake-provider.ts'

const NOW = 1_763_719_200_000
const fine: CrmResult<number> = { ok: true, value: 1 }
const left = (remaining: number, intervalMs = 10_000) => ({ bucket: { intervalMs, max: 110, remaining } })

test.each([
  ['an answer that tells nothing', fine, undefined],
  ['an answer from a bucket with a fifth left', { ...fine, ...left(22) }, undefined],
  ['an answer from a bucket with less', { ...fine, ...left(21) }, 10_000],
  ['an answer from an empty bucket', { ...fine, ...left(0, 1_000) }, 1_000],
  ['an answer from a bucket that is filled once a day', { ...fine, ...left(0, 86_400_000) }, 60_000],
  ['a 429 that tells how long', failure('transient', { status: 429, retryAfterMs: 7_000 }), 7_000],
  ['a 429 that does not', failure('transient', { status: 429 }), 10_000],
  [
    'a 429 whose bucket is empty for longer',
    { ...failure('transient', { status: 429, retryAfterMs: 1_000 }), ...left(0) },
    10_000,
  ],
  ['a 429 of a day', failure('transient', { status: 429, retryAfterMs: 86_400_000 }), 86_400_000],
  ['a 503 that tells how long', failure('transient', { status: 503, retryAfterMs: 20_000 }), 20_000],
  ['a 503 that does not', failure('transient', { status: 503 }), undefined],
  ['a 477 that tells how long', failure('parked', { status: 477, retryAfterMs: 3_600_000 }), 3_600_000],
  ['a 401', failure('unauthorized', { status: 401, retryAfterMs: 7_000 }), undefined],
  ['no answer at all', failure('transient', { status: 0 }), undefined],
  ['a failure from a bucket that is nearly used up', { ...failure('forbidden'), ...left(3) }, 10_000],
] as [string, CrmResult<number>, number | undefined][])('%s', (_, result, ms) => {
  expect(pausedUntil(result, NOW)).toBe(ms === undefined ? undefined : NOW + ms)
})
