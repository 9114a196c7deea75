import { describe, expect, test } from 'vitest'
import type { AccountGroup, StatusFacts } from '../../src/checks/status-facts.ts'
import { fleetVerdict, unknownVerdict } from '../../src/checks/verdict.ts'
import type { OpenAlertShape } from '../../src/views/shapes/alert.ts'
import { ago, DAEMON, DUE, statusFacts as facts, MINUTE, NOW } from './a-fleet.ts'

const group = (count: number, handled = 0): AccountGroup => ({
  count,
  handled,
  first: { hubId: 7, hubDomain: 'acme.example.com' },
})
const ill = (name: string, says: string) => ({ daemons: [{ ...DAEMON, ill: [{ name, says }] }] })

const alertOf = (more: Partial<OpenAlertShape>): OpenAlertShape => ({
  id: 'a1',
  kind: 'limit',
  level: 'critical',
  rule: 'full',
  field: 'overall',
  hubId: 7,
  since: ago(MINUTE),
  hubDomain: 'acme.example.com',
  series: { metric: 'customProperties.overall' },
  usage: 960,
  limit: 1_000,
  percent: 96,
  ...more,
})
const FULL = alertOf({})
const NEAR = alertOf({ level: 'warning', usage: 850, percent: 85 })
const fleetAlert = (field: string): OpenAlertShape => ({
  id: 'f1',
  kind: 'fleet',
  level: 'critical',
  rule: 'fleet',
  field,
  hubId: null,
  since: ago(MINUTE),
})
const alerts = (critical: number, warning: number, handled = 0, worst: OpenAlertShape[] = []) => ({
  alerts: { critical, warning, handled, worst },
})
const tokens = (overdue: number, lateMs = 0) => ({
  tokens: { ...DUE, overdue, lateMs, nearestExpiryAt: ago(-4 * MINUTE) },
  nearestExpiryAt: NOW + 4 * MINUTE,
})
const endpoint = (breaker: 'open' | 'half-open' | 'closed') => ({
  breaker,
  cause: 'credentials' as const,
  detail: 'x',
  since: ago(MINUTE),
  requestsPerSecond: 10,
})
const beat = (more: object) => ({
  at: ago(MINUTE),
  ok: true,
  late: false,
  since: ago(MINUTE),
  reasons: [],
  ping: null,
  ...more,
})
const receiver = (state: 'failing' | 'disabled' | 'delivers') => ({
  receiver: 'ops',
  failures: 2,
  lastReason: 'gone',
  ...(state === 'failing' && { failingSince: NOW - MINUTE }),
  ...(state === 'disabled' && { disabled: 'gone' }),
})
const accounts = (more: object, byState: object = {}) => {
  const { accounts: before } = facts()
  return { accounts: { ...before, ...more, byState: { ...before.byState, ...byState } } }
}
const low = { coverage: { share: 0.5, objective: 0.95, polled: 4, stale: 2, failing: 0, notWatched: 0 } }
const QUEUE = { queue: 'deliver', waiting: 40, active: 64, delayed: 0, failed: 0 }
const FAILS = 'Warning: acme.example.com: refresh fails'
const IN_TROUBLE = "No account's tokens can be refreshed (client secret rejected), first token expires in 4 min"

describe('the verdict on the fleet is as bad as the worst of its facts', () => {
  test.each<[state: string, changed: Partial<StatusFacts>, groups: Partial<StatusFacts['groups']>, says: string]>([
    ['nothing is wrong', {}, {}, 'All is well.'],
    ['there is no account', accounts({ total: 0 }), {}, 'No accounts yet.'],
    [
      'a new fleet is read',
      accounts({ newFleet: { read: 3, total: 10_000 } }),
      {},
      'Nothing needs action so far; reading a new fleet: 3 of 10,000.',
    ],
    ['one account lost its token', {}, { reauthorize: group(1) }, 'Critical: acme.example.com: refresh token refused'],
    [
      'of several that lost theirs some are handled',
      alerts(4, 0, 2),
      { reauthorize: group(6, 2) },
      'Critical: acme.example.com and 5 more accounts: refresh token refused, 2 acknowledged or silenced',
    ],
    [
      'the one that lost its token is handled',
      alerts(0, 0, 1),
      { reauthorize: group(1, 1) },
      'All is well. 1 acknowledged or silenced.',
    ],
    ['refreshes fail', {}, { failing: group(1) }, FAILS],
    [
      'a refresh token is refused, and not confirmed yet',
      {},
      { failing: { ...group(1), confirmedBy: Date.parse(ago(-20 * MINUTE)) } },
      'Warning: acme.example.com: refresh token refused, to be confirmed by 2026-11-24 03:20 UTC at the latest',
    ],
    [
      'one of those that fail is refused',
      {},
      { failing: { ...group(3), confirmedBy: Date.parse(ago(MINUTE)) } },
      'Warning: acme.example.com and 2 more accounts: refresh fails; refresh token refused, to be confirmed by the next attempt',
    ],
    [
      'refreshes fail, and an operator knows',
      alerts(0, 0, 1),
      { failing: group(1, 1) },
      'All is well. 1 acknowledged or silenced.',
    ],
    [
      'refreshes fail until tokens expire',
      tokens(2),
      { failing: group(3) },
      'Critical: acme.example.com and 2 more accounts: refresh fails, 2 tokens expired',
    ],
    [
      'refreshes are not done',
      tokens(2, 5 * MINUTE),
      { refresh: group(2) },
      'Critical: acme.example.com and 1 more account: refresh overdue for 5 min',
    ],
    ['the provider pauses one', {}, { parked: group(1) }, 'Warning: acme.example.com: paused by HubSpot'],
    ['the endpoint fails for all', { tokenEndpoint: endpoint('open'), ...tokens(0) }, {}, `Critical: ${IN_TROUBLE}`],
    [
      'an operator knows that it fails: it fails all the same',
      {
        tokenEndpoint: endpoint('open'),
        ...tokens(0),
        handled: new Map([['token-endpoint', 'id']]),
        ...alerts(0, 0, 1),
      },
      { failing: group(3) },
      `Warning: ${IN_TROUBLE}, acknowledged or silenced`,
    ],
    [
      'the endpoint recovers',
      { tokenEndpoint: endpoint('half-open'), ...tokens(0) },
      {},
      'Warning: Tokens are refreshed again, slowly (client secret rejected), first token expires in 4 min',
    ],
    ['the endpoint works', { tokenEndpoint: endpoint('closed') }, {}, 'All is well.'],
    [
      'Redis lost its data',
      alerts(1, 0, 0, [fleetAlert('data')]),
      {},
      "Critical: All accounts: Redis lost Plimsoll's data",
    ],
    [
      'polls are not done',
      { polls: { ...DUE, overdue: 1, lateMs: 6 * MINUTE } },
      { poll: group(1) },
      'Warning: acme.example.com: poll overdue for 6 min',
    ],
    [
      'readings are old',
      low,
      { stale: group(2) },
      'Warning: acme.example.com and 1 more account: no fresh reading (50 % have one)',
    ],
    [
      'the alert about old readings says so already',
      { ...low, ...alerts(1, 0, 0, [fleetAlert('coverage')]) },
      { stale: group(2) },
      'Critical: All accounts: Too many accounts without fresh limits',
    ],
    ['readings of a few are old', {}, { stale: group(1) }, 'All is well.'],
    [
      'uninstalls are not done',
      { uninstalls: { ...DUE, overdue: 1, lateMs: 2 * MINUTE } },
      { uninstall: group(1) },
      'Warning: acme.example.com: uninstall overdue for 2 min',
    ],
    [
      'a receiver fails',
      { receivers: [receiver('failing')] },
      {},
      'Warning: ops has been failing since 2026-11-24 02:59 UTC, 2 attempts: gone',
    ],
    ['a receiver is off', { receivers: [receiver('disabled')] }, {}, 'Critical: ops switched off: gone'],
    [
      'a receiver is off, and an operator knows',
      { receivers: [receiver('disabled')], handled: new Map([['delivery/ops', 'id']]), ...alerts(0, 0, 1) },
      {},
      'All is well. 1 acknowledged or silenced.',
    ],
    ['a receiver delivers', { receivers: [receiver('delivers')] }, {}, 'All is well.'],
    [
      'an alert waits on its way',
      { outbox: { ...facts().outbox, oldestEntryAt: NOW - 16 * MINUTE } },
      {},
      'Critical: an alert has waited in the outbox for 16 min: no daemon hands it on',
    ],
    [
      'calls fail more often than the provider allows',
      { failedCalls: { ...facts().failedCalls, failed: 60, share: 0.06 } },
      {},
      'Warning: 6 % of 1,000 calls failed in 30 days (HubSpot allows 5 %)',
    ],
    [
      'the alert about failed calls says so already',
      {
        failedCalls: { ...facts().failedCalls, failed: 60, share: 0.06 },
        announced: new Map([['calls', 'id']]),
        ...alerts(1, 0, 0, [fleetAlert('calls')]),
      },
      {},
      'Critical: All accounts: Too many calls to HubSpot fail',
    ],
    [
      'more refreshes fail than may, and an operator knows of all of them',
      { ...alerts(0, 0, 3), byState: { ...facts().byState, failing: 3 } },
      { failing: group(3, 3) },
      'All is well. 3 acknowledged or silenced.',
    ],
    ['jobs wait, not for long', { queues: [{ ...QUEUE, oldestWaitingAt: NOW - 2 * MINUTE }] }, {}, 'All is well.'],
    [
      'a queue grows',
      { queues: [{ ...QUEUE, oldestWaitingAt: NOW - 3 * MINUTE }] },
      {},
      'Warning: queue deliver: 40 jobs waiting, the next for 3 min',
    ],
    [
      'the daemon says itself that the queue stands still',
      {
        queues: [{ ...QUEUE, oldestWaitingAt: NOW - 3 * MINUTE }],
        ...ill('worker:deliver', 'jobs wait, and none was taken for 180 s'),
      },
      {},
      'Critical: worker:deliver: jobs wait, and none was taken for 180 s',
    ],
    ['the heartbeat is good', { heartbeat: beat({}) }, {}, 'All is well.'],
    [
      'the heartbeat is late',
      { heartbeat: beat({ late: true }) },
      {},
      'Warning: heartbeat: overdue: the outside service receives nothing',
    ],
    [
      'the heartbeat is bad',
      { heartbeat: beat({ ok: false, reasons: ['An alert waits for 2 h.'] }) },
      {},
      'Critical: heartbeat: out of bounds: An alert waits for 2 h.',
    ],
    [
      'the heartbeat does not arrive',
      { heartbeat: beat({ ping: { sent: false, reason: 'refused' } }) },
      {},
      'Warning: heartbeat: within bounds (not sent: refused)',
    ],
    [
      'every daemon is silent',
      { daemons: [{ ...DAEMON, lastSeenAt: NOW - MINUTE }] },
      {},
      'Critical: every daemon is silent: nothing is refreshed, polled or sent',
    ],
    [
      'no daemon runs, as a command finds',
      { daemons: [], isDaemon: false },
      {},
      'Critical: no daemon runs: nothing is refreshed, polled or sent',
    ],
    ['no daemon has reported yet, but one answers', { daemons: [] }, {}, 'All is well.'],
    [
      'no daemon works',
      { daemons: [{ ...DAEMON, roles: ['clock', 'web'] }] },
      {},
      'Critical: NO WORKER is running: nothing is refreshed, polled or sent (plimsoll start --roles worker)',
    ],
    [
      'the daemon finds itself stuck',
      ill('queue:deliver', 'no job has ended for 200 s'),
      {},
      'Critical: queue:deliver: no job has ended for 200 s',
    ],
    [
      'one of several daemons finds itself stuck',
      { daemons: [...ill('queue:deliver', 'no job has ended for 200 s').daemons, { ...DAEMON, name: 'b pid 2' }] },
      {},
      'Critical: queue:deliver: no job has ended for 200 s (a pid 1)',
    ],
    [
      'a sweep does not finish although its daemon reports',
      { lastSweeps: { ...facts().lastSweeps, alerts: NOW - 4 * MINUTE } },
      {},
      'Critical: sweep:alerts: last finished 240 s ago, at most 45 s allowed',
    ],
    [
      'many signs of one cause',
      {
        ...ill('sweep:alerts', 'last finished 240 s ago'),
        lastSweeps: { alerts: NOW - 4 * MINUTE, coverage: NOW - 5 * MINUTE },
      },
      {},
      'Critical: sweep:alerts: last finished 240 s ago; also sweep:coverage',
    ],
    [
      'a daemon that has just started has finished no sweep yet',
      { lastSweeps: {}, daemons: [{ ...DAEMON, sweeps: { ...DAEMON.sweeps, since: NOW - 45_000 } }] },
      {},
      'All is well.',
    ],
    [
      'limits are reached',
      { ...alerts(2, 1, 0, [FULL, NEAR]), unnamed: { critical: FULL, warning: NEAR } },
      {},
      'Critical: 2 critical alerts; worst: acme.example.com, Custom properties, 960 of 1,000; 1 warning',
    ],
    [
      'limits are near',
      { ...alerts(0, 1, 0, [NEAR]), unnamed: { warning: NEAR } },
      {},
      'Warning: 1 warning; worst: acme.example.com, Custom properties, 850 of 1,000',
    ],
    ['all that is open is handled', alerts(0, 0, 4), {}, 'All is well. 4 acknowledged or silenced.'],
    [
      'an alert that no state speaks of any more',
      alerts(0, 1, 0, [alertOf({ kind: 'token', level: 'warning', field: 'token' })]),
      {},
      'Warning: 1 warning; worst: acme.example.com, Custom properties, 960 of 1,000',
    ],
  ])('%s', (_state, changed, groups, says) => {
    const verdict = fleetVerdict(facts(changed, groups))
    expect(verdict.says).toBe(says)
    const levels = verdict.troubles.map(({ level }) => level)
    expect(verdict.level).toBe(levels.includes('critical') ? 'critical' : (levels[0] ?? 'ok'))
    expect(
      says.startsWith(
        verdict.level === 'ok'
          ? (/^(All|No)/.exec(says)?.[0] ?? '')
          : verdict.level === 'critical'
            ? 'Critical: '
            : 'Warning: ',
      ),
    ).toBe(true)
  })

  test('what is worst comes first, the fleet before its accounts', () => {
    const all = facts(
      {
        tokenEndpoint: endpoint('open'),
        heartbeat: beat({ ok: false, reasons: ['Late.'] }),
        receivers: [receiver('failing')],
        ...low,
        ...alerts(9, 3, 0, [FULL]),
        unnamed: { critical: FULL },
      },
      { reauthorize: group(2), failing: group(9), stale: group(2), poll: group(1) },
    )
    const { troubles, says } = fleetVerdict(all)
    expect(troubles.map(({ level, verb }) => `${level}: ${verb}`)).toEqual([
      'critical: Fix the secret',
      'critical: Check the heartbeat',
      'critical: Reconnect',
      'critical: Review',
      'warning: Fix the receiver',
      'warning: Check polls',
      'warning: Check polls',
    ])
    expect(says).toMatch(/^Critical: No account's tokens can be refreshed .*; 9 critical alerts, 5 other problems$/)
  })

  test('what can not be read is no health', () => {
    expect(unknownVerdict(true)).toMatchObject({
      level: 'critical',
      says: expect.stringContaining('Redis does not answer'),
    })
    expect(unknownVerdict(false).level).toBe('critical')
  })
})
