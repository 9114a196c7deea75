import { describe, expect, test } from 'vitest'
import { CLIENT, HUB, metadataPath, REDIRECT_URI, SCOPES, visit } from './visit.ts'

describe('exchanging a code', () => {
  test('answers the four fields of a token response', async () => {
    const { connect } = await visit()
    const tokens = await connect()
    expect(tokens).toEqual({
      token_type: 'bearer',
      access_token: expect.any(String),
      refresh_token: expect.stringMatching(/^na1-[0-9a-f-]{36}$/),
      expires_in: 1800,
    })
  })

  test('gives access tokens of realistic size that fail in clients which do not encode', async () => {
    const { connect } = await visit()
    for (const hubId of [HUB, HUB + 1, HUB + 2]) {
      const { access_token: token } = await connect(hubId)
      expect(token.length).toBeGreaterThanOrEqual(280)
      expect(token.length).toBeLessThanOrEqual(400)
      for (const character of '/+=-_') expect(token).toContain(character)
    }
  })
})

describe('refreshing', () => {
  test('never promises a longer life than a token has', async () => {
    const { connect } = await visit({ tokenLifetimeMs: 1_900 })
    expect((await connect()).expires_in).toBe(1)
  })
})

describe('the token endpoint refuses with 400 and a body of four fields', () => {
  const refresh = { grant_type: 'refresh_token', refresh_token: 'x' }
  const code = { grant_type: 'authorization_code', code: 'x', redirect_uri: REDIRECT_URI }
  const { redirect_uri: _, ...noRedirect } = code
  const refusals: [what: string, fields: Record<string, string>, error: string, status: string, names: string][] = [
    ['no grant_type', {}, 'invalid_request', 'BAD_REQUEST', 'grant_type'],
    ['another grant_type', { grant_type: 'password' }, 'unsupported_grant_type', 'BAD_GRANT_TYPE', ''],
    ['no refresh_token', { grant_type: 'refresh_token' }, 'invalid_request', 'BAD_REQUEST', 'refresh_token'],
    ['no redirect_uri', noRedirect, 'invalid_request', 'BAD_REQUEST', 'redirect_uri'],
    ['an unknown refresh token', refresh, 'invalid_grant', 'BAD_REFRESH_TOKEN', ''],
    ['an unknown code', code, 'invalid_grant', 'BAD_AUTH_CODE', ''],
    ['an unknown client', { ...refresh, client_id: 'x' }, 'invalid_client', 'BAD_CLIENT_ID', ''],
    ['a wrong secret', { ...refresh, client_secret: 'x' }, 'invalid_client', 'BAD_CLIENT_SECRET', ''],
  ]
  test.each(refusals)('%s', async (_what, fields, error, status, names) => {
    const { call } = await visit()
    const answer = await call('POST', '/oauth/v1/token', new URLSearchParams({ ...CLIENT, ...fields }))
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toContain('application/json')
    const body = (await answer.json()) as Record<string, string>
    expect(body).toEqual({ error, error_description: body.message, status, message: expect.stringContaining(names) })
  })

  test('a body that is not a form', async () => {
    const { call } = await visit()
    const answer = await call(
      'POST',
      '/oauth/v1/token',
      { grant_type: 'refresh_token' },
      { 'content-type': 'application/json' },
    )
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({
      error: 'invalid_request',
      message: expect.stringContaining('x-www-form-urlencoded'),
    })
  })
})

describe('metadata', () => {
  test('has every field of the interface', async () => {
    const { connect, call, clock } = await visit()
    const { access_token: token } = await connect()
    clock.move(60_500)
    const answer = await call('GET', metadataPath(token))
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({
      token,
      user: 'admin@acme-01.example.com',
      hub_domain: 'acme-01.example.com',
      scopes: SCOPES.split(' '),
      hub_id: HUB,
      app_id: expect.any(Number),
      user_id: expect.any(Number),
      expires_in: 1739,
      token_type: 'access',
      signed_access_token: {
        expiresAt: clock.now() + 1_739_500,
        scopes: expect.any(String),
        hubId: HUB,
        userId: expect.any(Number),
        appId: expect.any(Number),
        signature: expect.any(String),
        scopeToScopeGroupPks: expect.any(String),
        newSignature: expect.any(String),
        hublet: 'na1',
        trialScopes: '',
        trialScopeToScopeGroupPks: '',
        isUserLevel: false,
      },
    })
  })
})

test('two approvals of one account give two refresh tokens that both live', async () => {
  const { connect, refresh } = await visit()
  const [first, second] = [await connect(), await connect()]
  expect(first.refresh_token).not.toBe(second.refresh_token)
  expect((await refresh(first.refresh_token)).status).toBe(200)
  expect((await refresh(second.refresh_token)).status).toBe(200)
})

test('introspection tells what an access token and a refresh token are', async () => {
  const { connect, form } = await visit()
  const tokens = await connect()
  const access = await form('/oauth/2026-03/token/introspect', { token: tokens.access_token })
  expect(await access.json()).toMatchObject({
    active: true,
    token: tokens.access_token,
    hub_id: HUB,
    hub_domain: 'acme-01.example.com',
    scopes: SCOPES.split(' '),
    expires_in: 1800,
    token_use: 'access_token',
    client_id: CLIENT.client_id,
    app_id: expect.any(Number),
    is_private_distribution: false,
    signed_access_token: expect.any(Object),
  })
  const refresh = await form('/oauth/2026-03/token/introspect', { token: tokens.refresh_token })
  expect(await refresh.json()).toMatchObject({ active: true, hub_id: HUB, token_use: 'refresh_token' })
})

test.each(['introspect', 'revoke'])('%s wants the credentials of the app and a token', async (verb) => {
  const { connect, call, refresh } = await visit()
  const { refresh_token: token } = await connect()
  const ask = async (fields: Record<string, string>) => {
    const answer = await call('POST', `/oauth/2026-03/token/${verb}`, new URLSearchParams(fields))
    expect(answer.status).toBe(400)
    return answer.json()
  }
  expect(await ask({ token })).toMatchObject({
    error: 'invalid_request',
    message: expect.stringContaining('client_id'),
  })
  expect(await ask({ ...CLIENT })).toMatchObject({
    error: 'invalid_request',
    message: expect.stringContaining('token'),
  })
  expect(await ask({ ...CLIENT, client_secret: 'x', token })).toMatchObject({ status: 'BAD_CLIENT_SECRET' })
  expect((await refresh(token)).status).toBe(200)
})

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
