import { describe, expect, test } from 'vitest'
import { pollAccount } from '../limits/reports.ts'
import { seedAccount } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'
import { BEARER, JSON_BODY, openServer, readings } from './open-server.ts'

const redis = redisOfFile()

const HOUR = 3_600_000

describe('accounts', () => {
  test.each([
    '0',
    '-1',
    '1.5',
    '1e3',
    '9007199254740993',
    '99999999999999999999',
    'abc',
    '007',
    '%00',
    '1%2F2',
    'x'.repeat(90),
  ])('there is no account %s, and the answer says so', async (hubId) => {
    const { get } = await openServer(redis)
    for (const path of [`/api/v1/accounts/${hubId}`, `/api/v1/accounts/${hubId}/snapshots`]) {
      const { status, headers, json } = await get(path)
      expect(status).toBe(404)
      expect(headers['content-type']).toContain('application/problem+json')
      expect(json).toMatchObject({ type: 'urn:plimsoll:problem:not-found', title: 'Not Found', status: 404 })
    }
  })
})

describe('uninstall', () => {
  test('is begun once, and told again afterwards', async () => {
    const { ask, get, connectAccount } = await openServer(redis)
    await connectAccount({ hubId: 7 })
    const body = JSON.stringify({ reason: 'left us' })
    const first = await ask('POST', '/api/v1/accounts/7/uninstall', { ...BEARER, ...JSON_BODY }, body)
    expect(first).toMatchObject({ status: 202, json: { hubId: 7, state: 'uninstalling' } })
    const second = await ask('DELETE', '/api/v1/accounts/7', BEARER)
    expect(second).toMatchObject({ status: 200, json: { hubId: 7, state: 'uninstalling' } })
    const { json } = await get('/api/v1/accounts/7')
    const at = '2026-11-21T10:00:00.000Z'
    expect(json.uninstall).toEqual({
      reason: 'left us',
      by: 'api',
      askedAt: at,
      attempts: 0,
      nextAttemptAt: at,
      failure: null,
      failureAt: null,
      ending: null,
      at: null,
      purgeAt: null,
    })
    expect(json.story).toEqual([
      { at, event: 'connected' },
      { at, event: 'uninstall requested', detail: 'left us (by API)' },
    ])
  })

  test('needs no body, but takes no odd one either', async () => {
    const { ask, connectAccount } = await openServer(redis)
    await connectAccount({ hubId: 7 })
    const post = (headers: object, body?: string) =>
      ask('POST', '/api/v1/accounts/7/uninstall', { ...BEARER, ...headers }, body)
    expect(await post(JSON_BODY, '{"reason":1}')).toMatchObject({
      status: 400,
      json: { detail: 'reason: must be a text' },
    })
    expect((await post(JSON_BODY, '{"raeson":"x"}')).json.errors).toEqual([
      { parameter: 'raeson', detail: 'is not known here' },
    ])
    expect((await post(JSON_BODY, '{"reason":')).json).toMatchObject({ status: 400 })
    expect((await post(JSON_BODY, '{"__proto__":{}}')).status).toBe(400)
    expect((await post({ 'content-type': 'text/plain' }, '{}')).status).toBe(415)
    expect((await post(JSON_BODY, `"${'x'.repeat(70_000)}"`)).status).toBe(413)
    expect((await post(JSON_BODY, '')).status).toBe(202)
  })
})

describe('snapshots', () => {
  async function withHistory() {
    const world = await openServer(redis)
    await world.connectAccount({ hubId: 9 })
    const start = world.clock.now()
    for (const usage of [100, 200, 300, 400, 500]) {
      await world.poll(9, readings(world.clock.now(), usage))
      world.clock.move(HOUR / 2)
    }
    const usages = (json: { items: { series: { usage: number }[] }[] }) =>
      json.items.map(({ series }) => series[0]?.usage)
    return { ...world, start, usages }
  }

  test('are cut by times, with how things stood at the beginning', async () => {
    const written = (ms: number) => new Date(ms).toISOString()
    const { get, start, usages } = await withHistory()
    const { json } = await get(
      `/api/v1/accounts/9/snapshots?from=${written(start + 0.7 * HOUR)}&to=${written(start + 1.2 * HOUR)}`,
    )
    expect(usages(json)).toEqual([200, 300])
  })

  test('are a regular series, one at the end of each hour or day, the running one as it stands', async () => {
    const { get, usages } = await withHistory()
    const hourly = async (query = '') => (await get(`/api/v1/accounts/9/snapshots?resolution=hourly${query}`)).json
    expect(usages(await hourly())).toEqual([200, 400, 500])
    expect((await hourly()).items.map(({ at }: { at: string }) => at.slice(11, 16))).toEqual([
      '11:00',
      '12:00',
      '12:30',
    ])
    expect(usages(await hourly('&from=2026-11-21T10:59:00Z&to=2026-11-21T11:10:00Z'))).toEqual([200, 300])
    expect(usages(await hourly('&limit=2'))).toEqual([200, 400])
    expect(usages(await hourly('&limit=2&after=1795262400000'))).toEqual([500])
    const daily = (await get('/api/v1/accounts/9/snapshots?resolution=daily')).json
    expect([usages(daily), daily.items[0].at]).toEqual([[500], '2026-11-21T12:30:00.000Z'])
  })

  test('are none of hours in which nothing was read, and the next one says since when', async () => {
    const { get, steps, keys, clock, usages } = await withHistory()
    const hourly = async () => (await get('/api/v1/accounts/9/snapshots?resolution=hourly')).json
    clock.move(3 * HOUR)
    expect(usages(await hourly())).toEqual([200, 400, 500])
    await pollAccount(steps, keys, 9, clock.now(), readings(clock.now(), 600), HOUR)
    expect(usages(await hourly())).toEqual([200, 400, 500, 600])
    expect((await hourly()).items.at(-1)).toMatchObject({
      at: '2026-11-21T15:30:00.000Z',
      missingSince: '2026-11-21T12:00:00.000Z',
    })
  })

  test('are CSV or JSON lines for other programs, one per series and moment, all of the range', async () => {
    const { get, poll, clock } = await withHistory()
    clock.move(HOUR)
    await poll(9, readings(clock.now(), 501, { objectTypeId: '=2-"1"' }))
    const from = '2026-11-21T13:00:00Z'
    const csv = await get(`/api/v1/accounts/9/snapshots?format=csv&from=${from}`)
    expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8; header=present')
    const lines = csv.text.split('\n')
    expect(lines[0]).toBe('hubId,at,metric,objectTypeId,from,to,usage,limit,percent')
    expect(lines).toHaveLength(1 + 2 * 5 + 1)
    for (const line of [
      '9,2026-11-21T12:00:00.000Z,customProperties.overall,,,,500,1000,50',
      '9,2026-11-21T12:00:00.000Z,customProperties.objectType,0-1,,,120,500,24',
      '9,2026-11-21T12:00:00.000Z,associations.atLimit,,0-1,0-2,0,,',
      `9,2026-11-21T13:30:00.000Z,customProperties.objectType,"'=2-""1""",,,120,500,24`,
    ])
      expect(lines).toContain(line)
    const jsonl = await get(`/api/v1/accounts/9/snapshots?format=jsonl&resolution=daily`)
    expect(jsonl.headers['content-type']).toBe('application/x-ndjson')
    const objects = jsonl.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(objects).toHaveLength(5)
    expect(objects).toContainEqual({
      hubId: 9,
      at: '2026-11-21T13:30:00.000Z',
      metric: 'customProperties.objectType',
      objectTypeId: '=2-"1"',
      usage: 120,
      limit: 500,
      percent: 24,
    })
  })
})

test('a list of deliveries ends where the last one that was read is no longer kept', async () => {
  const { get, keys, steps } = await openServer(redis)
  for (const id of ['d1', 'd2', 'd3'])
    await steps.xadd(keys.delivery.log, '*', 'at', 1_000, 'id', id, 'receiver', 'ops', 'outcome', 'delivered')
  const path = '/api/v1/deliveries?limit=2&receiver=ops'
  const { json } = await get(path)
  expect(json.items).toMatchObject([{ id: 'd3' }, { id: 'd2' }])
  await steps.xtrim(keys.delivery.log, 'MAXLEN', 1)
  const { json: rest } = await get(`${path}&after=${json.next}`)
  expect(rest.items).toEqual([])
  expect(rest).not.toHaveProperty('next')
})

describe('problems', () => {
  test.each([
    ['/api/v1/accounts?limit=0', 'limit: must be at least 1'],
    ['/api/v1/accounts?limit=501', 'limit: must be at most 500'],
    ['/api/v1/accounts?limit=many', 'limit: must be a whole number'],
    ['/api/v1/accounts?limit=1&limit=2', 'limit: must be given once'],
    ['/api/v1/accounts?after=-1', 'after: is not a place in a list of this order'],
    ['/api/v1/accounts?after=9999999999999999', 'after: is not a place in a list of this order'],
    ['/api/v1/accounts?after=7~a&sort=poll', 'after: is not a place in a list of this order'],
    ['/api/v1/accounts?tag=nobody', 'tag: is no tag of the config; allowed: vip'],
    ['/api/v1/alerts?after=9999999999999999', 'after: must be what the list before called next'],
    ['/api/v1/accounts?lmit=1', 'lmit: is not known here'],
    [
      '/api/v1/accounts?state=dead',
      'state: must be one of active, failing, parked, reauthorize, uninstalling, uninstalled, must-reconnect, paused',
    ],
    ['/api/v1/accounts?sort=hubId', 'sort: must be one of worst, domain, nearest, poll'],
    ['/api/v1/alerts?level=high', 'level: must be one of warning, critical'],
    ['/api/v1/alerts?hubId=0', 'hubId: must be at least 1'],
    ['/api/v1/accounts/1/snapshots?limit=1001', 'limit: must be at most 1000'],
    ['/api/v1/accounts/1/snapshots?resolution=weekly', 'resolution: must be one of raw, hourly, daily'],
    ['/api/v1/accounts/1/snapshots?format=xlsx', 'format: must be one of json, csv, jsonl'],
    ['/api/v1/accounts/1/snapshots?format=csv&limit=5', 'limit: format=csv is not paged: it is all of the range'],
    [
      '/api/v1/accounts/1/snapshots?from=yesterday',
      'from: must be a time like 2026-11-21T18:00 (in http.timeZone) or 2026-11-21T18:00:00Z, or how long ago: 24h',
    ],
    [
      '/api/v1/accounts/1/snapshots?to=9999999999999999',
      'to: must be a time like 2026-11-21T18:00 (in http.timeZone) or 2026-11-21T18:00:00Z, or how long ago: 24h',
    ],
  ])('%s is refused: %s', async (path, detail) => {
    const { get } = await openServer(redis)
    const { status, headers, json } = await get(path)
    expect([status, json.detail]).toEqual([400, detail])
    expect(headers['content-type']).toContain('application/problem+json')
    expect(json.errors).toHaveLength(1)
  })

  test('a method that an address does not know is a 405 that says which it does', async () => {
    const { ask } = await openServer(redis)
    const answer = await ask('PUT', '/api/v1/accounts/1', BEARER)
    expect(answer).toMatchObject({ status: 405, json: { title: 'Method Not Allowed' } })
    expect(answer.headers.allow?.split(', ').toSorted()).toEqual(['DELETE', 'GET', 'HEAD', 'OPTIONS'])
    expect((await ask('POST', '/api/v1/status', { ...BEARER, ...JSON_BODY }, '{')).status).toBe(405)
    expect((await ask('DELETE', '/accounts', BEARER)).status).toBe(405)
  })

  test('an address that leads nowhere is a 404, one that cannot be read a 400', async () => {
    const { get } = await openServer(redis)
    expect((await get('/api/v1/nothing')).json).toMatchObject({ status: 404, title: 'Not Found' })
    expect((await get('/api/v1/accounts/%zz')).json).toMatchObject({ status: 400, title: 'Bad Request' })
    const page = await get('/%zz')
    expect([page.status, page.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8'])
  })

  test('what breaks inside stays inside, and goes to the log', async () => {
    const { ask, logs } = await openServer(redis, {
      actions: {
        uninstall: () => Promise.reject(new Error('a word of the inside')),
      },
    })
    const answer = await ask('DELETE', '/api/v1/accounts/1?secret=1', BEARER)
    expect(answer).toMatchObject({ status: 500, json: { title: 'Internal Server Error' } })
    expect(answer.text).not.toContain('a word of the inside')
    const line = logs.lines().find(({ code }) => code === 'http.error')
    expect(line).toMatchObject({
      method: 'DELETE',
      route: '/api/v1/accounts/:hubId',
      err: { message: 'a word of the inside' },
    })
    expect(logs.text()).not.toContain('secret=1')
  })
})

test('an account may be named by its domain wherever its id is taken, unless two have it', async () => {
  const { get, ask, connectAccount } = await openServer(redis)
  await connectAccount({ hubId: 7, hubDomain: 'seven.example.com' })
  for (const hubId of [8, 9]) await connectAccount({ hubId, hubDomain: 'twice.example.com' })
  for (const path of ['', '/token', '/snapshots']) {
    expect((await get(`/api/v1/accounts/seven.example.com${path}`)).status, path).toBe(200)
  }
  expect((await get('/api/v1/accounts/seven.example.com')).json).toMatchObject({ hubId: 7 })
  expect(await get('/accounts/seven.example.com')).toMatchObject({ status: 200 })
  expect((await ask('POST', '/api/v1/accounts/seven.example.com/refresh', BEARER)).json).toMatchObject({ hubId: 7 })
  expect(await get('/api/v1/accounts/twice.example.com')).toMatchObject({
    status: 409,
    json: { type: 'urn:plimsoll:problem:ambiguous', detail: expect.stringContaining('8, 9') },
  })
  expect((await get('/api/v1/accounts/nobody.example.com')).status).toBe(404)
})

describe('an account whose domain is not known yet', () => {
  test('is reached by no name: an empty one leads to none', async () => {
    const { ask, deps, steps, keys, clock } = await openServer(redis)
    await seedAccount(steps, keys, { hubId: 77, hubDomain: '', obtainedAt: clock.now() })
    for (const name of ['', '%20', '%20%20']) {
      for (const [method, path] of [
        ['POST', `/api/v1/accounts/${name}/uninstall`],
        ['POST', `/accounts/${name}/uninstall`],
      ] as const) {
        expect((await ask(method, path, BEARER)).status, `${method} ${path}`).toBeGreaterThanOrEqual(400)
      }
    }
    expect((await deps.registry.get(77))?.state).toBe('active')
  })
})

test('what a body should have is not taken from the query', async () => {
  const { ask } = await openServer(redis)
  const answer = await ask(
    'POST',
    '/api/v1/silences?comment=x&startsAt=x&author=a&author=b',
    { ...BEARER, ...JSON_BODY },
    '{}',
  )
  expect([answer.status, answer.json.errors]).toEqual([400, [expect.objectContaining({ parameter: 'comment' })]])
})

test('an import without a file is refused', async () => {
  const { ask } = await openServer(redis)
  expect(await ask('POST', '/api/v1/accounts/import', BEARER)).toMatchObject({ status: 400 })
})
