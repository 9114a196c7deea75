import { expect, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { BEARER, JSON_BODY, openServer } from './open-server.ts'

const redis = redisOfFile()
const JSON_REQUEST = { ...BEARER, ...JSON_BODY }

async function withTwo() {
  const server = await openServer(redis)
  await server.connectAccount({ hubId: 123, hubDomain: 'acme.example.com' })
  await server.connectAccount({ hubId: 456, hubDomain: 'other.example.com' })
  return server
}

test('the account of an operation is the one in its path, whatever its body has', async () => {
  const { get, ask } = await withTwo()
  const before = (await get('/api/v1/accounts/456')).json
  for (const hubId of [456, '456']) {
    await ask('POST', '/api/v1/accounts/123/refresh', JSON_REQUEST, JSON.stringify({ hubId }))
  }
  expect((await get('/api/v1/accounts/456')).json).toEqual(before)
  const { json } = await get('/api/v1/audit')
  const audited = (json as { items: { action: string; hubId?: number }[] }).items.map(({ hubId }) => hubId)
  expect(audited).not.toContain(456)
})

test('an acknowledgement is taken back of the alert in the path, whatever the body has', async () => {
  const { ask } = await withTwo()
  const ids = ['123/overall', '456/overall'].map(encodeURIComponent)
  for (const id of [ids[1], 5]) {
    const { status } = await ask('POST', `/api/v1/alerts/${ids[0]}/unacknowledge`, JSON_REQUEST, JSON.stringify({ id }))
    expect(status).toBe(404)
  }
})

test.each(['/api/v1/accounts', '/api/v1/upcoming'])(
  'a loop over the pages of %s may begin without a place',
  async (path) => {
    const { get } = await withTwo()
    expect((await get(`${path}?after=`)).json).toEqual((await get(path)).json)
  },
)

test('what an operation without parameters does not know is ignored, as by every other route', async () => {
  const { get } = await withTwo()
  expect((await get('/api/v1/accounts/123?_=1')).status).toBe(200)
})

test('a level beside another alert is refused: one of them would be ignored', async () => {
  const { get } = await withTwo()
  const both = await get('/api/v1/accounts?alert=open&level=critical')
  expect([both.status, JSON.stringify(both.json)]).toEqual([400, expect.stringContaining('alert=open')])
  expect((await get('/api/v1/accounts?alert=critical&level=critical')).status).toBe(200)
})

test('long work goes on to tell its progress after the clock was set back', async () => {
  const rekeyed = {
    is: 'clean' as const,
    keyId: 'k1',
    passes: 1,
    accounts: 3,
    replaced: 0,
    unopened: [],
    removable: [],
    needed: [],
  }
  const { ask, clock } = await openServer(redis, {
    actions: {
      rekey: async ({ progress }) => {
        for (const done of [1, 2]) {
          clock.set(-3_600_000)
          clock.move(200)
          progress(done, 3)
        }
        return { ...rekeyed, writers: [], writingKeys: [] }
      },
    },
  })
  const accept = 'application/vnd.plimsoll.table+json'
  const { text } = await ask('POST', '/api/v1/keys/rekey', { ...JSON_REQUEST, accept }, '{}')
  for (const done of [1, 2]) expect(text).toContain(`{"progress":{"done":${done},"total":3}}`)
})
