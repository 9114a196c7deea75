import { afterAll, beforeAll, expect, test } from 'vitest'
import { neededActions, needsAction } from '../../src/http/pages/fleet/needs-action.ts'
import type { FleetStatus } from '../../src/views/fleet-status.ts'
import { redisOfFile } from '../support/of-file.ts'
import { openLastingServer } from './open-server.ts'

const redis = redisOfFile()
let status: FleetStatus
let server: Awaited<ReturnType<typeof openLastingServer>>
const health = { alive: true, ready: true, checks: [] }
beforeAll(async () => {
  server = await openLastingServer(redis)
  const { connectAccount, get } = server
  await connectAccount({ hubId: 1, hubDomain: 'acme.example.com' })
  status = (await get('/api/v1/status')).json
})
afterAll(async () => {
  await server?.close()
})

const textOf = (changed: Partial<FleetStatus>) =>
  String(needsAction({ ...status, ...changed }, health))
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
const verbsOf = (changed: Partial<FleetStatus>) =>
  neededActions({ ...status, ...changed }, health).map(({ verb }) => verb)

test('a fleet without trouble is well, and one that is still read for the first time is not called so', () => {
  expect(textOf({})).toBe('All is well.')
  const newFleet = { read: 3, total: 10_000 }
  expect(textOf({ accounts: { ...status.accounts, newFleet } })).toBe(
    'Nothing needs action so far; reading a new fleet: 3 of 10,000.',
  )
})

test('the heartbeat, overdue uninstalls and silent daemons need action', () => {
  const beat = { at: status.at, ok: true, late: false, since: status.at, reasons: [], ping: null }
  expect(verbsOf({ heartbeat: beat })).toEqual([])
  expect(verbsOf({ heartbeat: { ...beat, late: true } })).toEqual(['Check the heartbeat'])
  expect(textOf({ heartbeat: { ...beat, ok: false, reasons: ['An alert waits for 2 h.'] } })).toContain(
    'Check the heartbeat out of bounds: An alert waits for 2 h.',
  )
  expect(verbsOf({ uninstalls: { overdue: 9, nextAt: status.at, lateMs: 1 } })).toEqual(['Check uninstalls'])
  const silent = { name: 'a', version: '1', roles: ['clock', 'worker', 'web'] as const, silent: true }
  const times = { startedAt: status.at, lastSeenAt: status.at }
  expect(verbsOf({ daemons: [{ ...silent, ...times, roles: [...silent.roles] }] })).toEqual(['Start a daemon'])
})

test('a token endpoint that fails names the cause, how many accounts and when the first token ends', () => {
  const tokenEndpoint = {
    ...{ breaker: 'open' as const, cause: 'credentials' as const, detail: 'x', since: status.at },
    ...{ requestsPerSecond: 10, clockSkewMs: null },
  }
  const nearestExpiryAt = new Date(Date.parse(status.at) + 240_000).toISOString()
  const { byState } = status.accounts
  expect(
    textOf({
      tokenEndpoint,
      tokens: { ...status.tokens, nearestExpiryAt },
      accounts: { ...status.accounts, byState: { ...byState, active: 20, failing: 4 } },
    }),
  ).toBe('Needs action Fix the secret Failing: client secret rejected, 24 accounts, first token expires in 4 min')
})

test('of more than seven the first six are named, and how many more there are', () => {
  const receivers = Array.from({ length: 9 }, (_, n) => ({
    ...{ receiver: `hook-${n}`, state: 'failing' as const, lastDeliveredAt: null, failingSince: status.at },
    ...{ failedAttempts: 1, reason: 'answered 500' },
  }))
  const text = textOf({ deliveries: { ...status.deliveries, receivers } })
  expect(text.match(/Fix the receiver/g)).toHaveLength(6)
  expect(text).toContain('Review and 3 more')
})
