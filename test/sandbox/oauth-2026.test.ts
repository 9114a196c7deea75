import { expect, test } from 'vitest'
import { CLIENT, CUSTOM_PROPERTIES, HUB, REDIRECT_URI, SCOPES, type Tokens, visit } from './visit.ts'

test.each(['2026-03', '2026-09', 'v3'])(
  '%s exchanges and refreshes, and says whose tokens they are',
  async (version) => {
    const { approve, form } = await visit()
    const path = `/oauth/${version}/token`
    const code = await approve()
    const answer = await form(path, { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI })
    const tokens = (await answer.json()) as Tokens
    const whose = { hub_id: HUB, user_id: expect.any(Number), scopes: SCOPES.split(' '), token_use: 'access_token' }
    expect(tokens).toMatchObject({ ...whose, token_type: 'bearer', expires_in: 1800 })
    const refreshed = await form(path, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token })
    expect(await refreshed.json()).toMatchObject({ ...whose, refresh_token: tokens.refresh_token })
  },
)

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

test('introspection of an unknown or expired token answers 200 and nothing but active: false', async () => {
  const { connect, form, clock } = await visit()
  const tokens = await connect()
  clock.move(30 * 60_000)
  for (const token of ['nobody', tokens.access_token]) {
    const answer = await form('/oauth/2026-03/token/introspect', { token })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ active: false })
  }
})

test('revoking a refresh token ends it and leaves access tokens alive; an unknown one is as good as revoked', async () => {
  const { connect, form, refresh, read } = await visit()
  const tokens = await connect()
  const answer = await form('/oauth/2026-03/token/revoke', { token: tokens.refresh_token })
  expect(answer.status).toBe(200)
  expect(await answer.text()).toBe('')
  expect(await (await refresh(tokens.refresh_token)).json()).toMatchObject({ status: 'BAD_REFRESH_TOKEN' })
  expect((await read(CUSTOM_PROPERTIES, tokens.access_token)).status).toBe(200)
  expect((await form('/oauth/2026-03/token/revoke', { token: 'nobody' })).status).toBe(200)
})

test('revoking an access token ends it alone', async () => {
  const { connect, form, refresh, read } = await visit()
  const tokens = await connect()
  await form('/oauth/2026-03/token/revoke', { token: tokens.access_token })
  expect((await read(CUSTOM_PROPERTIES, tokens.access_token)).status).toBe(401)
  expect((await refresh(tokens.refresh_token)).status).toBe(200)
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
