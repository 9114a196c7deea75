import { describe, expect, test } from 'vitest'
import { ASSOCIATIONS, CUSTOM_PROPERTIES, HUB, metadataPath, refreshTokenPath, type Tokens, visit } from './visit.ts'

describe('a status without a body answers the usual error JSON', () => {
  const crm = { status: 'error', correlationId: expect.any(String), message: expect.any(String) }
  test.each([
    [401, { ...crm, category: 'EXPIRED_AUTHENTICATION', context: { 'expire time': [expect.any(String)] } }],
    [403, { ...crm, category: 'MISSING_SCOPES' }],
    [429, { ...crm, errorType: 'RATE_LIMIT', policyName: 'TEN_SECONDLY_ROLLING' }],
    [477, crm],
    [500, crm],
    [503, crm],
  ])('of the limits endpoints: %i', async (status, body) => {
    const { connect, call, read } = await visit()
    const { access_token: token } = await connect()
    for (const [endpoint, path] of [
      ['customProperties', CUSTOM_PROPERTIES],
      ['associations', ASSOCIATIONS],
    ] as const) {
      expect((await call('POST', '/sandbox/faults', { endpoint, status, times: 1 })).status).toBe(201)
      const answer = await read(path, token)
      expect(answer.status).toBe(status)
      expect(await answer.json()).toMatchObject(body)
      expect((await read(path, token)).status).toBe(200)
    }
  })

  test.each([
    [400, { error: 'invalid_grant', status: 'BAD_REFRESH_TOKEN' }],
    [401, { error: 'invalid_client' }],
    [429, { message: 'You have reached your rate limit.', errorType: 'RATE_LIMIT' }],
    [500, { status: 'error' }],
  ])('of the token endpoint: %i', async (status, body) => {
    const { connect, call, refresh } = await visit()
    const { refresh_token: token } = await connect()
    await call('POST', '/sandbox/faults', { endpoint: 'token', status, times: 1 })
    const answer = await refresh(token)
    expect(answer.status).toBe(status)
    expect(await answer.json()).toMatchObject(body)
    expect((await refresh(token)).status).toBe(200)
  })
})

describe('what is answered', () => {
  test('a text body goes out as it is: HTML where it begins with <', async () => {
    const { connect, call, read } = await visit()
    const { access_token: token } = await connect()
    const body = '<html><h1>502 Bad Gateway</h1></html>'
    await call('POST', '/sandbox/faults', { endpoint: 'customProperties', status: 502, body, times: 1 })
    const answer = await read(CUSTOM_PROPERTIES, token)
    expect(answer.status).toBe(502)
    expect(answer.headers.get('content-type')).toContain('text/html')
    expect(await answer.text()).toBe(body)
  })

  test('a JSON body goes out as JSON, with status 200 if none is given', async () => {
    const { connect, call, read } = await visit()
    const { access_token: token } = await connect()
    await call('POST', '/sandbox/faults', { endpoint: 'customProperties', body: { overallLimit: 'many' } })
    const answer = await read(CUSTOM_PROPERTIES, token)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toContain('application/json')
    expect(await answer.json()).toEqual({ overallLimit: 'many' })
  })

  test('headers come along, also on an otherwise normal answer', async () => {
    const { connect, call, read } = await visit()
    const { access_token: token } = await connect()
    const headers = { 'Retry-After': 7 }
    await call('POST', '/sandbox/faults', { endpoint: 'customProperties', status: 429, headers, times: 1 })
    expect((await read(CUSTOM_PROPERTIES, token)).headers.get('retry-after')).toBe('7')
    await call('POST', '/sandbox/faults', {
      endpoint: 'customProperties',
      headers: { date: 'Thu, 01 Jan 1970 00:00:00 GMT' },
    })
    const skewed = await read(CUSTOM_PROPERTIES, token)
    expect(skewed.status).toBe(200)
    expect(skewed.headers.get('date')).toBe('Thu, 01 Jan 1970 00:00:00 GMT')
  })

  test('delayMs alone delays by the clock and then answers as usual', async () => {
    const { connect, call, read, clock } = await visit()
    const { access_token: token } = await connect()
    await call('POST', '/sandbox/faults', { endpoint: 'customProperties', delayMs: 5_000, times: 1 })
    let answered = false
    const answer = read(CUSTOM_PROPERTIES, token).then((response) => {
      answered = true
      return response
    })
    await clock.sleeper()
    clock.move(4_999)
    await read(ASSOCIATIONS, token)
    expect(answered).toBe(false)
    clock.move(1)
    expect((await answer).status).toBe(200)
  })

  test('drop ends the connection without an answer', async () => {
    const { connect, call, read, journal } = await visit()
    const { access_token: token } = await connect()
    await call('POST', '/sandbox/faults', { endpoint: 'customProperties', drop: true, times: 1 })
    await expect(read(CUSTOM_PROPERTIES, token)).rejects.toThrow('fetch failed')
    expect((await read(CUSTOM_PROPERTIES, token)).status).toBe(200)
    expect((await journal('?endpoint=customProperties')).map((entry) => entry.status)).toEqual([0, 200])
  })
})

describe('whom a fault meets', () => {
  test('with hubId only calls of that account, by access token, refresh token or code', async () => {
    const { connect, call, read, refresh, approve, redeem } = await visit()
    const [mine, other] = [await connect(HUB), await connect(HUB + 1)]
    for (const endpoint of ['token', 'metadata', 'delete', 'customProperties']) {
      await call('POST', '/sandbox/faults', { endpoint, hubId: HUB, status: 503 })
    }
    expect((await read(CUSTOM_PROPERTIES, mine.access_token)).status).toBe(503)
    expect((await read(CUSTOM_PROPERTIES, other.access_token)).status).toBe(200)
    expect((await call('GET', metadataPath(mine.access_token))).status).toBe(503)
    expect((await call('GET', metadataPath(other.access_token))).status).toBe(200)
    expect((await refresh(mine.refresh_token)).status).toBe(503)
    expect((await refresh(other.refresh_token)).status).toBe(200)
    expect((await redeem(await approve(HUB))).status).toBe(503)
    expect((await redeem(await approve(HUB + 1))).status).toBe(200)
    expect((await call('DELETE', refreshTokenPath(mine.refresh_token))).status).toBe(503)
    expect((await call('DELETE', refreshTokenPath(other.refresh_token))).status).toBe(204)
  })

  test('several stand at once: the first that matches wins, as often as it may', async () => {
    const { connect, call, read } = await visit()
    const { access_token: token } = await connect()
    await call('POST', '/sandbox/faults', { endpoint: 'customProperties', hubId: HUB + 1, status: 500 })
    await call('POST', '/sandbox/faults', { endpoint: 'customProperties', status: 502, times: 2 })
    await call('POST', '/sandbox/faults', { endpoint: 'customProperties', status: 503, times: 1 })
    const listed = await (await call('GET', '/sandbox/faults')).json()
    expect(listed).toMatchObject([{ status: 500, hubId: HUB + 1 }, { status: 502, times: 2 }, { status: 503 }])
    const statuses = []
    for (let round = 0; round < 4; round++) statuses.push((await read(CUSTOM_PROPERTIES, token)).status)
    expect(statuses).toEqual([502, 502, 503, 200])
    expect(await (await call('GET', '/sandbox/faults')).json()).toHaveLength(1)
  })

  test('DELETE ends them all', async () => {
    const { connect, call, read } = await visit()
    const { access_token: token } = await connect()
    await call('POST', '/sandbox/faults', { endpoint: 'customProperties', status: 500 })
    expect((await call('DELETE', '/sandbox/faults')).status).toBe(204)
    expect((await read(CUSTOM_PROPERTIES, token)).status).toBe(200)
  })

  test('companions have a name of their own', async () => {
    const { connect, call, read } = await visit()
    const { access_token: token } = await connect()
    await call('POST', '/sandbox/faults', { endpoint: 'companion', status: 404 })
    expect((await read('/crm/v3/limits/associations/records/from', token)).status).toBe(404)
    expect((await read(ASSOCIATIONS, token)).status).toBe(200)
  })
})

describe('what a faulted call changes', () => {
  test('nothing: a code and a rotating refresh token are not used up', async () => {
    const { approve, redeem, refresh, call } = await visit({ rotateRefreshTokens: true })
    const code = await approve()
    for (const fault of [{ status: 500 }, { drop: true }]) {
      await call('POST', '/sandbox/faults', { endpoint: 'token', times: 1, ...fault })
    }
    expect((await redeem(code)).status).toBe(500)
    await expect(redeem(code)).rejects.toThrow()
    const tokens = (await (await redeem(code)).json()) as Tokens
    await call('POST', '/sandbox/faults', { endpoint: 'token', times: 1, status: 500 })
    expect((await refresh(tokens.refresh_token)).status).toBe(500)
    expect((await refresh(tokens.refresh_token)).status).toBe(200)
  })

  test('with after: everything, only the answer is lost', async () => {
    const { connect, refresh, call } = await visit({ rotateRefreshTokens: true })
    const tokens = await connect()
    await call('POST', '/sandbox/faults', { endpoint: 'token', times: 1, drop: true, after: true })
    await expect(refresh(tokens.refresh_token)).rejects.toThrow()
    expect(await (await refresh(tokens.refresh_token)).json()).toMatchObject({ status: 'BAD_REFRESH_TOKEN' })

    const other = await connect(HUB + 1)
    await call('POST', '/sandbox/faults', { endpoint: 'delete', times: 1, status: 503, after: true })
    expect((await call('DELETE', refreshTokenPath(other.refresh_token))).status).toBe(503)
    expect((await call('DELETE', refreshTokenPath(other.refresh_token))).status).toBe(404)
  })

  test('with after and a delay: the answer is made before the wait', async () => {
    const { connect, refresh, call, clock } = await visit({ rotateRefreshTokens: true })
    const tokens = await connect()
    await call('POST', '/sandbox/faults', { endpoint: 'token', times: 1, delayMs: 60_000, after: true })
    const slow = refresh(tokens.refresh_token)
    await clock.sleeper()
    expect(await (await refresh(tokens.refresh_token)).json()).toMatchObject({ status: 'BAD_REFRESH_TOKEN' })
    clock.move(60_000)
    const answered = (await (await slow).json()) as Tokens
    expect((await refresh(answered.refresh_token)).status).toBe(200)
  })
})
