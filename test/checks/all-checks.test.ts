import { expect, test } from 'vitest'
import { CHECKS, judgeFleet } from '../../src/checks/all-checks.ts'
import { outsideReport } from '../../src/checks/outside.ts'
import { fleetVerdict } from '../../src/checks/verdict.ts'
import { DAEMON, HOUR, MINUTE, NOW, statusFacts } from './a-fleet.ts'

const group = (count: number) => ({ count, handled: 0, first: undefined })

/** All that the fleet can suffer from at once. */
const ILL = statusFacts(
  {
    nearestExpiryAt: NOW - 2 * MINUTE,
    bounds: { ...statusFacts().bounds, api: 'v1' },
    refreshes: { kept: 10, overdue: 4 },
    byState: { ...statusFacts().byState, failing: 5 },
    daemons: [{ ...DAEMON, roles: ['worker'], ill: [{ name: 'oldest:refresh', says: 'has run for 200 s' }] }],
    tokenEndpoint: {
      breaker: 'open',
      cause: 'credentials',
      detail: 'x',
      since: new Date(NOW - HOUR).toISOString(),
      requestsPerSecond: 10,
    },
    queues: [{ queue: 'deliver', waiting: 9, active: 1, delayed: 0, failed: 0, oldestWaitingAt: NOW - HOUR }],
    outbox: { ...statusFacts().outbox, oldestEntryAt: NOW - HOUR, groupDueAt: NOW - HOUR },
    heartbeat: { at: null, ok: false, late: false, since: null, reasons: ['Late.'], ping: null },
    receivers: [{ receiver: 'ops', failures: 3, failingSince: NOW - MINUTE }],
    failedCalls: { ...statusFacts().failedCalls, failed: 90, share: 0.09 },
    coverage: { ...statusFacts().coverage, polled: 10, stale: 5, share: 0.5 },
  },
  { refresh: group(4), failing: group(5), stale: group(5) },
)

test('each check has a name of its own', () => {
  for (const of of ['process', 'fleet', 'accounts']) {
    const names = CHECKS.filter((check) => check.of === of).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  }
})

test('a fleet that is well is so to every check, and one that is not to every check of the fleet', () => {
  expect(judgeFleet(statusFacts()).filter(([, troubles]) => troubles.length > 0)).toEqual([])
  expect(judgeFleet(ILL).filter(([, troubles]) => troubles.length === 0)).toEqual([])
})

test('what one surface calls ill, all do', () => {
  const { troubles, level } = fleetVerdict(ILL)
  expect(level).toBe('critical')
  const said = troubles.map(({ says }) => says).join('\n')
  for (const [check, found] of judgeFleet(ILL)) {
    for (const { says, of, heartbeatOnly } of found) {
      // What only counts accounts is shown by the group that it counts, unless the endpoint fails for all of them.
      if (heartbeatOnly !== true) expect(said, check).toContain(says)
      else if (check !== 'refreshes') expect(troubles, check).toContainEqual(expect.objectContaining({ of }))
    }
  }
  const outside = outsideReport(ILL).reasons
  expect(outside).toHaveLength(9)
  expect(outsideReport(statusFacts()).reasons).toEqual([])
})
