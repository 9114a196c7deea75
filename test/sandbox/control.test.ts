import { expect, test } from 'vitest'
import { HUB, visit } from './visit.ts'

test('the accounts of the start have plausible domains, and none has the app', async () => {
  const { call } = await visit({ accounts: 120 })
  const accounts = (await (await call('GET', '/sandbox/accounts')).json()) as { hubId: number; hubDomain: string }[]
  expect(accounts).toHaveLength(120)
  expect(accounts[0]).toEqual({ hubId: HUB, hubDomain: 'acme-001.example.com', installed: false })
  expect(accounts[119]).toMatchObject({ hubId: HUB + 119, hubDomain: expect.stringMatching(/-120\.example\.com$/) })
  expect(new Set(accounts.map((account) => account.hubDomain)).size).toBe(120)
})

test('an account can be added once, and then be connected and uninstalled', async () => {
  const { call, connect } = await visit({ accounts: 0 })
  const account = { hubId: 42, hubDomain: 'forty-two.example.com' }
  const added = await call('POST', '/sandbox/accounts', account)
  expect(added.status).toBe(201)
  expect(await added.json()).toEqual({ ...account, installed: false })
  expect((await call('POST', '/sandbox/accounts', account)).status).toBe(409)
  await connect(42)
  expect(await (await call('GET', '/sandbox/accounts')).json()).toEqual([{ ...account, installed: true }])
  expect((await call('DELETE', '/sandbox/accounts/42')).status).toBe(204)
  expect(await (await call('GET', '/sandbox/accounts')).json()).toEqual([{ ...account, installed: false }])
  expect((await call('DELETE', '/sandbox/accounts/43')).status).toBe(404)
})

test('a report must be a JSON object of an account that exists; nothing else is asked of it', async () => {
  const { call, sandbox } = await visit()
  const put = async (path: string, body: string) =>
    (await fetch(`${sandbox.url}/sandbox/accounts/${path}`, { method: 'PUT', body })).status
  expect(await put(`${HUB}/custom-properties`, '{}')).toBe(204)
  expect(await put(`${HUB}/associations/0-1/0-2`, '{"limit":"none"}')).toBe(204)
  for (const body of ['[]', 'null', '7', '{"limit":', '']) expect(await put(`${HUB}/custom-properties`, body)).toBe(400)
  expect(await put('7/custom-properties', '{}')).toBe(404)
  expect((await call('PUT', `/sandbox/accounts/${HUB}/nothing`, {})).status).toBe(404)
})

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

const FAULTS = 'POST /sandbox/faults'

test.each([
  ['POST /sandbox/accounts', 'hubId', { hubId: 0.5, hubDomain: 'x' }, 'must be a whole number from 1 to'],
  ['POST /sandbox/accounts', 'hubDomain', { hubId: 7 }, 'expected string'],
  ['POST /sandbox/accounts', 'body', 'seven', 'must be a JSON object'],
  [FAULTS, 'endpoint', { endpoint: 'tokens', status: 500 }, '"token"|"metadata"|"delete"'],
  [FAULTS, 'endpoint', { status: 500 }, '"customProperties"'],
  [FAULTS, 'hubId', { endpoint: 'token', status: 500, hubId: '12' }, 'must be a whole number from 1 to'],
  [FAULTS, 'status', { endpoint: 'token', status: 99 }, 'must be a whole number from 200 to 599'],
  [FAULTS, 'headers.bad name', { endpoint: 'token', headers: { 'bad name': 'x' } }, ''],
  [FAULTS, 'headers.x', { endpoint: 'token', headers: { x: 'a\r\nb' } }, "can't be sent"],
  [FAULTS, 'headers', { endpoint: 'token', headers: ['x'] }, 'expected record'],
  [FAULTS, 'drop', { endpoint: 'token', drop: 'yes' }, 'expected boolean'],
  [FAULTS, 'times', { endpoint: 'token', status: 500, times: 0 }, 'must be a whole number from 1 to'],
  [FAULTS, 'tiems', { endpoint: 'token', tiems: 1 }, 'allowed are endpoint, hubId, status, body, headers'],
  [FAULTS, 'constructor', { endpoint: 'token', constructor: 1 }, 'unknown'],
  ['PUT /sandbox/token-limit', 'perMs', { requests: 1 }, 'must be a whole number from 1 to'],
  ['PUT /sandbox/token-lifetime', 'ms', { ms: 999 }, 'must be a whole number from 1000 to'],
  [`PATCH /sandbox/accounts/${HUB}/records`, '0-1', { '0-1': 7 }, 'expected object'],
  [
    `PATCH /sandbox/accounts/${HUB}/records`,
    '0-1.percentage',
    { '0-1': { percentage: 1 } },
    'allowed are usage, limit',
  ],
  [`PUT /sandbox/accounts/${HUB}/plan`, 'pipeline', { pipeline: 403 }, 'associationLabels, calculatedProperties'],
  [`PUT /sandbox/accounts/${HUB}/plan`, 'records', { records: 500 }, '403|404|"empty"'],
])('%s refuses a wrong %s with 400, and says what is allowed', async (path, field, body, allowed) => {
  const { call } = await visit()
  const [method = '', url = ''] = path.split(' ')
  const answer = await call(method, url, body)
  expect(answer.status).toBe(400)
  const { error, ...rest } = (await answer.json()) as { error: string }
  expect(rest).toEqual({ field })
  expect(error).toContain(`${field}: `)
  expect(error).toContain(allowed)
  expect(await (await call('GET', '/sandbox/faults')).json()).toEqual([])
})

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
