import { expect, test } from 'vitest'
import { readAccountBucket } from '../../src/provider/failure.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { json, startFarSide } from '../support/far-side.ts'
import { CUSTOM_PROPERTIES } from './answers.ts'
import { connectClient } from './connect-client.ts'

function headers(
  interval: string | string[] | undefined,
  max: string | string[] | undefined,
  left?: string | string[],
) {
  return {
    'x-hubspot-ratelimit-interval-milliseconds': interval,
    'x-hubspot-ratelimit-max': max,
    'x-hubspot-ratelimit-remaining': left,
  }
}

test('the bucket of an account is read from the three headers', () => {
  expect(readAccountBucket(headers('10000', '110', '64'))).toEqual({ intervalMs: 10_000, max: 110, remaining: 64 })
  expect(readAccountBucket(headers('10000', '110', '0'))?.remaining).toBe(0)
  expect(readAccountBucket(headers('10000', '110', '110'))?.remaining).toBe(110)
})

test.each([
  ['nothing', {}],
  ['no interval', headers(undefined, '110', '64')],
  ['no max', headers('10000', undefined, '64')],
  ['no remaining', headers('10000', '110')],
  ['a header twice', headers('10000', '110', ['64', '63'])],
  ['an empty one', headers('10000', '110', '')],
  ['words', headers('10000', 'many', '64')],
  ['less than nothing', headers('10000', '110', '-1')],
  ['a fraction', headers('10000', '110', '1.5')],
  ['another notation', headers('1e4', '110', '64')],
  ['an interval of nothing', headers('0', '110', '64')],
  ['an interval of more than a day', headers('86400001', '110', '64')],
  ['a bucket of nothing', headers('10000', '0', '0')],
  ['more left than there is', headers('10000', '110', '111')],
  ['a number that is none any more', headers('10000', '9'.repeat(400), '64')],
])('%s tells nothing', (_, given) => {
  expect(readAccountBucket(given)).toBeUndefined()
})

test('each call for an account hands it on beside its value or its failure; those about tokens do not', async () => {
  const far = await startFarSide()
  const client = connectClient(far.url)
  const token = new Secret('access-1')
  const told = headers('10000', '110', '64') as unknown as Record<string, string>
  const bucket = { intervalMs: 10_000, max: 110, remaining: 64 }
  try {
    far.answer = json(200, CUSTOM_PROPERTIES, told)
    expect(await client.customProperties(token)).toMatchObject({ ok: true, bucket })
    far.answer = json(200, CUSTOM_PROPERTIES)
    expect(await client.customProperties(token)).not.toHaveProperty('bucket')
    far.answer = json(429, {}, told)
    for (const call of [
      client.customProperties(token),
      client.associations(token, '0-1', '0-2'),
      client.associationSources(token),
      client.associationTargets(token, '0-1'),
    ]) {
      expect(await call).toMatchObject({ ok: false, failure: { status: 429 }, bucket })
    }
    // An answer that can't be read has headers all the same.
    far.answer = json(200, { nothing: 'of this' }, told)
    expect(await client.customProperties(token)).toMatchObject({ ok: false, failure: { code: 'unreadable' }, bucket })
    expect(await client.metadata(token)).not.toHaveProperty('bucket')
  } finally {
    await client.close()
    await far.stop()
  }
})
