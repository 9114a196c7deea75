import { expect, test } from 'vitest'
import type { PollTurn } from '../../src/limits/polling/poll-turn.ts'
import { properties, readings as readingsOf } from '../limits/reports.ts'
import { changeWatch } from '../support/changed-watch.ts'
import { redisOfFile } from '../support/of-file.ts'
import { openServer, readings } from './open-server.ts'

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

test('the list of accounts narrows to those without a fresh reading, page by page', async () => {
  const { get } = await fleet()
  const first = (await get('/api/v1/accounts?stale=true&limit=2')).json
  expect(first.items.map(({ hubId }: { hubId: number }) => hubId)).toEqual([2, 65])
  expect(first.next).toBe('65')
  const rest = (await get(`/api/v1/accounts?stale=true&limit=2&after=${first.next}`)).json
  expect(rest.items.map(({ hubId }: { hubId: number }) => hubId)).toEqual([66])
  expect(rest).not.toHaveProperty('next')
  expect((await get('/api/v1/accounts?stale=false')).json.items).toHaveLength(5)
  expect((await get('/api/v1/accounts?stale=true&state=failing')).json.items).toEqual([])
  expect((await get('/api/v1/accounts?stale=maybe')).status).toBe(400)
})

test('status, page and metrics tell the same coverage', async () => {
  const { get, steps, keys } = await fleet()
  await steps.zrem(keys.fresh, 66) // Its scopes let nothing be read.
  await steps.zadd(keys.pollFailing, 5, 65)
  expect((await get('/api/v1/status')).json.coverage).toEqual({
    share: 0.5,
    objective: 0.95,
    polled: 4,
    stale: 2,
    failing: 1,
    notWatched: 1,
  })
  const words = (await get('/')).text
  expect(words).toContain('even2.example.com and 1 more account: no fresh reading (50 % have one)')
  expect(words).toContain('<span class="fault">2 of 4 (goal 95 %)</span> <a href="/accounts?stale=1">')
  const { text } = await get('/metrics')
  expect(text).toMatch(/^plimsoll_limits_coverage_ratio 0\.5$/m)
  expect(text).toMatch(/^plimsoll_accounts_stale 2$/m)
})

test('an empty fleet has no share that could be low', async () => {
  const { get } = await openServer(redis)
  expect((await get('/api/v1/status')).json.coverage).toMatchObject({ share: null, polled: 0 })
  expect((await get('/')).text).toContain('<h1>First steps</h1>')
  expect((await get('/metrics')).text).toMatch(/^plimsoll_limits_coverage_ratio NaN$/im)
})

test('status page and API tell how far a fleet that was imported has been read, until it has been', async () => {
  const { get, steps, keys } = await fleet()
  const { firstReadings } = keys
  const waiting = (count: number) => Array.from({ length: 2_000 }, (_, n) => [n < count ? 1 : 0, 1 + 64 * n]).flat()
  await steps.zadd(firstReadings, ...waiting(760))
  expect((await get('/')).text).toContain('reading a new fleet: 1,240 of 2,000</p>')
  expect((await get('/api/v1/status')).json.accounts.newFleet).toEqual({ read: 1_240, total: 2_000 })
  await steps.zadd(firstReadings, ...waiting(0))
  expect((await get('/')).text).not.toContain('new fleet')
  expect((await get('/api/v1/status')).json.accounts.newFleet).toBeNull()
})

test('page and API say why an account is polled next when it is, in its own words made harmless', async () => {
  const { get, connectAccount, poll, steps, keys, clock } = await openServer(redis)
  await connectAccount({ hubId: 7 })
  const report = properties(5, 100, { '2-7': [93, 100] })
  for (const type of report.byObjectType) type.pluralLabel = 'In<b>voices'
  await poll(7, readingsOf(clock.now(), report))
  const turn: PollTurn = {
    regularAt: clock.now(),
    because: {
      is: 'near',
      series: 'type/2-7',
      usage: 93,
      limit: 100,
      level: 'warning',
      move: 'enter',
      asks: 'percent',
      of: 95,
    },
  }
  await changeWatch(steps, keys, 7, { turn })
  expect((await get('/api/v1/accounts/7')).json.nextPollBecause).toBe(
    'In<b>voices: custom properties 93 % (warning from 95 %)',
  )
  expect((await get('/api/v1/accounts')).json.items[0].nextPollBecause).toBe(
    '2-7: custom properties 93 % (warning from 95 %)',
  )
  expect((await get('/accounts/7')).words).toContain(
    'Next poll: In&lt;b&gt;voices: custom properties 93 % (warning from 95 %)',
  )
})

test('status, page and metrics show the share of calls that failed', async () => {
  const { get, steps, keys, clock, connectAccount } = await openServer(redis)
  await connectAccount({ hubId: 7 })
  const limits = { limit: 0.05, warning: 0.03, critical: 0.05 }
  expect((await get('/api/v1/status')).json.failedCalls).toEqual({
    calls: 0,
    failed: 0,
    days: 0,
    share: null,
    ...limits,
  })
  expect((await get('/')).words).toContain('Failed calls 0 % in 30 days (HubSpot allows 5 %)')
  expect((await get('/metrics')).text).toMatch(/^plimsoll_provider_failed_calls_ratio NaN$/im)
  const day = Math.floor(clock.now() / 86_400_000) - 29
  await steps.hset(keys.providerCalls, {
    [`${day}:calls`]: 1_204_000,
    [`${day}:failed`]: 4_816,
    [`${day - 1}:failed`]: 9,
  })
  expect((await get('/api/v1/status')).json.failedCalls).toEqual({
    calls: 1_204_000,
    failed: 4_816,
    days: 30,
    share: 0.004,
    ...limits,
  })
  const page = await get('/')
  expect(page.words).toContain('Failed calls 0.4 % in 30 days (HubSpot allows 5 %)')
  expect(page.text).not.toContain('<span class="fault">')
  const { text } = await get('/metrics')
  expect(text).toMatch(/^plimsoll_provider_failed_calls_ratio 0\.004$/m)
  expect(text).toMatch(/^plimsoll_provider_calls_30d 1204000$/m)
  await steps.hset(keys.providerCalls, `${day}:failed`, 40_000)
  expect((await get('/')).text).toContain('<dt>Failed calls</dt><dd><span class="fault">')
})

const FAILED = { outcome: 'retry', answer: 500, reason: 'answered 500: Internal Server Error' } as const

/** One receiver that delivers, one that fails, one that is switched off, one that had nothing to do yet. */
async function fourReceivers() {
  const server = await openServer(redis)
  await server.connectAccount({ hubId: 1 })
  const { receiverStore, clock } = server.deps
  await receiverStore.see(['chat', 'hook', 'mail', 'pager'], clock.now())
  await receiverStore.recordTest(
    { id: 'msg_1', receiver: 'mail', ms: 900, now: clock.now() },
    { outcome: 'delivered', answer: 250 },
  )
  await receiverStore.recordTest({ id: 'msg_2', receiver: 'hook', ms: 1_200, now: clock.now() }, FAILED)
  const why = 'answered 410: this receiver wants no more messages'
  await redis.store.hset(server.deps.keys.delivery.disabled, 'pager', why)
  return server
}

test('each receiver is told of where it matters: deliveries, status, metrics', async () => {
  const { get } = await fourReceivers()
  const deliveries = await get('/deliveries')
  for (const words of [
    /chat nothing sent yet/,
    /hook failing 0 2026-11-21 10:00 UTC answered 500/,
    /mail delivers \d 2026-11-21 10:00 UTC/,
    /pager switched off \d .*answered 410/,
  ]) {
    expect(deliveries.words).toMatch(words)
  }
  expect((await get('/deliveries?receiver=hook')).words).toMatch(/hook alert test test failed 1 answered 500/)
  const { words } = await get('/')
  for (const said of [' hook has been failing since ', ' pager switched off: ']) expect(words).toContain(said)
  const lines = (await get('/metrics')).text.split('\n')
  expect(lines.filter((line) => line.startsWith('plimsoll_receiver_failing{'))).toEqual([
    'plimsoll_receiver_failing{receiver="chat"} 0',
    'plimsoll_receiver_failing{receiver="hook"} 1',
    'plimsoll_receiver_failing{receiver="mail"} 0',
    'plimsoll_receiver_failing{receiver="pager"} 1',
  ])
})

test('of more than six lines the first five are shown, and the others folded', async () => {
  const { get, deps } = await openServer(redis)
  const names = Array.from({ length: 9 }, (_, n) => `hook-${n}`)
  await deps.receiverStore.see(names, deps.clock.now())
  for (const receiver of names) {
    await deps.receiverStore.recordTest({ id: receiver, receiver, ms: 1, now: deps.clock.now() }, FAILED)
  }
  const [shown = '', folded = ''] = (await get('/')).text.split('<summary>4 more</summary>')
  expect(shown.match(/Fix the receiver/g)).toHaveLength(5)
  expect(folded.match(/Fix the receiver/g)).toHaveLength(4)
})
