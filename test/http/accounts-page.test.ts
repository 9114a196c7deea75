import { expect, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { openServer, openState, readings } from './open-server.ts'

const redis = redisOfFile()

/** Three accounts: 1 is tagged, 2 has an alert and is near a limit, 3 has not been read for days. */
async function openThree() {
  const server = await openServer(redis)
  const { connectAccount, poll, clock, steps, keys } = server
  for (const hubId of [1, 2, 3]) await connectAccount({ hubId, hubDomain: `d${4 - hubId}.example.com` })
  await poll(2, readings(clock.now(), 960), { overall: openState('critical', 'full', clock.now()) })
  await steps.zadd(keys.nearest, 104, 2)
  await steps.zadd(keys.fresh, clock.now() - 30 * 3_600_000, 3)
  const found = async (query: string) => {
    const { status, text } = await server.get(`/accounts?${query}`)
    expect(status, query).toBe(200)
    return [...text.matchAll(/href="\/accounts\/(\d+)"/g)].map(([, hubId]) => Number(hubId))
  }
  return { ...server, found }
}

test('accounts are narrowed by alert, tag, reading and state, all at once', async () => {
  const { found } = await openThree()
  expect(await found('')).toEqual([2, 3, 1])
  expect(await found('alert=open')).toEqual([2])
  expect(await found('alert=warning')).toEqual([])
  expect(await found('alert=critical&state=active&q=example')).toEqual([2])
  expect(await found('tag=vip')).toEqual([1])
  expect(await found('tag=vip&alert=open')).toEqual([])
  expect(await found('stale=1')).toEqual([3])
})

test('accounts are ordered by what the address says, and a column says how they are ordered', async () => {
  const { found, get } = await openThree()
  expect(await found('sort=domain&order=desc')).toEqual([1, 2, 3])
  expect(await found('sort=domain')).toEqual([3, 2, 1])
  expect(await found('sort=nearest')).toEqual([2, 1, 3])
  const { text } = await get('/accounts?sort=domain&q=example&state=active')
  expect(text).toContain(
    'aria-sort="ascending"><a href="/accounts?q=example&amp;state=active&amp;sort=domain&amp;order=desc">Account',
  )
  expect(text).toContain('<a href="/accounts?q=example&amp;state=active&amp;sort=nearest">Fullest limit</a>')
})

test('a search that names an account whole leads to its page', async () => {
  const { get, connectAccount } = await openServer(redis)
  for (const [hubId, hubDomain] of [
    [47, 'acme.example.com'],
    [4711, 'acme.example.com.test'],
    [5, 'twice.example.com'],
    [6, 'twice.example.com'],
  ] as const) {
    await connectAccount({ hubId, hubDomain })
  }
  const ledTo = async (query: string) => {
    const { status, headers } = await get(`/accounts?${query}`)
    return status === 302 ? headers.location : status
  }
  expect(await ledTo('q=47')).toBe('/accounts/47')
  expect(await ledTo('q=+Acme.example.com+')).toBe('/accounts/47')
  expect(await ledTo('q=acme.example.com.test&alert=&tag=&sort=worst')).toBe('/accounts/4711')
  for (const query of ['q=471', 'q=acme', 'q=twice.example.com', 'q=', 'q=47&state=failing', 'q=47&stale=1', 'q=48']) {
    expect(await ledTo(query), query).toBe(200)
  }
  expect(await ledTo('q=47&q=48')).toBe(400)
})
