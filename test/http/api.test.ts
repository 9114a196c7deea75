import { describe, expect, test } from 'vitest'
import { storeForecasts } from '../../src/limits/forecast/stored-forecasts.ts'
import { pollAccount } from '../limits/reports.ts'
import { seedAccount } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'
import { ACCESS_TOKEN, BEARER, JSON_BODY, openServer, openState, REFRESH_TOKEN, readings } from './open-server.ts'

const redis = redisOfFile()

const HOUR = 3_600_000

describe('accounts', () => {
  test('an account is told with all its times in ISO 8601', async () => {
    const { get, connectAccount } = await openServer(redis)
    await connectAccount({ hubId: 123, hubDomain: 'acme.example.com', user: 'ann@example.com' })
    const { json } = await get('/api/v1/accounts')
    expect(json).toEqual({
      items: [
        {
          hubId: 123,
          hubDomain: 'acme.example.com',
          state: 'active',
          user: 'ann@example.com',
          contact: null,
          connectedAt: '2026-11-21T10:00:00.000Z',
          firstConnectedAt: '2026-11-21T10:00:00.000Z',
          token: {
            obtainedAt: '2026-11-21T10:00:00.000Z',
            expiresAt: '2026-11-21T10:30:00.000Z',
            refreshedAt: '2026-11-21T10:00:00.000Z',
            nextRefreshAt: expect.stringMatching(/^2026-11-21T10:(1[5-9]|2[0-4]):/),
            driftMs: null,
          },
          refreshFailure: null,
          refusedSince: null,
          parkedUntil: null,
          tokenServedAt: null,
          tokenServedTo: null,
          polledAt: null,
          nextPollAt: '2026-11-21T10:00:00.000Z',
          nextPollBecause: null,
          pollFailure: null,
          watch: null,
          objectTypesLeftOut: 0,
          notAvailable: [],
          apiCalls: null,
          gaps: [],
          unreadable: [],
          uninstall: null,
          level: 'unknown',
          openAlerts: { critical: 0, warning: 0, handled: 0 },
          trouble: '',
        },
      ],
    })
  })

  test('one account comes with its scopes, its series as last read and its open alerts - and without tokens', async () => {
    const { get, connectAccount, poll, clock } = await openServer(redis)
    await connectAccount({ hubId: 123, hubDomain: 'acme.example.com' })
    await poll(
      123,
      readings(clock.now(), 960),
      {
        overall: openState('critical', 'customProperties.overall', clock.now()),
      },
      { 'associations/0-1/0-2': { at: clock.now(), atLimit: [{ objectId: 31, label: 'Ann' }], nearLimit: [] } },
    )
    const { json, text } = await get('/api/v1/accounts/123')
    expect(json).toMatchObject({ hubId: 123, scopes: ['oauth', 'crm.objects.contacts.read'] })
    expect(json.verdict).toMatchObject({ level: 'critical', findings: [{ about: 'tokens', level: 'ok' }, {}, {}] })
    expect(json.verdict.findings[2].says).toBe(
      'Open alerts: 1 critical; worst: Custom properties, 960 of 1,000, opened now.',
    )
    expect(json.series).toHaveLength(5)
    expect(json.series.slice(0, 2)).toEqual([
      {
        id: 'overall',
        metric: 'customProperties.overall',
        usage: 960,
        limit: 1000,
        percent: 96,
        reportedPercent: 96,
        measuredAt: '2026-11-21T10:00:00.000Z',
        daysLeft: null,
        forecast: null,
        forecastReason: 'forecasts start after 7 days of data',
      },
      {
        id: 'type/0-1',
        metric: 'customProperties.objectType',
        objectTypeId: '0-1',
        label: 'Contacts',
        usage: 120,
        limit: 500,
        percent: 24,
        reportedPercent: 24,
        measuredAt: '2026-11-21T10:00:00.000Z',
        daysLeft: null,
        forecast: null,
        forecastReason: 'forecasts start after 7 days of data',
      },
    ])
    const pair = json.series.find(({ metric }: { metric: string }) => metric === 'associations.atLimit')
    expect(pair.records).toEqual({ shown: 1, total: 0, items: [{ objectId: 31, label: 'Ann' }] })
    expect(json.alerts).toMatchObject([
      { kind: 'limit', level: 'critical', usage: 960, since: '2026-11-21T10:00:00.000Z' },
    ])
    expect(text).not.toMatch(new RegExp(`${ACCESS_TOKEN}|${REFRESH_TOKEN}`))
  })

  test('one account comes with when its series reach their limits, or why that is not told', async () => {
    const { get, connectAccount, poll, clock, steps, keys } = await openServer(redis)
    await connectAccount({ hubId: 124 })
    await poll(124, readings(clock.now(), 960))
    const pace = { perDay: 3, perDayLow: 2, perDayHigh: 6 }
    await storeForecasts(steps, keys, 124, {
      at: clock.now(),
      rising: { overall: { ...pace, leap: 0, bend: 0 } },
      tooFew: { 'type/0-1': 3 },
    })
    const { json } = await get('/api/v1/accounts/124')
    expect(json.series).toMatchObject([
      {
        metric: 'customProperties.overall',
        daysLeft: 13.3,
        forecastReason: null,
        forecast: { ...pace, days: 13.3, earliest: 6.7, latest: 20 },
      },
      {
        objectTypeId: '0-1',
        daysLeft: null,
        forecast: null,
        forecastReason: 'forecasts start after 7 days of data: 3 so far',
      },
      { metric: 'associations.atLimit', daysLeft: null, forecast: null, forecastReason: 'no limit to reach' },
      { metric: 'associations.nearLimit' },
      { metric: 'associations.fullest', daysLeft: null, forecast: null, forecastReason: 'no steady growth' },
    ])
  })

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

  test('tell all series at each change, oldest first', async () => {
    const { get, usages } = await withHistory()
    const { json } = await get('/api/v1/accounts/9/snapshots')
    expect(usages(json)).toEqual([100, 200, 300, 400, 500])
    expect(json.items[0].at).toBe('2026-11-21T10:00:00.000Z')
    expect(json.items[0].series.slice(0, 2)).toEqual([
      { metric: 'customProperties.overall', usage: 100, limit: 1000, percent: 10 },
      { metric: 'customProperties.objectType', objectTypeId: '0-1', usage: 120, limit: 500, percent: 24 },
    ])
    expect(json.items[0].series[2]).toMatchObject({
      metric: 'associations.atLimit',
      from: '0-1',
      to: '0-2',
      limit: null,
    })
  })

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

describe('alerts', () => {
  async function withAlerts() {
    const world = await openServer(redis)
    const now = world.clock.now()
    for (const [hubId, level] of [
      [1, 'warning'],
      [2, 'critical'],
      [70, 'warning'],
    ] as const) {
      await world.connectAccount({ hubId, hubDomain: `d${hubId}.example.com` })
      await world.poll(hubId, readings(now, 900), { overall: openState(level, 'a rule', now) })
    }
    const hubIds = async (query: string) =>
      (await world.get(`/api/v1/alerts${query}`)).json.items.map(({ hubId }: { hubId: number }) => hubId)
    return { ...world, hubIds }
  }

  test('are those that are open, by level and by account', async () => {
    const { get, hubIds } = await withAlerts()
    expect(await hubIds('')).toEqual([2, 1, 70])
    expect(await hubIds('?level=warning')).toEqual([1, 70])
    expect(await hubIds('?hubId=2')).toEqual([2])
    expect(await hubIds('?hubId=3')).toEqual([])
    expect((await get('/api/v1/alerts?hubId=2')).json.items[0]).toMatchObject({
      kind: 'limit',
      level: 'critical',
      rule: 'a rule',
      hubDomain: 'd2.example.com',
      series: { metric: 'customProperties.overall' },
      usage: 900,
      limit: 1000,
      percent: 90,
      since: '2026-11-21T10:00:00.000Z',
    })
  })

  test('about the whole fleet come first, and name no account', async () => {
    const { get, hubIds, fleetAlerts, clock } = await withAlerts()
    await fleetAlerts({ 'token-endpoint': openState('critical', 'fleet', clock.now()) })
    const { items } = (await get('/api/v1/alerts')).json
    expect(items.map(({ hubId }: { hubId: number | null }) => hubId)).toEqual([null, 2, 1, 70])
    expect(items[0]).toEqual({
      id: expect.any(String),
      kind: 'fleet',
      level: 'critical',
      rule: 'fleet',
      field: 'token-endpoint',
      hubId: null,
      since: '2026-11-21T10:00:00.000Z',
    })
    const first = (await get('/api/v1/alerts?limit=1')).json
    expect(first).toMatchObject({ items: [{ hubId: null }], next: expect.any(String) })
    expect((await get(`/api/v1/alerts?limit=1&after=${first.next}`)).json).toMatchObject({
      items: [{ hubId: 2 }],
      next: expect.any(String),
    })
    expect(await hubIds('?hubId=2')).toEqual([2])
    expect(await hubIds('?level=critical')).toEqual([null, 2])
    const { alerts } = (await get('/api/v1/status')).json
    expect(alerts).toMatchObject({ critical: 2, warning: 2 })
    expect(alerts.worst[0]).toMatchObject({ hubId: null, kind: 'fleet' })
    expect(alerts.worst[0]).not.toHaveProperty('hubDomain')
  })

  test('and the fleet are summed up in the status', async () => {
    const { get, clock } = await withAlerts()
    clock.move(2 * HOUR)
    const { json } = await get('/api/v1/status')
    expect(json).toMatchObject({
      at: '2026-11-21T12:00:00.000Z',
      accounts: { total: 3, byState: { active: 3, reauthorize: 0 } },
      tokens: { overdue: 3, nextAt: expect.stringContaining('2026-11-21T10:') },
      polls: { overdue: 3, nextAt: '2026-11-21T10:15:00.000Z' },
      uninstalls: { overdue: 0, nextAt: null },
      alerts: { critical: 1, warning: 2 },
      deliveries: { pending: 0, disabledReceivers: [], receivers: [] },
    })
    expect(json.alerts.worst[0]).toMatchObject({ hubId: 2, level: 'critical' })
  })
})

test('deliveries are the newest attempts, how many wait and how many were given up, and how receivers fare', async () => {
  const { get, keys, steps, deps } = await openServer(redis)
  await deps.receiverStore.see(['ops'], 1)
  await steps.zadd(keys.delivery.deliveriesDue, 1, 'd1')
  await steps.zadd(keys.delivery.dead, 1, 'd0')
  for (const attempt of [1, 2]) {
    const about = { at: 1_000 * attempt, id: 'd1', receiver: 'ops', type: 'alert.firing', attempt }
    const fields = { ...about, outcome: 'retry', reason: 'no', answer: 503, nextAt: 9_000 }
    await steps.xadd(keys.delivery.log, '*', ...Object.entries(fields).flat())
  }
  const { json } = await get('/api/v1/deliveries?limit=1')
  expect(json).toEqual({
    next: expect.any(String),
    pending: 1,
    dead: 1,
    receivers: [
      {
        receiver: 'ops',
        state: 'new',
        lastDeliveredAt: null,
        failingSince: null,
        failedAttempts: 0,
        reason: null,
      },
    ],
    items: [
      {
        at: '1970-01-01T00:00:02.000Z',
        id: 'd1',
        receiver: 'ops',
        type: 'alert.firing',
        attempt: 2,
        outcome: 'retry',
        reason: 'no',
        ms: null,
        answer: 503,
        nextAt: '1970-01-01T00:00:09.000Z',
      },
    ],
  })
  const { json: rest } = await get(`/api/v1/deliveries?limit=1&after=${json.next}`)
  expect(rest.items).toMatchObject([{ attempt: 1 }])
  expect(rest).not.toHaveProperty('next')
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
