import { describe, expect, test } from 'vitest'
import { ASSOCIATIONS, CUSTOM_PROPERTIES, HUB, visit } from './visit.ts'

describe('reports', () => {
  test('of custom properties have every field of the interface', async () => {
    const { connect, read } = await visit()
    const { access_token: token } = await connect()
    const answer = await read(CUSTOM_PROPERTIES, token)
    expect(answer.status).toBe(200)
    const report = (await answer.json()) as { byObjectType: object[] }
    expect(report).toEqual({
      overallLimit: 10_000,
      overallUsage: expect.any(Number),
      overallPercentage: expect.any(Number),
      byObjectType: expect.any(Array),
    })
    expect(report.byObjectType).toHaveLength(8)
    expect(report.byObjectType[0]).toEqual({
      limit: 1_000,
      objectTypeId: '0-1',
      percentage: expect.any(Number),
      pluralLabel: 'Contacts',
      singularLabel: 'Contact',
      usage: expect.any(Number),
    })
  })

  test('of associations have every field of the interface; a pair that nobody knows is empty', async () => {
    const { connect, read } = await visit()
    const { access_token: token } = await connect()
    expect(await (await read(ASSOCIATIONS, token)).json()).toEqual({
      limit: 500,
      totalRecordsAtLimit: 0,
      totalRecordsNearLimit: expect.any(Number),
      atLimitFromRecordSamples: [],
      nearLimitFromRecordSamples: expect.any(Array),
    })
    const unknown = await read('/crm/v3/limits/associations/records/2-1/2-2', token)
    expect(await unknown.json()).toEqual({
      limit: 0,
      totalRecordsAtLimit: 0,
      totalRecordsNearLimit: 0,
      atLimitFromRecordSamples: [],
      nearLimitFromRecordSamples: [],
    })
  })

  test('that were put are answered to the letter', async () => {
    const { connect, call, read, sandbox } = await visit()
    const { access_token: token } = await connect()
    const text = '{ "overallLimit": 9007199254740993, "surprise": null }'
    const put = (path: string) => fetch(`${sandbox.url}/sandbox/accounts/${HUB}/${path}`, { method: 'PUT', body: text })
    expect((await put('custom-properties')).status).toBe(204)
    expect((await put('associations/2-9/0-1')).status).toBe(204)
    expect(await (await read(CUSTOM_PROPERTIES, token)).text()).toBe(text)
    expect(await (await read('/crm/v3/limits/associations/records/2-9/0-1', token)).text()).toBe(text)
    const other = await call('PUT', `/sandbox/accounts/${HUB + 1}/custom-properties`, {})
    expect(other.status).toBe(204)
    expect(await (await read(CUSTOM_PROPERTIES, token)).text()).toBe(text)
  })
})

describe('who may read', () => {
  test.each([
    ['no token', {}],
    ['a junk token', { authorization: 'Bearer junk' }],
    ['no bearer', { authorization: 'Basic eDp5' }],
  ])('%s: 401 INVALID_AUTHENTICATION', async (_what, headers) => {
    const { call } = await visit()
    const answer = await call('GET', CUSTOM_PROPERTIES, undefined, headers)
    expect(answer.status).toBe(401)
    expect(await answer.json()).toEqual({
      status: 'error',
      message: expect.stringContaining('Authentication credentials not found'),
      correlationId: expect.any(String),
      category: 'INVALID_AUTHENTICATION',
    })
  })

  test.each([
    'crm.objects.calls.read',
    'crm.objects.partner-clients.write',
    'crm.objects.custom.highly_sensitive.read.v2',
    'tickets',
    'e-commerce',
    'media_bridge.read',
  ])('scope "%s" is enough', async (scope) => {
    const { connect, read } = await visit()
    const { access_token: token } = await connect(HUB, `oauth ${scope}`)
    expect((await read(CUSTOM_PROPERTIES, token)).status).toBe(200)
  })
})

describe('the rate', () => {
  test('is 110 calls in any 10 seconds: those that are older than that are free again', async () => {
    const { connect, read, clock } = await visit()
    const { access_token: token } = await connect(HUB)
    const status = async () => (await read(CUSTOM_PROPERTIES, token)).status
    expect(await status()).toBe(200)
    clock.move(5_000)
    const rest = await Promise.all(Array.from({ length: 109 }, status))
    expect([...new Set(rest), await status()]).toEqual([200, 429])
    clock.move(5_000)
    expect([await status(), await status()]).toEqual([200, 429])
    clock.move(5_000)
    expect(await status()).toBe(200)
  })
})

describe('after an uninstall on the provider side', () => {
  test('the account may install again, which does not bring the old tokens back', async () => {
    const { connect, call, read } = await visit()
    const old = await connect()
    await call('DELETE', `/sandbox/accounts/${HUB}`)
    const fresh = await connect()
    expect((await read(CUSTOM_PROPERTIES, fresh.access_token)).status).toBe(200)
    expect((await read(CUSTOM_PROPERTIES, old.access_token)).status).toBe(401)
  })
})

test('a path that does not exist is a 404 in the shape of the provider', async () => {
  const { call } = await visit()
  const answer = await call('GET', '/crm/v3/objects/contacts')
  expect(answer.status).toBe(404)
  expect(await answer.json()).toEqual({
    status: 'error',
    message: 'resource not found',
    correlationId: expect.any(String),
    category: 'OBJECT_NOT_FOUND',
  })
})
