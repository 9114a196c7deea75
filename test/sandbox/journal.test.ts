import { expect, test } from 'vitest'
import { ASSOCIATIONS, CLIENT, CUSTOM_PROPERTIES, HUB, metadataPath, refreshTokenPath, visit } from './visit.ts'

test('lists every request to the provider, oldest first', async () => {
  const { connect, refresh, read, call, journal, clock } = await visit()
  const tokens = await connect()
  clock.move(1_234)
  await refresh(tokens.refresh_token)
  await read(CUSTOM_PROPERTIES, tokens.access_token)
  await read(ASSOCIATIONS, tokens.access_token)
  await read('/crm/v3/limits/associations/records/0-1/to', tokens.access_token)
  await call('GET', metadataPath(tokens.access_token))
  await call('DELETE', refreshTokenPath(tokens.refresh_token))
  await refresh(tokens.refresh_token)
  await call('GET', '/nowhere')
  const at = { time: '2026-11-21T10:00:01.234Z', hubId: HUB }
  const [v1, v3] = [{ api: 'v1' }, { api: 'v3' }]
  expect(await journal()).toEqual([
    { time: '2026-11-21T10:00:00.000Z', endpoint: 'authorize', hubId: HUB, status: 302, method: 'POST' },
    {
      time: '2026-11-21T10:00:00.000Z',
      endpoint: 'token',
      api: 'v1',
      hubId: HUB,
      status: 200,
      method: 'POST',
      grant: 'authorization_code',
    },
    { ...at, ...v1, endpoint: 'token', status: 200, method: 'POST', grant: 'refresh_token' },
    { ...at, ...v3, endpoint: 'customProperties', status: 200, method: 'GET' },
    { ...at, ...v3, endpoint: 'associations', status: 200, method: 'GET', from: '0-1', to: '0-2' },
    { ...at, ...v3, endpoint: 'companion', status: 200, method: 'GET', from: '0-1' },
    { ...at, ...v1, endpoint: 'metadata', status: 200, method: 'GET' },
    { ...at, ...v1, endpoint: 'delete', status: 204, method: 'DELETE' },
    { ...at, ...v1, endpoint: 'token', status: 400, method: 'POST', grant: 'refresh_token' },
    { ...at, hubId: null, endpoint: 'other', status: 404, method: 'GET' },
  ])
})

test('can be narrowed by endpoint and account, and emptied', async () => {
  const { connect, read, journal, call } = await visit()
  const [mine, other] = [await connect(HUB), await connect(HUB + 1)]
  await read(CUSTOM_PROPERTIES, mine.access_token)
  await read(CUSTOM_PROPERTIES, other.access_token)
  expect(await journal('?endpoint=token')).toHaveLength(2)
  expect(await journal(`?endpoint=customProperties&hubId=${HUB + 1}`)).toEqual([
    expect.objectContaining({ hubId: HUB + 1, endpoint: 'customProperties' }),
  ])
  expect((await call('DELETE', '/sandbox/requests')).status).toBe(204)
  expect(await journal()).toEqual([])
})

test('knows whose a refused refresh token was', async () => {
  const { connect, refresh, call, journal } = await visit({ rotateRefreshTokens: true })
  const tokens = await connect()
  await refresh(tokens.refresh_token)
  await refresh(tokens.refresh_token)
  await call('DELETE', `/sandbox/accounts/${HUB}`)
  await refresh(tokens.refresh_token)
  const refusals = (await journal('?endpoint=token')).filter((entry) => entry.status === 400)
  expect(refusals.map((entry) => entry.hubId)).toEqual([HUB, HUB])
})

test('shows a request once it is answered, in the place of its arrival', async () => {
  const { connect, read, journal, call, clock } = await visit()
  const { access_token: token } = await connect()
  await call('POST', '/sandbox/faults', { endpoint: 'associations', delayMs: 1_000 })
  const slow = read(ASSOCIATIONS, token)
  await clock.sleeper()
  await read(CUSTOM_PROPERTIES, token)
  const polls = async () => (await journal()).flatMap(({ method, endpoint }) => (method === 'GET' ? [endpoint] : []))
  expect(await polls()).toEqual(['customProperties'])
  clock.move(1_000)
  await slow
  expect(await polls()).toEqual(['associations', 'customProperties'])
})

test('holds no code, token or secret, whatever went wrong', async () => {
  const { sandbox, connect, refresh, read, call, approve, redeem } = await visit({ rotateRefreshTokens: true })
  const tokens = await connect()
  await refresh(tokens.refresh_token)
  await refresh(tokens.refresh_token)
  await redeem(await approve())
  await read(CUSTOM_PROPERTIES, tokens.access_token)
  // Not encoded, in a query, in the wrong place: what a careless client might do.
  await call('GET', `/oauth/v1/access-tokens/${tokens.access_token}`)
  await call('GET', `${CUSTOM_PROPERTIES}?access_token=${encodeURIComponent(tokens.access_token)}`)
  await call('POST', `/oauth/v1/token?refresh_token=${tokens.refresh_token}`)
  await read(`/crm/v3/limits/associations/records/${encodeURIComponent(tokens.access_token)}/0-1`, tokens.access_token)
  const text = await (await call('GET', '/sandbox/requests')).text()
  expect(sandbox.issuedTokens().length).toBeGreaterThanOrEqual(8)
  for (const token of [...sandbox.issuedTokens(), CLIENT.client_secret]) expect(text).not.toContain(token)
})
