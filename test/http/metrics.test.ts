import { expect, onTestFinished, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { startRedis } from '../support/redis-server.ts'
import { FORM, openServer } from './open-server.ts'

const redis = redisOfFile()

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

test('sign-ins that fail are counted, and those that are put off', async () => {
  const { ask, get } = await openServer(redis)
  for (let n = 0; n < 12; n++) await ask('POST', '/sign-in', FORM, `token=wrong-${n}`)
  expect((await get('/metrics')).text).toContain('plimsoll_sign_in_failures_total 12')
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
  const own = await startRedis(undefined, ['--maxmemory', '100mb'])
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

test('what hangs is absent after two seconds, and holds up nothing else', async () => {
  const { get } = await openServer(redis, { queueDepths: () => new Promise(() => {}) })
  const begun = performance.now()
  const { text } = await get('/metrics')
  expect(performance.now() - begun).toBeLessThan(3_000)
  expect(text).toMatch(/^plimsoll_redis_up 1$/m)
  expect(text).not.toMatch(/^plimsoll_queue_jobs\{/m)
})
