import { confirmationOf } from '../accounts/account.ts'
import { type AlertLevel, byConsequence } from '../alerts/alert.ts'
import { TOKEN_FIELD } from '../alerts/alert-state.ts'
import { type OpenState, rankedState, readOpenAlerts } from '../alerts/open-alerts.ts'
import { DaemonStore } from '../heartbeat/daemons.ts'
import { HeartbeatStore } from '../heartbeat/heartbeat.ts'
import { readNewFleet } from '../limits/coverage.ts'
import type { AccountState, DueKind } from '../redis/keys.ts'
import { unlessOfOtherType } from '../redis/other-type.ts'
import { NOBODY } from '../redis/steps.ts'
import { iso } from '../text/format-time.ts'
import { receiverStatus, timedAttempt } from './deliveries.ts'
import { accountAlertsJson, findAlerts, timedAlert } from './find-alerts.ts'
import {
  daemonStatus,
  readCoverage,
  readFailedCalls,
  readHeartbeat,
  readPollBudget,
  readTokenEndpoint,
} from './fleet-health.ts'
import {
  type AccountGroup,
  type FleetVerdict,
  fleetVerdict,
  isNamedByState,
  type StatusFacts,
} from './fleet-verdict.ts'
import { readNearestLimits } from './nearest-limits.ts'
import type { DueShape, FleetStatusShape } from './shapes/fleet-status.ts'
import type { ViewDeps } from './view-deps.ts'

/** The fleet at a glance: the status page, `GET /api/v1/status` and the command line show the same. */
export type FleetStatus = FleetStatusShape
export type DueStatus = DueShape

type FactNames = 'store' | 'keys' | 'clock' | 'registry' | 'due' | 'coverage' | 'silences' | 'receiverStore'

/** What the verdict is read from; `health`: of the daemon that asks. A command that would load the queues for it does without them. */
export type StatusSources = Pick<ViewDeps, FactNames> & {
  queueDepths?: ViewDeps['queueDepths']
  health?: () => Promise<{ checks: NonNullable<StatusFacts['checks']> }>
}

type Sources = StatusSources & Pick<ViewDeps, 'deliveries' | 'failedCalls'>

/** What is due for longer is not being done: a sweep comes every few seconds. */
export const OVERDUE_AFTER_MS = 60_000
const WORST_ALERTS = 20
const WORST_ACCOUNTS = 8
/** Of one account; its own page has all. */
const MOST_OF_ONE = 20
const NEWEST_ATTEMPTS = 10
const NEAREST_LIMITS = 10

export async function readFleetStatus(deps: Sources): Promise<FleetStatus> {
  return (await readFleet(deps)).status
}

/** Also the verdict with where each trouble is seen. */
export async function readFleet(deps: Sources): Promise<{ status: FleetStatus; verdict: FleetVerdict }> {
  const [facts, nearestLimits, failedCalls, deliveries] = await Promise.all([
    readStatusFacts(deps),
    readNearestLimits(deps, NEAREST_LIMITS, deps.clock.now()),
    readFailedCalls(deps.failedCalls, deps.clock.now()),
    deliveryStatus(deps),
  ])
  const { at, accounts, tokens, tokenEndpoint, polls, pollBudget, coverage, uninstalls, alerts } = facts
  const verdict = fleetVerdict(facts)
  const troubles = verdict.troubles.map(({ level, verb, says }) => ({ level, verb, says }))
  return {
    verdict,
    status: {
      ...{ at, verdict: { ...verdict, troubles }, accounts, tokens, tokenEndpoint, polls, pollBudget, coverage },
      ...{ failedCalls, uninstalls, alerts, heartbeat: facts.heartbeat, nearestLimits, daemons: facts.daemons },
      deliveries: { ...deliveries, receivers: [...facts.receivers] },
      queues: facts.queues.map((depth) => ({ ...depth, oldestWaitingAt: iso(depth.oldestWaitingAt) })),
    },
  }
}

/** What the verdict depends on: from indexes and the states of alerts, nothing account by account. */
export async function readStatusFacts(deps: StatusSources): Promise<StatusFacts> {
  const now = deps.clock.now()
  const { store, keys, registry, due } = deps
  const [byState, sweeps, alerts, tokenEndpoint, pollBudget, coverage, overdue, expiry] = await Promise.all([
    registry.countByState(),
    store.hgetall(keys.progress),
    alertFacts(deps, now),
    readTokenEndpoint(store, keys),
    readPollBudget(store, keys),
    readCoverage(deps.coverage, now),
    due.countOverdue(now - OVERDUE_AFTER_MS),
    due.nearestExpiry(now),
  ])
  const [refreshes, polls, uninstalls, heartbeat, daemons, newFleet, receivers, queues, health] = await Promise.all([
    readDue(deps, 'refresh', sweeps['refresh-tokens'], now),
    readDue(deps, 'poll', sweeps['poll-limits'], now),
    readDue(deps, 'uninstall', sweeps.uninstall, now),
    readHeartbeat(new HeartbeatStore(store, keys), now),
    new DaemonStore(store, keys).read(),
    readNewFleet(store, keys),
    deps.receiverStore.read(),
    deps.queueDepths?.(),
    deps.health?.(),
  ])
  const [reauthorize, failing, parked, stale] = await Promise.all([
    inState(deps, 'reauthorize', byState.reauthorize, alerts.handledTokens),
    inState(deps, 'failing', byState.failing, alerts.handledTokens),
    inState(deps, 'parked', byState.parked, alerts.handledTokens),
    groupOf(deps, coverage.stale, () => deps.coverage.stalest()),
  ])
  return {
    at: new Date(now).toISOString(),
    accounts: { total: Object.values(byState).reduce((sum, n) => sum + n, 0), byState, newFleet: newFleet ?? null },
    tokens: { ...refreshes.status, overdue, nearestExpiryAt: iso(expiry ?? null) },
    ...{ polls: polls.status, uninstalls: uninstalls.status, tokenEndpoint, pollBudget, coverage, heartbeat },
    ...{ alerts: alerts.status, unnamed: alerts.unnamed, handledFields: alerts.handledFields },
    daemons: daemons.map((daemon) => daemonStatus(daemon, now)),
    receivers: receivers.map(receiverStatus),
    queues: queues ?? [],
    groups: {
      ...{ reauthorize, failing, parked, stale },
      ...{ refresh: refreshes.group, poll: polls.group, uninstall: uninstalls.group },
    },
    sweeps: Object.fromEntries(Object.entries(sweeps).map(([kind, at]) => [kind, Number(at)])),
    checks: health?.checks,
  }
}

/** `sweptAt`: as stored. */
async function readDue(deps: StatusSources, kind: DueKind, sweptAt: string | undefined, now: number) {
  const { count, next = null, first } = await deps.due.outlook(kind, now - OVERDUE_AFTER_MS)
  const lateMs = next === null ? 0 : Math.max(0, now - next)
  return {
    status: { overdue: count, nextAt: iso(next), lateMs, sweptAt: iso(sweptAt === undefined ? null : Number(sweptAt)) },
    group: await groupOf(deps, count, async () => first),
  }
}

/** Of those in a state one is named that nobody has handled, where that is among the first. */
const MOST_READ = 50

async function inState(
  deps: StatusSources,
  state: AccountState,
  count: number,
  handledTokens: readonly number[],
): Promise<AccountGroup> {
  if (count === 0) return { count, handled: 0, first: undefined }
  const handled = await deps.registry.among(state, handledTokens)
  // Of those that fail one is named that will need its customer.
  const most = state === 'failing' ? MOST_READ : Math.min(handled.size + 1, MOST_READ)
  const open = (await deps.registry.page(most, 0, [state])).filter(({ hubId }) => !handled.has(hubId))
  const refused = open.find((account) => confirmationOf(account) !== undefined)
  const first = refused ?? open[0]
  return { count, handled: handled.size, first, confirmedBy: refused && confirmationOf(refused) }
}

async function groupOf(
  { store, keys }: StatusSources,
  count: number,
  readFirst: () => Promise<number | undefined>,
): Promise<AccountGroup> {
  const hubId = count === 0 ? undefined : await readFirst()
  if (hubId === undefined) return { count, handled: 0, first: undefined }
  const hubDomain = await unlessOfOtherType(store.hget(keys.account(hubId).account, 'hubDomain'), null)
  return { count, handled: 0, first: { hubId, hubDomain: hubDomain ?? '' } }
}

/** The open alerts, those that are handled only as far as they are counted and known. */
async function alertFacts(deps: StatusSources, now: number) {
  const handledTokens: number[] = []
  const handledFields = new Set<string>()
  const worst: Partial<Record<AlertLevel, OpenState>> = {}
  const visit = (open: OpenState, isHandled: boolean) => {
    const { hubId, field, state } = open
    if (isHandled && hubId === NOBODY) handledFields.add(field)
    else if (isHandled && field === TOKEN_FIELD) handledTokens.push(hubId)
    if (isHandled || isNamedByState(open)) return
    const before = worst[state.level]
    if (before === undefined || byConsequence(rankedState(open), rankedState(before)) < 0) worst[state.level] = open
  }
  const search = { silences: await deps.silences.active(now), mark: 'active' as const, visit }
  // Each of the worst alerts is of one of as many accounts.
  const page = { accounts: WORST_ALERTS, alerts: Number.POSITIVE_INFINITY }
  const { counts, accounts, alerts } = await findAlerts(deps, search, page, now)
  const unnamed = await Promise.all(
    Object.entries(worst).map(async ([level, { hubId, field }]) => {
      const [alert] = await readOpenAlerts(deps.store, deps.keys, [hubId], (open) => open.field === field)
      return alert === undefined ? [] : [[level, timedAlert(alert)] as const]
    }),
  )
  return {
    ...{ handledTokens, handledFields },
    unnamed: Object.fromEntries(unnamed.flat()) as StatusFacts['unnamed'],
    status: {
      ...counts,
      worst: alerts.slice(0, WORST_ALERTS).map(timedAlert),
      accounts: accounts.slice(0, WORST_ACCOUNTS).map((account) => accountAlertsJson(account, MOST_OF_ONE)),
    },
  }
}

async function deliveryStatus({ deliveries }: Sources) {
  const [pending, disabled, newest] = await Promise.all([
    deliveries.countPending(),
    deliveries.disabled(),
    deliveries.log(NEWEST_ATTEMPTS),
  ])
  return {
    pending,
    disabledReceivers: Object.entries(disabled).map(([receiver, reason]) => ({ receiver, reason })),
    newest: newest.map(timedAttempt),
  }
}
