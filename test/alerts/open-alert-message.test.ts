import { describe, expect, test } from 'vitest'
import { encodeState, type SeriesState } from '../../src/alerts/alert-state.ts'
import { openAlertMessages, readAlertedAccounts } from '../../src/alerts/open-alert-message.ts'
import { StoredReadings } from '../../src/limits/stored-readings.ts'
import { associations, properties, readings } from '../limits/reports.ts'
import { changePolls } from '../support/changed-polls.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const DAY = 86_400_000

const settings = {
  rules: [
    {
      name: 'vip',
      on: 'customProperties.overall',
      match: { account: ['1'] },
      warning: { percent: 80 },
      critical: { percent: 95, daysLeft: 7 },
    },
    { name: 'others', on: '*', warning: { count: 1 } },
  ],
  pageOf: (hubId: number) => `https://x/accounts/${hubId}`,
  page: 'https://x/',
}

function state(more: Partial<SeriesState>): string {
  const base = { rule: 'vip', since: NOW - DAY, transitions: 2, sentAt: NOW - 60_000, lastSent: null, pending: null }
  return encodeState({ ...base, level: 'warning', ...more })
}

async function alertsOf(hubId: number, states: Record<string, string>, read?: StoredReadings, forecast?: string) {
  const keys = redis.freshKeys()
  const own = keys.account(hubId)
  await redis.store.hset(own.account, 'hubDomain', 'acme.example.com')
  await redis.store.hset(own.alerts, states)
  if (read !== undefined) await changePolls(redis.store, keys, hubId, { polledAt: NOW, readings: read })
  if (forecast !== undefined) await redis.store.set(own.forecast, forecast)
  const [account] = await readAlertedAccounts(redis.store, keys, [hubId])
  if (account === undefined) throw new Error('not read')
  return openAlertMessages(settings, account, NOW)
}

const polled = StoredReadings.of(
  readings(NOW - 300_000, properties(960, 1_000), { '0-1/0-2': associations(500, [], 3) }),
  NOW,
)

describe('what is open is told again', () => {
  test('with its numbers as they are now, the conditions it rests on and the id of its last transition', async () => {
    const overall = { perDay: 4, perDayLow: 2, perDayHigh: 8, leap: 0, bend: 0 }
    const forecast = JSON.stringify({ at: NOW - 1_000, rising: { overall }, tooFew: {} })
    const [alert, ...more] = await alertsOf(1, { overall: state({ level: 'critical' }) }, polled, forecast)
    expect(more).toEqual([])
    expect(alert).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}-2$/),
      kind: 'limit',
      status: 'firing',
      level: 'critical',
      reason: 'repeat',
      rule: 'vip',
      account: { hubId: 1, hubDomain: 'acme.example.com' },
      series: { metric: 'customProperties.overall' },
      usage: 960,
      limit: 1_000,
      percent: 96,
      remaining: 40,
      daysLeft: 10,
      daysLeftRange: { earliest: 5, latest: 20 },
      threshold: { percent: 95, daysLeft: 7 },
      measuredAt: new Date(NOW - 300_000).toISOString(),
      since: new Date(NOW - DAY).toISOString(),
      url: 'https://x/accounts/1',
    })
  })

  test('but not what is only pending, nor what was never open', async () => {
    const pending = { warning: 1, critical: 0, sinceFirstReading: false }
    expect(await alertsOf(1, { overall: state({ level: 'ok', pending }) }, polled)).toEqual([])
  })

  test('without numbers where there are none to be read any more', async () => {
    const series = { 'at/0-1/0-9': state({ rule: 'others' }) }
    for (const read of [undefined, polled]) {
      const [alert] = await alertsOf(1, series, read)
      expect(alert).toMatchObject({
        series: { metric: 'associations.atLimit', from: '0-1', to: '0-9' },
        rule: 'others',
      })
      expect(alert).not.toHaveProperty('usage')
    }
  })

  test('in a sentence where it is about no number', async () => {
    const alerts = await alertsOf(1, {
      token: state({ level: 'critical', rule: 'token' }),
      poll: state({ rule: 'poll', cause: 'scopes' }),
    })
    expect(alerts.map(({ kind, level, message, cause }) => [kind, level, message, cause]).toSorted()).toEqual([
      ['poll', 'warning', 'Missing permission to read limits.', 'scopes'],
      ['token', 'critical', 'Customer must reconnect.', undefined],
    ])
  })

  test('of the whole fleet without an account, with the status page', async () => {
    const [alert] = await alertsOf(0, { coverage: state({ level: 'critical', rule: 'fleet' }) })
    expect(alert).toMatchObject({
      kind: 'fleet',
      message: 'Too many accounts without fresh limits.',
      url: 'https://x/',
    })
    expect(alert).not.toHaveProperty('account')
  })

  test('of a receiver as what it is, for routes and people', async () => {
    const [alert] = await alertsOf(0, { 'delivery/ops-hook': state({ rule: 'delivery' }) })
    expect(alert).toMatchObject({ kind: 'delivery', message: 'Receiver ops-hook: alerts are not delivered.' })
  })
})
