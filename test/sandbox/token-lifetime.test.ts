import { expect, test } from 'vitest'
import { HUB, visit } from './visit.ts'

test('a new lifetime holds for tokens that are given out from then on, and is what they say of themselves', async () => {
  const { call, clock, connect, read, refresh } = await visit({ tokenLifetimeMs: 60_000 })
  const before = await connect(HUB)
  expect((await call('PUT', '/sandbox/token-lifetime', { ms: 20_000 })).status).toBe(204)
  const after = (await (await refresh(before.refresh_token)).json()) as typeof before
  expect([before.expires_in, after.expires_in]).toEqual([60, 20])

  clock.move(20_000)
  const limits = '/crm/v3/limits/custom-properties'
  expect((await read(limits, after.access_token)).status).toBe(401)
  expect((await read(limits, before.access_token)).status).toBe(200)
})

test.each([
  ['ms', {}],
  ['ms', { ms: 999 }],
  ['ms', { ms: '20s' }],
  ['body', 20_000],
])('a bad lifetime is refused with 400 and names %s', async (field, lifetime) => {
  const { call } = await visit()
  const answer = await call('PUT', '/sandbox/token-lifetime', lifetime)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toEqual({ field, error: expect.stringContaining(field) })
})
