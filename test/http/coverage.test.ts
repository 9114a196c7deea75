import { expect, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { BEARER, openServer, readings } from './open-server.ts'

const redis = redisOfFile()

const HOUR = 3_600_000

/** Five accounts, of which 2, 65 and 66 have not been read for more than a day. */
async function fleet() {
  const server = await openServer(redis)
  for (const hubId of [1, 2, 65, 66, 67]) {
    await server.connectAccount({ hubId, hubDomain: `${hubId % 2 === 0 ? 'even' : 'odd'}${hubId}.example.com` })
  }
  server.clock.move(26 * HOUR + 1)
  for (const hubId of [1, 67]) await server.poll(hubId, readings(server.clock.now(), 10))
  return server
}

test('the list of accounts narrows to those without a fresh reading, page by page, on the page and in the API', async () => {
  const { get, ask } = await fleet()
  const first = (await get('/api/v1/accounts?stale=true&limit=2')).json
  expect(first.items.map(({ hubId }: { hubId: number }) => hubId)).toEqual([2, 65])
  expect(first.next).toBe('65')
  const rest = (await get(`/api/v1/accounts?stale=true&limit=2&after=${first.next}`)).json
  expect(rest.items.map(({ hubId }: { hubId: number }) => hubId)).toEqual([66])
  expect(rest).not.toHaveProperty('next')
  expect((await get('/api/v1/accounts?stale=false')).json.items).toHaveLength(5)
  expect((await get('/api/v1/accounts?stale=true&state=failing')).json.items).toEqual([])
  expect((await get('/api/v1/accounts?stale=maybe')).status).toBe(400)

  const found = async (query: string) =>
    [...(await get(`/accounts?${query}`)).text.matchAll(/href="\/accounts\/(\d+)"/g)].map(([, hubId]) => Number(hubId))
  expect(await found('stale=1')).toEqual([2, 65, 66])
  expect(await found('stale=1&q=even')).toEqual([2, 66])
  expect(await found('q=even')).toEqual([2, 66])
  expect(await found('stale=1&q=1')).toEqual([])
  expect((await get('/accounts?stale=1')).text).toContain('value="1" checked')
  await ask('DELETE', '/api/v1/accounts/2', BEARER)
  expect(await found('stale=1')).toEqual([65, 66])
})

test('status, page and metrics tell the same coverage', async () => {
  const { get, steps, keys } = await fleet()
  await steps.zrem(keys.partition(2).fresh, 66) // Its scopes let nothing be read.
  await steps.zadd(keys.partition(1).pollFailing, 5, 65)
  expect((await get('/api/v1/status')).json.coverage).toEqual({
    ...{ share: 0.5, objective: 0.95, polled: 4, stale: 2, failing: 1, notWatched: 1 },
  })
  const words = (await get('/')).text
  expect(words).toContain('50 % of the accounts have a fresh reading')
  expect(words).toContain('<a href="/accounts?stale=1">2 stale</a>')
  expect(words).toContain('1 cannot be watched')
  const { text } = await get('/metrics')
  expect(text).toMatch(/^plimsoll_limits_coverage_ratio 0\.5$/m)
  expect(text).toMatch(/^plimsoll_accounts_stale 2$/m)
})

test('an empty fleet has no share that could be low', async () => {
  const { get } = await openServer(redis)
  expect((await get('/api/v1/status')).json.coverage).toMatchObject({ share: null, polled: 0 })
  expect((await get('/')).text).toContain('No accounts yet')
  expect((await get('/metrics')).text).toMatch(/^plimsoll_limits_coverage_ratio NaN$/im)
})

test('status page and API tell how far a fleet that was imported has been read, until it has been', async () => {
  const { get, steps, keys } = await fleet()
  const { firstReadings } = keys.partition(1)
  const waiting = (count: number) => Array.from({ length: 2_000 }, (_, n) => [n < count ? 1 : 0, 1 + 64 * n]).flat()
  await steps.zadd(firstReadings, ...waiting(760))
  expect((await get('/')).text).toContain('<li>reading a new fleet: 1,240 of 2,000</li>')
  expect((await get('/api/v1/status')).json.accounts.newFleet).toEqual({ read: 1_240, total: 2_000 })
  await steps.zadd(firstReadings, ...waiting(0))
  expect((await get('/')).text).not.toContain('new fleet')
  expect((await get('/api/v1/status')).json.accounts.newFleet).toBeNull()
})
