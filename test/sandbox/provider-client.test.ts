import { Client } from '@hubspot/api-client'
import { describe, expect, test } from 'vitest'
import { CLIENT, CUSTOM_PROPERTIES, HUB, REDIRECT_URI, SCOPES, visit } from './visit.ts'

/** The provider's own client library, unchanged, is the judge of whether the sandbox is like the provider. */
describe("the provider's own client", () => {
  const { client_id: id, client_secret: secret } = CLIENT

  test('exchanges a code, refreshes, reads metadata and limits, deletes', async () => {
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
