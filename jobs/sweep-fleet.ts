import { decodeState } from '../src/alerts/alert-state.ts'
import {
  decideFleetAlerts,
  describeFailingPolls,
  describeReachable,
  describeRead,
  describeStale,
  describeThrottled,
  type FleetFindings,
} from '../src/alerts/kinds/fleet-alert.ts'
import { describeCalls, judgeCalls } from '../src/heartbeat/failed-calls.ts'
import { judgeCoverage } from '../src/limits/coverage.ts'
import { NO_ACCOUNT, stepJson } from '../src/redis/steps.ts'
import { decodeEndpoint, isThrottling, letsTooFewThrough } from '../src/tokens/endpoint/state.ts'
import type { JobDeps } from './job-deps.ts'

type FleetWork = Pick<
  JobDeps,
  'store' | 'keys' | 'coverage' | 'failedCalls' | 'due' | 'announceFleet' | 'queues' | 'clock' | 'log'
>

/** Checks all accounts together: each cause is one alert. The clock brings the next sweep. */
export async function sweepFleet(deps: FleetWork): Promise<undefined> {
  const { store, keys, announceFleet, queues, clock, log } = deps
  const now = clock.now()
  await deps.coverage.forgetReadFleet()
  const { stored, open, findings, messages } = await readFleet(deps, now)
  const verdicts = decideFleetAlerts(findings, open)
  for (const trouble of TROUBLES) {
    const is = verdicts[trouble]
    const message = is === 'covered' ? undefined : messages[trouble][is]
    if (is === 'covered' || message === undefined || (is === 'over' && !open.has(trouble))) continue
    const cause = findings.endpoint ?? (findings.isThrottled ? 'throttled' : 'coverage')
    const level = trouble === 'calls' ? findings.calls : undefined
    const writes = announceFleet({ trouble, is, stored: stored[trouble] ?? '', level, message, now, cause })
    if (writes.changes.length === 0) continue
    // The second of two daemons that sweep at once finds the alert open.
    if ((await store.changeAlerts(keys.own(NO_ACCOUNT), NO_ACCOUNT, stepJson(writes))) === 'stale') continue
    log[is === 'over' ? 'info' : 'error']({ code: CODES[trouble][is] }, message)
    await queues.wake('alerts', now)
  }
}

const TROUBLES = ['provider', 'coverage', 'calls'] as const
type Trouble = (typeof TROUBLES)[number]

const CODES = {
  provider: { firing: 'provider.failing', over: 'provider.recovered' },
  coverage: { firing: 'coverage.stale', over: 'coverage.recovered' },
  calls: { firing: 'calls.failing', over: 'calls.recovered' },
} as const satisfies Record<Trouble, object>

/** `firing`: undefined where another part of Plimsoll announces it. */
type Messages = Record<Trouble, { firing: string | undefined; over: string }>

interface ReadFleet {
  /** States of the alerts as stored. */
  stored: Readonly<Record<string, string>>
  open: ReadonlySet<Trouble>
  findings: FleetFindings
  messages: Messages
}

async function readFleet({ store, keys, coverage, failedCalls, due }: FleetWork, now: number): Promise<ReadFleet> {
  const [stored, text, found, counts] = await Promise.all([
    store.hgetall(keys.account(NO_ACCOUNT).alerts),
    store.hget(keys.fleet, 'endpoint'),
    coverage.read(now),
    failedCalls.read(now),
  ])
  const levelOf = (trouble: Trouble) => {
    const level = decodeState(stored[trouble])?.level
    return level === 'ok' ? undefined : level
  }
  const causeOf = (trouble: Trouble) => decodeState(stored[trouble])?.cause
  const open = new Set(TROUBLES.filter((trouble) => levelOf(trouble) !== undefined))
  const endpoint = decodeEndpoint(text ?? '')
  // Counting them costs a read of each account that is due: only where the endpoint has refused some.
  const tokens = endpoint && isThrottling(endpoint, now) ? await due.countLate(now) : { late: 0, kept: 0 }
  const { settings } = coverage
  const findings: FleetFindings = {
    endpoint:
      endpoint === undefined || endpoint.breaker.is === 'closed' ? undefined : (endpoint.breaker.cause ?? undefined),
    // An alert that the token endpoint opened lowers no bound of the polls.
    pollsFail: judgeCoverage(found, settings, causeOf('provider') === 'coverage') === 'failing',
    isThrottled: letsTooFewThrough(tokens, causeOf('provider') === 'throttled'),
    isStale: judgeCoverage({ ...found, failingForLong: 0 }, settings, open.has('coverage')) === 'stale',
    calls: judgeCalls(counts, failedCalls.limits, levelOf('calls')),
  }
  const { pollsFail, isThrottled, isStale, calls } = findings
  const reason = pollsFail || isStale ? await coverage.newestReason() : undefined
  // A trouble of the token endpoint alone is announced where its calls fail.
  const outage = pollsFail ? describeFailingPolls(found, reason) : undefined
  const messages = {
    provider: {
      firing: isThrottled ? describeThrottled(tokens, endpoint?.pace.perSecond ?? 0) : outage,
      over: describeReachable(found, findings.endpoint === undefined),
    },
    coverage: { firing: describeStale(found, settings, reason), over: describeRead(found) },
    calls: { firing: describeCalls(counts, calls), over: describeCalls(counts, undefined) },
  }
  return { stored, open, findings, messages }
}
