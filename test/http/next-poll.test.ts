import { expect, test } from 'vitest'
import { decodeBudget } from '../../src/limits/polling/call-budget.ts'
import { encodeTurn } from '../../src/limits/polling/poll-turn.ts'
import { properties, readings } from '../limits/reports.ts'
import { redisOfFile } from '../support/of-file.ts'
import { openServer } from './open-server.ts'

const redis = redisOfFile()

test('page and API say why an account is polled next when it is, in its own words made harmless', async () => {
  const { get, connectAccount, poll, steps, keys, clock } = await openServer(redis)
  await connectAccount({ hubId: 7 })
  const report = properties(5, 100, { '2-7': [93, 100] })
  for (const type of report.byObjectType) type.pluralLabel = 'In<b>voices'
  await poll(7, readings(clock.now(), report))
  const turn = encodeTurn({
    ...{ regularAt: clock.now(), urgency: 1 },
    because: {
      ...{ is: 'near', series: 'type/2-7', usage: 93, limit: 100, level: 'warning', move: 'enter' },
      ...{ asks: 'percent', of: 95, since: clock.now() },
    },
  })
  await steps.hset(keys.account(7).account, 'pollBecause', turn)
  expect((await get('/api/v1/accounts/7')).json.nextPollBecause).toBe(
    'custom properties of In<b>voices (2-7) are at 93 % (warning from 95 %)',
  )
  expect((await get('/api/v1/accounts')).json.items[0].nextPollBecause).toBe(
    'custom properties of 2-7 are at 93 % (warning from 95 %)',
  )
  expect((await get('/accounts/7')).text).toContain(
    'in 15 min</time>, because custom properties of In&lt;b&gt;voices (2-7) are at 93 % (warning from 95 %)',
  )
})

test('status and metrics say when the call budget is too small', async () => {
  const { get, steps, keys, clock } = await openServer(redis)
  expect((await get('/api/v1/status')).json.pollBudget).toBeNull()
  expect((await get('/metrics')).text).toContain('plimsoll_poll_budget_short 0')
  const short = { since: clock.now(), at: clock.now(), polls: 1_200, latestMs: 600_000, saidAt: 0 }
  await steps.set(keys.pollBudget, JSON.stringify({ ...decodeBudget('', clock.now()), level: -30, short }))
  expect((await get('/api/v1/status')).json.pollBudget).toEqual({
    ...{ calls: -30, callsPerPoll: 1 },
    short: { since: '2026-11-21T10:00:00.000Z', polls: 1_200, latestSeconds: 600 },
  })
  expect((await get('/')).text).toContain(
    'call budget too small: 1,200 polls waited since 2026-11-21 10:00 UTC, up to 10 minutes late',
  )
  const metrics = (await get('/metrics')).text
  expect(metrics).toContain('plimsoll_poll_budget_short 1')
  expect(metrics).toContain('plimsoll_poll_budget_calls -30')
})
