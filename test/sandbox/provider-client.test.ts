import { Client } from '@hubspot/api-client'
import { describe, expect, test } from 'vitest'
import { CLIENT, CUSTOM_PROPERTIES, HUB, REDIRECT_URI, SCOPES, visit } from './visit.ts'

/** The provider's own client library, unchanged, is the judge of whether the sandbox is like the provider. */
describe("the provider's own client", () => {
  const { client_id: id, client_secret: secret } = CLIENT

  test('exchanges a code, refreshes, reads metadata and limits, deletes in v1', async () => {
    const { sandbox, approve } = await visit()
    const { oauth } = new Client({ basePath: sandbox.url })

    const first = await oauth.tokensApi.create('authorization_code', await approve(), REDIRECT_URI, id, secret)
    expect(first).toMatchObject({ tokenType: 'bearer', expiresIn: 1800, refreshToken: expect.any(String) })

    const second = await oauth.tokensApi.create('refresh_token', undefined, undefined, id, secret, first.refreshToken)
    expect(second.refreshToken).toBe(first.refreshToken)
    expect(second.accessToken).not.toBe(first.accessToken)

    expect(await oauth.accessTokensApi.get(second.accessToken)).toMatchObject({
      token: second.accessToken,
      hubId: HUB,
      hubDomain: 'acme-01.example.com',
      user: 'admin@acme-01.example.com',
      scopes: SCOPES.split(' '),
      tokenType: 'access',
      expiresIn: 1800,
      appId: expect.any(Number),
      userId: expect.any(Number),
    })
    expect(await oauth.refreshTokensApi.get(first.refreshToken)).toMatchObject({ hubId: HUB })

    const limits = new Client({ basePath: sandbox.url, accessToken: second.accessToken })
    const report = await limits.apiRequest({ path: CUSTOM_PROPERTIES })
    expect(await report.json()).toMatchObject({ overallLimit: 10_000 })
    const pairs = await limits.apiRequest({ path: '/crm/v3/limits/associations/records/0-1/0-3' })
    expect(await pairs.json()).toMatchObject({ limit: 2_000 })

    const deleted = await oauth.refreshTokensApi.archiveWithHttpInfo(first.refreshToken)
    expect(deleted.httpStatusCode).toBe(204)
  })

  test.each(['2026-03', '2026-09'])(
    'exchanges a code, refreshes, introspects, reads limits and revokes in %s, to which it sends forms itself',
    async (version) => {
      const { sandbox, approve } = await visit()
      const asked = async (path: string, form: Record<string, string>) => {
        const answer = await new Client({ basePath: sandbox.url }).apiRequest({
          method: 'POST',
          path: `/oauth/${version}/token${path}`,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams({ ...form, ...CLIENT }),
          defaultJson: false,
        })
        const text = await answer.text()
        return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
      }
      const code = { grant_type: 'authorization_code', code: await approve(), redirect_uri: REDIRECT_URI }
      const first = await asked('', code)
      expect(first).toMatchObject({
        status: 200,
        body: { token_type: 'bearer', expires_in: 1800, hub_id: HUB, scopes: SCOPES.split(' ') },
      })
      const { refresh_token } = first.body as { refresh_token: string }
      const second = await asked('', { grant_type: 'refresh_token', refresh_token })
      expect(second).toMatchObject({ status: 200, body: { refresh_token } })
      const { access_token: accessToken } = second.body as { access_token: string }
      expect(await asked('/introspect', { token: accessToken, token_type_hint: 'access_token' })).toMatchObject({
        status: 200,
        body: { active: true, hub_id: HUB, hub_domain: 'acme-01.example.com', scopes: SCOPES.split(' ') },
      })
      const limits = new Client({ basePath: sandbox.url, accessToken })
      const report = await limits.apiRequest({ path: `/crm/limits/${version}/custom-properties` })
      expect(await report.json()).toMatchObject({ overallLimit: 10_000 })
      const pairs = await limits.apiRequest({ path: `/crm/limits/${version}/associations/records/0-1/0-3` })
      expect(await pairs.json()).toMatchObject({ limit: 2_000 })
      expect(await asked('/revoke', { token: refresh_token, token_type_hint: 'refresh_token' })).toEqual({
        status: 200,
        body: undefined,
      })
      expect(await asked('/introspect', { token: refresh_token })).toMatchObject({ body: { active: false } })
      expect(await asked('', { grant_type: 'refresh_token', refresh_token })).toMatchObject({
        status: 400,
        body: { error: 'invalid_grant', status: 'BAD_REFRESH_TOKEN' },
      })
    },
  )

  test('sees refusals as it sees those of the provider', async () => {
    const { sandbox } = await visit()
    const { oauth } = new Client({ basePath: sandbox.url })
    await expect(
      oauth.tokensApi.create('refresh_token', undefined, undefined, id, secret, 'nobody'),
    ).rejects.toMatchObject({ code: 400, body: { error: 'invalid_grant', status: 'BAD_REFRESH_TOKEN' } })
    await expect(oauth.accessTokensApi.get('nobody')).rejects.toMatchObject({ code: 404 })
    await expect(oauth.refreshTokensApi.archive('nobody')).rejects.toMatchObject({ code: 404 })
    const answer = await new Client({ basePath: sandbox.url, accessToken: 'nobody' }).apiRequest({
      path: CUSTOM_PROPERTIES,
    })
    expect(answer.status).toBe(401)
  })

  test('sends people to an install page that understands its parameter names', async () => {
    const { sandbox } = await visit()
    const { oauth } = new Client({ basePath: sandbox.url })
    const real = new URL(oauth.getAuthorizationUrl(id, REDIRECT_URI, SCOPES, 'tickets', 'state'))
    const answer = await fetch(`${sandbox.url}/oauth/authorize${real.search}`)
    expect(answer.status).toBe(200)
    const text = await answer.text()
    for (const scope of [...SCOPES.split(' '), 'tickets']) expect(text).toContain(scope)
  })
})
