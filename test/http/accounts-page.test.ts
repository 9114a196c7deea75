import { expect, test } from 'vitest'
import { changeWatch } from '../support/changed-watch.ts'
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

test('the page says how many accounts are in which state, and of each its alerts, trouble and nearest limit', async () => {
  const { get, steps, keys, poll, clock } = await openThree()
  await poll(1, readings(clock.now(), 130))
  await steps.hset(keys.account(3).account, { state: 'parked', parkedUntil: clock.now() + 3_600_000 })
  const { words } = await get('/accounts')
  expect(words).toContain('all 3 active 3')
  expect(words).toContain('d2.example.com critical active 96 % 960 of 1,000 Custom properties')
  // However low it is, and in words of its own where nothing was read.
  expect(words).toContain('d3.example.com ok active 24 % 120 of 500 Contacts: custom properties')
  expect(words).toContain('d1.example.com warning paused by HubSpot: next attempt in 1 h not read yet')
  await changeWatch(steps, keys, 1, { failing: { count: 22, reason: 'HTTP 502', at: 1, since: 1 } })
  const { text } = await get('/accounts')
  expect(text).toMatch(/>Limits can&#39;t be read \(HTTP 502 since /)
})

test('handled alerts are counted beside the others, and do not make an account worse', async () => {
  const { found, get, poll, clock } = await openThree()
  const since = clock.now()
  const acknowledged = { by: 'ann', at: since, until: since + 3_600_000, level: 'critical' as const }
  await poll(2, readings(since, 960), { overall: { ...openState('critical', 'full', since), acknowledged } })
  await poll(3, readings(since, 300), {
    overall: { ...openState('critical', 'full', since), acknowledged },
    'type/0-1': openState('warning', 'full', since),
  })
  expect(await found('')).toEqual([3, 2, 1])
  const { words } = await get('/accounts')
  expect(words).toMatch(/d1\.example\.com warning active/)
  expect(words).toMatch(/d2\.example\.com \w+ active/)
  const { items } = (await get('/api/v1/accounts?sort=worst')).json
  expect(items.map(({ openAlerts }: { openAlerts: object }) => openAlerts)).toEqual([
    { critical: 0, warning: 1, handled: 1 },
    { critical: 0, warning: 0, handled: 1 },
    { critical: 0, warning: 0, handled: 0 },
  ])
})

test.each([
  ['sort=size', 'sort'],
  ['sort=refresh', 'sort'],
  ['order=up', 'order'],
  ['tag=nobody', 'tag'],
  ['after=x', 'after'],
  ['after=1~2', 'after'],
  ['sort=poll&before=1~x', 'before'],
  ['alert=high', 'alert'],
  ['q=1&q=2', 'q'],
])('an address that asks for %s is refused by name', async (query, parameter) => {
  const { get } = await openServer(redis)
  const { status, text } = await get(`/accounts?${query}`)
  expect(status).toBe(400)
  expect(text).toContain(`${parameter}: `)
  if (parameter === 'sort') expect(text).toContain('sort: must be one of worst, domain, nearest, poll')
})

test('the fleet page names who is running, and what waits in the queues', async () => {
  const depth = { queue: 'poll-limits', waiting: 12, active: 1, delayed: 0, failed: 2 }
  const oldestWaitingAt = Date.parse('2026-11-21T09:58:00Z')
  const { get, connectAccount, poll, clock, steps, keys } = await openServer(redis, {
    queueDepths: async () => [{ ...depth, oldestWaitingAt }],
  })
  await connectAccount({ hubId: 2, hubDomain: 'acme.example.com' })
  await poll(2, readings(clock.now(), 960))
  const said = { version: '1.0.0', startedAt: clock.now() - 3_600_000, lastSeenAt: clock.now() - 60_000 }
  await steps.hset(keys.daemons, 'ops-1 pid 7', JSON.stringify(said))
  clock.move(60_000)
  const { text, words } = await get('/')
  expect(words).toContain('poll-limits 2 failed · 12 waiting, the oldest from 3 min ago · 1 running')
  expect(words).toContain('ops-1 pid 7 1.0.0 clock, worker, web 61 min ago silent 2 min ago')
  expect(text).toMatch(/<noscript><meta http-equiv="refresh" content="10"><\/noscript>/)

  const { json } = await get('/api/v1/status')
  expect(json.queues).toEqual([{ ...depth, oldestWaitingAt: '2026-11-21T09:58:00.000Z' }])
  expect(json.daemons).toEqual([
    {
      name: 'ops-1 pid 7',
      version: '1.0.0',
      roles: ['clock', 'worker', 'web'],
      silent: true,
      startedAt: '2026-11-21T09:00:00.000Z',
      lastSeenAt: '2026-11-21T09:59:00.000Z',
    },
  ])
  expect(json.tokens).toMatchObject({ overdue: 0, lateMs: 0, nearestExpiryAt: '2026-11-21T10:30:00.000Z' })
  expect(json.polls).toMatchObject({ lateMs: 0 })
})

test('a refresh that waits is told with how late it is', async () => {
  const { get, connectAccount, clock, steps, keys } = await openServer(redis)
  await connectAccount({ hubId: 2 })
  await steps.zadd(keys.due.refresh, clock.now(), 2)
  clock.move(5 * 60_000)
  expect((await get('/')).text).toContain('1 refresh overdue, late by 5 min')
  expect((await get('/api/v1/status')).json.tokens).toMatchObject({ overdue: 1, lateMs: 300_000 })
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

test('the accounts for which something should have been done by now are a list, which says so', async () => {
  const { get, connectAccount, clock, steps, keys } = await openServer(redis)
  for (const hubId of [1, 2, 3]) await connectAccount({ hubId })
  await steps.zadd(keys.due.refresh, clock.now() - 60_000, 2)
  await steps.zadd(keys.due.refresh, clock.now() - 59_000, 3)
  const { text } = await get('/accounts?overdue=refresh')
  const [, list = ''] = text.split('data-live="accounts"')
  expect([...list.matchAll(/href="\/accounts\/(\d)"/g)].map(([, hubId]) => hubId)).toEqual(['2'])
  expect(text).toContain('<option value="refresh" selected>')
  expect((await get('/accounts?overdue=poll')).words).toContain('No account matches.')
  expect((await get('/accounts?overdue=tea')).status).toBe(400)
})
