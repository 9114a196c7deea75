import { expect, test } from 'vitest'
import { encodeState } from '../../src/alerts/alert-state.ts'
import { alertTitle } from '../../src/alerts/alert-title.ts'
import { readOpenAlerts } from '../../src/alerts/open-alerts.ts'
import { StoredReadings } from '../../src/limits/stored-readings.ts'
import { associations, properties, readings } from '../limits/reports.ts'
import { changePolls } from '../support/changed-polls.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

test('the open alerts of accounts are listed with their last numbers, the worst first', async () => {
  const keys = redis.freshKeys()
  const state = { rule: 'r', since: 5, transitions: 1, sentAt: 5, lastSent: null, pending: null }
  await redis.store.hset(keys.account(1).account, 'hubDomain', 'one.example.com')
  await redis.store.hset(keys.account(1).alerts, {
    overall: encodeState({ ...state, level: 'warning' }),
    'at/0-1/0-2': encodeState({ ...state, level: 'critical' }),
    near: encodeState({ ...state, level: 'ok', pending: { warning: 1, critical: 0, sinceFirstReading: false } }),
  })
  const now = readings(1, properties(8_455, 10_000), { '0-1/0-2': associations(500, [], 3) })
  await changePolls(redis.store, keys, 1, { polledAt: 1, readings: StoredReadings.of(now, 1) })
  await redis.store.hset(keys.account(2).alerts, 'token', encodeState({ ...state, level: 'critical', since: 1 }))

  const found = await readOpenAlerts(redis.store, keys, [1, 2, 3])
  expect(found).toMatchObject([
    { kind: 'token', hubId: 2, hubDomain: '', level: 'critical', field: 'token', since: '1970-01-01T00:00:00.001Z' },
    {
      kind: 'limit',
      hubId: 1,
      hubDomain: 'one.example.com',
      series: { metric: 'associations.atLimit', from: '0-1', to: '0-2' },
      usage: 3,
    },
    { kind: 'limit', hubId: 1, level: 'warning', usage: 8_455, limit: 10_000, percent: 84.55 },
  ])
  expect(found[0]).not.toHaveProperty('series')
})

test('what concerns the whole fleet comes before what concerns one account, and names none', async () => {
  const keys = redis.freshKeys()
  const state = { rule: 'r', since: 5, transitions: 1, sentAt: 5, lastSent: null, pending: null }
  await redis.store.hset(keys.account(1).alerts, {
    token: encodeState({ ...state, level: 'critical', since: 1 }),
    overall: encodeState({ ...state, level: 'warning' }),
  })
  await redis.store.hset(
    keys.account(2).alerts,
    'token',
    encodeState({ ...state, level: 'critical', cause: 'failing', since: 9 }),
  )
  await redis.store.hset(keys.account(0).alerts, 'token-endpoint', encodeState({ ...state, level: 'critical' }))
  const found = await readOpenAlerts(redis.store, keys, [1, 0, 2])
  expect(found.map(({ hubId, kind, level }) => [hubId, kind, level])).toEqual([
    [null, 'fleet', 'critical'],
    [1, 'token', 'critical'],
    [2, 'token', 'critical'],
    [1, 'limit', 'warning'],
  ])
  expect(found[0]).not.toHaveProperty('hubDomain')
  expect(found.map(alertTitle)).toEqual([
    "Tokens can't be refreshed",
    'Customer must reconnect',
    "Tokens can't be refreshed",
    'Custom properties',
  ])
})

test('a poll alert is listed by its cause, and the low coverage of the fleet by what it is', async () => {
  const keys = redis.freshKeys()
  const state = { rule: 'poll', since: 5, transitions: 1, sentAt: 5, lastSent: null, pending: null }
  const warning = { ...state, level: 'warning' as const }
  await redis.store.hset(keys.account(1).alerts, 'poll', encodeState({ ...warning, cause: 'failing' }))
  await redis.store.hset(keys.account(2).alerts, 'poll', encodeState({ ...warning, since: 6, cause: 'scopes' }))
  await redis.store.hset(keys.account(0).alerts, 'coverage', encodeState({ ...state, level: 'critical' }))
  const found = await readOpenAlerts(redis.store, keys, [1, 2, 0])
  expect(found.map(({ cause }) => cause)).toEqual([undefined, 'failing', 'scopes'])
  expect(found.map(alertTitle)).toEqual([
    'Too many accounts without fresh limits',
    "Limits can't be read",
    'Missing permission to read limits',
  ])
})
