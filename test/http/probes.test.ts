import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { redisOfFile } from '../support/of-file.ts'
import { AWAY_MS, startRedis } from '../support/redis-server.ts'
import { ADMIN_TOKEN, BEARER, FORM, JSON_BODY, openServer, openState, readings } from './open-server.ts'

const redis = redisOfFile()

test('the probes tell alive and ready apart, with the checks', async () => {
  const checks = [{ name: 'redis', ok: false, detail: 'does not answer' }]
  const findings = [{ name: 'redis', level: 'critical' as const, says: 'does not answer' }]
  const { ask } = await openServer(redis, { health: async () => ({ alive: true, ready: false, findings }) })
  expect(await ask('GET', '/healthz', BEARER)).toMatchObject({ status: 200, json: { alive: true, checks } })
  expect(await ask('GET', '/readyz', BEARER)).toMatchObject({ status: 503, json: { ready: false, checks } })
})

test('without a token that may read the probes show which checks hold, and not why: details name accounts and receivers', async () => {
  const checks = [{ name: 'receivers', ok: false, detail: 'ops-hook: alerts are not delivered' }]
  const findings = [{ name: 'receivers', level: 'warning' as const, says: 'ops-hook: alerts are not delivered' }]
  const { ask, addToken, signIn } = await openServer(redis, {
    health: async () => ({ alive: false, ready: true, findings }),
  })
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const strangers = [{}, bearer('wrong'), { cookie: 'plimsoll=a' }, bearer(await addToken('writer', 'write'))]
  for (const headers of strangers) {
    const { status, json } = await ask('GET', '/healthz', headers)
    expect([status, json]).toEqual([503, { alive: false, checks: [{ name: 'receivers', ok: false }] }])
    expect((await ask('GET', '/readyz', headers)).json).toEqual({
      ready: true,
      checks: [{ name: 'receivers', ok: false }],
    })
  }
  for (const headers of [BEARER, await signIn()]) {
    expect((await ask('GET', '/healthz', headers)).json).toEqual({ alive: false, checks })
  }
})

test('probes answer at their addresses as they are written only, or a proxy that keeps strangers out could be led around', async () => {
  const { ask } = await openServer(redis)
  const conf = readFileSync(new URL('../../config/deploy/nginx.conf', import.meta.url), 'utf8')
  const [, denied = ''] = /location ~ (\S+) \{\s+deny all;/.exec(conf) ?? []
  for (const path of ['/metrics', '/healthz', '/readyz']) {
    expect((await ask('GET', `${path}?x=1`, BEARER)).status).toBe(200)
    for (const other of [`${path}/`, path.replace('e', '%65'), `http://elsewhere.example${path}`]) {
      for (const method of ['GET', 'HEAD', 'POST'])
        expect((await ask(method, other, BEARER)).status, other).not.toBe(200)
    }
    for (const one of [path, `${path}/`]) expect(one).toMatch(new RegExp(denied))
  }
})

test('a crowd that asks for metrics at the same moment costs one look', async () => {
  const metrics = createMetrics()
  let looks = 0
  const gather = metrics.registry.metrics.bind(metrics.registry)
  metrics.registry.metrics = () => {
    looks++
    return gather()
  }
  const { get } = await openServer(redis, { metrics })
  const answers = await Promise.all(Array.from({ length: 10 }, () => get('/metrics')))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(looks).toBeLessThan(10)
})

test('metrics read how the token endpoint fares once for each scrape', async () => {
  const pages = redis.connect('pages')
  const reads: string[] = []
  const store = new Proxy(pages, {
    get: (target, name) => {
      if (name !== 'hget') return Reflect.get(target, name)
      return (key: string, field: string) => {
        reads.push(field)
        return target.hget(key, field)
      }
    },
  })
  const { get } = await openServer(redis, { store })
  for (let scrape = 1; scrape <= 2; scrape++) {
    expect((await get('/metrics')).text).toMatch(/^plimsoll_breaker_open 0$/m)
    expect(reads.filter((field) => field === 'endpoint')).toHaveLength(scrape)
  }
})

test('metrics count the fleet and name no account', async () => {
  const { get, connectAccount, poll, clock } = await openServer(redis)
  // So long that no number of bytes or seconds has them in it by chance.
  const [first, second] = [4_711_081_500_001, 4_711_081_500_002]
  await connectAccount({ hubId: first, hubDomain: 'acme.example.com' })
  await connectAccount({ hubId: second, hubDomain: 'acme.example.com' })
  await poll(first, readings(clock.now(), 960), { overall: openState('critical', 'r', clock.now()) })
  const { status, headers, text } = await get('/metrics')
  expect([status, headers['content-type']]).toEqual([200, expect.stringContaining('text/plain')])
  for (const line of [
    'plimsoll_accounts{state="active"} 2',
    'plimsoll_accounts{state="reauthorize"} 0',
    'plimsoll_alerts_open{level="critical"} 1',
    'plimsoll_alerts_open{level="warning"} 0',
    'plimsoll_deliveries_pending 0',
    'plimsoll_outbox_pending 0',
    'plimsoll_outbox_late_seconds 0',
    'plimsoll_outbox_oldest_pending_seconds 0',
    'plimsoll_due{kind="refresh"} 0',
    'plimsoll_due{kind="poll"} 1',
    'plimsoll_due{kind="uninstall"} 0',
  ]) {
    expect(text.split('\n')).toContain(line)
  }
  expect(text).toMatch(/^plimsoll_build_info\{version="\d+\.\d+\.\d+[^"]*"\} 1$/m)
  for (const name of [first, second, 'acme']) expect(text).not.toContain(String(name))
})

test('while Redis is away everything says so at once, and comes back with it', async () => {
  const own = await startRedis(undefined, [], AWAY_MS)
  onTestFinished(() => own.stop())
  const { ask, get, beginInstall, provider } = await openServer(own)
  const state = await beginInstall()
  await own.end('SIGKILL')

  const [page, callback, signIn, uninstall, metrics] = await Promise.all([
    get('/'),
    get(`/oauth/callback?code=c&state=${state}`),
    ask('POST', '/sign-in', FORM, `token=${ADMIN_TOKEN}`),
    ask('DELETE', '/api/v1/accounts/1', { ...BEARER, ...JSON_BODY }),
    get('/metrics'),
  ])
  expect(page).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
  expect(page.text).toContain('Redis does not answer')
  expect([callback.status, uninstall.status, signIn.status]).toEqual([503, 503, 303])
  expect(provider.codes).toEqual([])
  expect(metrics.status).toBe(200)
  expect(metrics.text).toContain('plimsoll_sweeps_total')
  expect(metrics.text).not.toMatch(/^plimsoll_(accounts|alerts_open|deliveries_pending|due)[{ ]/m)

  const pages = ['/accounts', '/accounts/1', '/alerts', '/deliveries', '/install'].map((path) => get(path))
  for (const { status } of await Promise.all(pages)) expect(status).toBe(503)
  const lists = ['status', 'accounts', 'accounts/1', 'accounts/1/snapshots', 'alerts', 'deliveries']
  for (const answer of await Promise.all(lists.map((path) => get(`/api/v1/${path}`)))) {
    expect(answer).toMatchObject({ status: 503, json: { title: 'Service Unavailable' } })
  }

  await own.again()
  await expect.poll(async () => (await get('/')).status, { timeout: 60_000 }).toBe(200)
})

test('a Redis that hangs is not waited for, by metrics neither', async () => {
  const own = await startRedis(undefined, [], AWAY_MS)
  onTestFinished(() => own.stop())
  const { get, steps } = await openServer(own)
  await get('/')
  // Until this test has long run out of time: an answer is one that did not wait for Redis.
  await steps.client('PAUSE', 600_000, 'ALL')
  expect((await get('/')).status).toBe(503)
  const metrics = await get('/metrics')
  expect(metrics.status).toBe(200)
  expect(metrics.text).not.toContain('plimsoll_accounts{')
})

test('closing lets a request under way end and waits for nobody else', async () => {
  let begin = () => {}
  let end = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const { server, ask } = await openServer(redis, {
    health: async () => {
      begin()
      await ended
      return { alive: true, ready: true, findings: [] }
    },
  })
  const idle = connect(Number(new URL(server.url).port), '127.0.0.1')
  idle.on('error', () => {})
  await once(idle, 'connect')
  const underWay = ask('GET', '/healthz')
  await begun
  const closed = Promise.all([server.close(5_000), server.close(5_000)])
  end()
  expect(await underWay).toMatchObject({ status: 200, headers: { connection: 'close' } })
  await closed
  await expect(ask('GET', '/healthz')).rejects.toThrow()
})

test('requests are counted by the pattern of their route, so that no address becomes a label', async () => {
  const { ask, get } = await openServer(redis)
  await get('/accounts/4711')
  await get('/accounts/4712')
  await get('/nowhere/4713')
  await ask('POST', '/sign-in', FORM, 'token=wrong')
  const { text } = await get('/metrics')
  expect(text).toContain('plimsoll_http_requests_total{method="GET",route="/accounts/:hubId",status="4xx"} 2')
  expect(text).toContain('plimsoll_http_requests_total{method="GET",route="none",status="4xx"} 1')
  expect(text).toMatch(/plimsoll_http_request_duration_seconds_count\{route="\/accounts\/:hubId"\} 2/)
  // In names and labels; a number of bytes may well have these digits.
  expect(text.replace(/ \S+$/gm, '')).not.toMatch(/471\d/)
})

test('a queue says how much stands in it, and for how long', async () => {
  const { get, clock } = await openServer(redis, {
    queueDepths: async () => [
      { queue: 'deliver', waiting: 3, active: 1, delayed: 2, failed: 0, oldestWaitingAt: clock.now() - 90_000 },
      { queue: 'sweep', waiting: 0, active: 0, delayed: 0, failed: 0, oldestWaitingAt: null },
    ],
  })
  const lines = (await get('/metrics')).text.split('\n')
  for (const line of [
    'plimsoll_queue_jobs{queue="deliver",state="waiting"} 3',
    'plimsoll_queue_jobs{queue="deliver",state="delayed"} 2',
    'plimsoll_queue_oldest_waiting_seconds{queue="deliver"} 90',
    'plimsoll_queue_oldest_waiting_seconds{queue="sweep"} 0',
  ]) {
    expect(lines).toContain(line)
  }
})

test('a reload that was refused shows, and when the last good one was', async () => {
  const { get, deps } = await openServer(redis)
  expect((await get('/metrics')).text).not.toMatch(/^plimsoll_config_last_reload/m)
  deps.metrics.configReload(true, 5_000)
  deps.metrics.configReload(false, 9_000)
  const { text } = await get('/metrics')
  expect(text).toMatch(/^plimsoll_config_last_reload_successful 0$/m)
  expect(text).toMatch(/^plimsoll_config_last_reload_success_timestamp_seconds 5$/m)
})

test('Redis tells its memory and how fast it answers; one that is gone is down, and nothing else is known of it', async () => {
  const own = await startRedis(undefined, ['--maxmemory', '100mb'], AWAY_MS)
  onTestFinished(() => own.stop())
  const { get } = await openServer(own)
  const { text } = await get('/metrics')
  expect(text).toMatch(/^plimsoll_redis_up 1$/m)
  expect(text).toMatch(/^plimsoll_redis_memory_max_bytes 104857600$/m)
  expect(text).toMatch(/^plimsoll_redis_memory_used_bytes \d{6,}$/m)
  expect(text).toMatch(/^plimsoll_redis_evicted_keys_total 0$/m)
  expect(text).toMatch(/^plimsoll_redis_last_save_ok\{file="aof"\} 1$/m)
  expect(Number(/^plimsoll_redis_ping_seconds (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(0)
  await own.end('SIGKILL')
  const without = (await get('/metrics')).text
  expect(without).toMatch(/^plimsoll_redis_up 0$/m)
  expect(without).not.toMatch(/^plimsoll_redis_(memory|evicted|ping|last)[^ ]* /m)
})

test('what hangs is absent, and holds up nothing else', async () => {
  const { get } = await openServer(redis, { queueDepths: () => new Promise(() => {}) })
  const { text } = await get('/metrics')
  expect(text).toMatch(/^plimsoll_redis_up 1$/m)
  expect(text).not.toMatch(/^plimsoll_queue_jobs\{/m)
})
