import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ClockSkew, type ObservedCall } from '../../src/provider/observed-call.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { type FarSide, json, startFarSide } from '../support/far-side.ts'
import { HandClock } from '../support/hand-clock.ts'
import { connectClient } from './connect-client.ts'

let far: FarSide
beforeAll(async () => {
  far = await startFarSide()
})
afterAll(() => far.stop())

const TOKEN = new Secret('a-token-that-nobody-may-see')

test('each call is told of when it has ended: endpoint, class of the answer, how long it took', async () => {
  const seen: ObservedCall[] = []
  const clock = new HandClock()
  const client = connectClient(far.url, { clock, timeoutMs: 300, observe: (call) => seen.push(call) })
  const classes = async (status: number) => {
    far.answer = (request, response) => {
      clock.move(70)
      json(status, {})(request, response)
    }
    await client.refresh(TOKEN)
    return seen.at(-1)
  }
  expect(await classes(200)).toEqual({ endpoint: 'token', class: '2xx', status: 200, ms: 70 })
  expect(await classes(404)).toEqual({ endpoint: 'token', class: '4xx', status: 404, ms: 70 })
  expect(await classes(429)).toEqual({ endpoint: 'token', class: '429', status: 429, ms: 70 })
  expect(await classes(503)).toEqual({ endpoint: 'token', class: '5xx', status: 503, ms: 70 })
  expect(await classes(302)).toEqual({ endpoint: 'token', class: 'other', status: 302, ms: 70 })
  far.answer = () => {}
  await client.metadata(TOKEN)
  expect(seen.at(-1)).toMatchObject({ endpoint: 'metadata', class: 'timeout' })
  far.answer = (_request, response) => response.destroy()
  await client.customProperties(TOKEN)
  expect(seen.at(-1)).toMatchObject({ endpoint: 'customProperties', class: 'network' })
  expect(seen.slice(-2).map(({ status }) => status)).toEqual([undefined, undefined])
  expect(JSON.stringify(seen)).not.toContain(TOKEN.reveal())
  await client.close()
})

test('each endpoint has its own name', async () => {
  const seen: string[] = []
  const client = connectClient(far.url, { observe: ({ endpoint }) => seen.push(endpoint) })
  far.answer = json(200, {})
  await client.exchangeCode(TOKEN)
  await client.metadata(TOKEN)
  await client.deleteRefreshToken(TOKEN)
  await client.associations(TOKEN, '0-1', '0-2')
  await client.customProperties(TOKEN)
  await client.associationSources(TOKEN)
  await client.associationTargets(TOKEN, '0-1')
  expect(seen).toEqual([
    'token',
    'metadata',
    'delete',
    'associations',
    'customProperties',
    'associationSources',
    'associationTargets',
  ])
  await client.close()
})

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const header = (at: number) => new Date(at).toUTCString()

describe("how far the provider's clock is ahead", () => {
  test('is unknown until an answer tells', () => {
    const skew = new ClockSkew()
    expect(skew.ms).toBeUndefined()
    skew.note(undefined, NOW, NOW)
    expect(skew.ms).toBeUndefined()
  })

  test('is found to within a second, from the middle of the call', () => {
    fc.assert(
      fc.property(fc.integer({ min: -86_400_000, max: 86_400_000 }), fc.nat(10_000), (ahead, took) => {
        const skew = new ClockSkew()
        // They looked at their clock half way.
        skew.note(header(NOW + took / 2 + ahead), NOW, NOW + took)
        expect(Math.abs((skew.ms ?? Number.NaN) - ahead)).toBeLessThanOrEqual(501)
      }),
    )
  })

  test('is looked at once a second', () => {
    const skew = new ClockSkew()
    skew.note(header(NOW), NOW, NOW)
    skew.note(header(NOW + 90_000), NOW + 999, NOW + 999)
    expect(skew.ms).toBe(500)
    skew.note(header(NOW + 91_000), NOW + 1_000, NOW + 1_000)
    expect(skew.ms).toBe(90_500)
  })

  test('is looked at again after our own clock was set back', () => {
    const skew = new ClockSkew()
    skew.note(header(NOW), NOW, NOW)
    skew.note(header(NOW), NOW - 3_600_000, NOW - 3_600_000)
    expect(skew.ms).toBe(3_600_500)
  })

  test('is not believed of a call over which this machine slept, or its clock was set', () => {
    const skew = new ClockSkew()
    skew.note(header(NOW), NOW, NOW + 3_600_000)
    skew.note(header(NOW), NOW, NOW - 1)
    expect(skew.ms).toBeUndefined()
  })

  test.each([
    '',
    'yesterday',
    '0',
    '2026',
    '1',
    'Sat, 21 Nov 2026',
    '2026-11-21T10:00:00Z',
    'Sat, 21 Nov 2026 10:00:00 +0500',
  ])('is not read from %o', (text) => {
    const skew = new ClockSkew()
    skew.note(text, NOW, NOW)
    skew.note([text, text], NOW, NOW)
    expect(skew.ms).toBeUndefined()
  })
})
