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

test.each([
  ['hubId', { hubDomain: 'x.example.com' }],
  ['hubId', { hubId: '7', hubDomain: 'x.example.com' }],
  ['hubId', { hubId: 0.5, hubDomain: 'x.example.com' }],
  ['hubDomain', { hubId: 7 }],
  ['body', 'seven'],
])('a bad account is refused with 400 and names %s', async (field, account) => {
  const { call } = await visit()
  const answer = await call('POST', '/sandbox/accounts', account)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toEqual({ field, error: expect.stringContaining(field) })
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
