import { expect, test } from 'vitest'
import { HUB, visit } from './visit.ts'

test('over any stretch of its time, no more than so many grants of all accounts and dialects together', async () => {
  const { call, clock, connect, form, refresh } = await visit()
  const [one, other] = [await connect(HUB), await connect(HUB + 1)]
  expect((await call('PUT', '/sandbox/token-limit', { requests: 3, perMs: 10_000 })).status).toBe(204)

  expect((await refresh(one.refresh_token)).status).toBe(200)
  clock.move(4_500)
  const again = { grant_type: 'refresh_token', refresh_token: other.refresh_token }
  expect((await form('/oauth/2026-03/token', again)).status).toBe(200)
  expect((await refresh('nobody')).status).toBe(400)

  const refused = await refresh(other.refresh_token)
  expect(refused.status).toBe(429)
  expect(refused.headers.get('retry-after')).toBe('6')
  expect(await refused.json()).toMatchObject({ message: 'You have reached your rate limit.', errorType: 'RATE_LIMIT' })
  clock.move(5_499)
  expect((await refresh(one.refresh_token)).headers.get('retry-after')).toBe('1')
  clock.move(1)
  expect((await refresh(one.refresh_token)).status).toBe(200)
  expect((await refresh(one.refresh_token)).status).toBe(429)

  expect((await call('DELETE', '/sandbox/token-limit')).status).toBe(204)
  expect((await refresh(one.refresh_token)).status).toBe(200)
})

test('a call that is one too many changes nothing: its code is still good afterwards', async () => {
  const { approve, call, redeem, refresh } = await visit()
  await call('PUT', '/sandbox/token-limit', { requests: 1, perMs: 60_000 })
  await refresh('nobody')
  const code = await approve()
  expect((await redeem(code)).status).toBe(429)
  await call('DELETE', '/sandbox/token-limit')
  expect((await redeem(code)).status).toBe(200)
})

test.each([
  ['requests', { perMs: 1_000 }],
  ['requests', { requests: 0, perMs: 1_000 }],
  ['perMs', { requests: 1, perMs: 0.5 }],
  ['perMs', { requests: 1 }],
  ['body', []],
])('a bad limit is refused with 400 and names %s', async (field, limit) => {
  const { call } = await visit()
  const answer = await call('PUT', '/sandbox/token-limit', limit)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toEqual({ field, error: expect.stringContaining(field) })
})
