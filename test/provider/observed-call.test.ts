import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ObservedCall } from '../../src/provider/observed-call.ts'
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
