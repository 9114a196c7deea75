import { expect, test } from 'vitest'
import { visit } from './visit.ts'

test('a webhook is kept exactly as it came, and answered 204', async () => {
  const { sandbox, call, clock } = await visit()
  const rawBody = '{ "type":"alert.firing",  "n": 1.0, "é": "✓" }'
  const answer = await fetch(`${sandbox.url}/sandbox/hooks/ops?secret=1`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Webhook-Id': 'msg_1' },
    body: rawBody,
  })
  expect(answer.status).toBe(204)
  clock.move(2_000)
  await call('POST', '/sandbox/hooks', new URLSearchParams({ a: 'b' }))
  const hooks = await (await call('GET', '/sandbox/hooks')).json()
  expect(hooks).toEqual([
    {
      time: '2026-11-21T10:00:00.000Z',
      path: '/sandbox/hooks/ops',
      method: 'POST',
      headers: expect.objectContaining({ 'content-type': 'application/json', 'webhook-id': 'msg_1' }),
      body: { type: 'alert.firing', n: 1, é: '✓' },
      rawBody,
    },
    expect.objectContaining({ time: '2026-11-21T10:00:02.000Z', path: '/sandbox/hooks', body: 'a=b', rawBody: 'a=b' }),
  ])
  expect((await call('DELETE', '/sandbox/hooks')).status).toBe(204)
  expect(await (await call('GET', '/sandbox/hooks')).json()).toEqual([])
})

test('browsers get a page on which nothing that arrived can run', async () => {
  const { call } = await visit()
  await call('POST', '/sandbox/hooks', { type: 'alert.test', text: '<script>alert(1)</script>' })
  const answer = await call('GET', '/sandbox/hooks', undefined, { accept: 'text/html' })
  const text = await answer.text()
  expect(text).toContain('alert.test')
  expect(text).toContain('&lt;script&gt;')
  expect(text).not.toContain('<script')
})

test('faults make a bad receiver: refusals, redirects, lost answers', async () => {
  const { call } = await visit()
  const count = async () => ((await (await call('GET', '/sandbox/hooks')).json()) as object[]).length
  for (const fault of [
    { status: 503, headers: { 'Retry-After': '3' } },
    { status: 302, headers: { Location: '/sandbox/hooks/elsewhere' } },
    { status: 410 },
    { drop: true },
    { drop: true, after: true },
  ]) {
    await call('POST', '/sandbox/faults', { endpoint: 'hooks', times: 1, ...fault })
  }
  const busy = await call('POST', '/sandbox/hooks', {})
  expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '3'])
  const moved = await call('POST', '/sandbox/hooks', {})
  expect([moved.status, moved.headers.get('location')]).toEqual([302, '/sandbox/hooks/elsewhere'])
  expect((await call('POST', '/sandbox/hooks', {})).status).toBe(410)
  await expect(call('POST', '/sandbox/hooks', {})).rejects.toThrow()
  expect(await count()).toBe(0)
  await expect(call('POST', '/sandbox/hooks', {})).rejects.toThrow()
  expect(await count()).toBe(1)
})
