import { confirmationOf } from '../accounts/account.ts'
import { OVERDUE_AFTER_MS } from '../accounts/due-sets.ts'
import { type AlertLevel, byConsequence, UNINSTALL_RULE } from '../alerts/alert.ts'
import { TOKEN_FIELD } from '../alerts/alert-state.ts'
import { type OpenAlert, type OpenState, rankedState, readOpenAlerts } from '../alerts/open-alerts.ts'
import { readNewFleet } from '../limits/coverage.ts'
import type { DueKind } from '../redis/keys.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { iso } from '../text/format-time.ts'
import { findAlerts } from '../views/find-alerts.ts'
import { isHandled } from '../views/silenced.ts'
import { readUnwell } from '../views/unwell-accounts.ts'
import type { ViewDeps } from '../views/view-deps.ts'
import { awaitParts, type FleetSources, readFleetFacts } from './facts.ts'

type TroubledState = 'reauthorize' | 'failing' | 'parked'
/** Accounts in one state of trouble; each group is a list of the accounts page. */
export type Group = TroubledState | 'refresh' | 'poll' | 'uninstall' | 'stale'

export interface AccountGroup {
  count: number
  /** Accounts of these whose token alert is acknowledged or silenced. */
  handled: number
  /** One of the others. */
  first: { hubId: number; hubDomain: string } | undefined
  /** The access token of one of the others has expired. */
  isDead?: boolean
  /** Latest moment at which the refusal of its refresh token is confirmed, ms. */
  confirmedBy?: number | undefined
}

/** All that the verdict depends on. Alerts that are acknowledged or silenced are only in `handled`. */
export type StatusFacts = Awaited<ReturnType<typeof readStatusFacts>>

/** Sources of the verdict. */
export type StatusSources = FleetSources & Pick<ViewDeps, 'silences'>

const WORST_ALERTS = 20

/** From indexes and the states of alerts, nothing account by account. */
export async function readStatusFacts(deps: StatusSources) {
  const { store, keys, due } = deps
  const [fleet, alerts] = await Promise.all([readFleetFacts(deps), alertFacts(deps, deps.clock.now())])
  const { now, byState, lastSweeps, coverage } = fleet
  const grouped = (state: TroubledState) => inState(deps, state, byState[state], alerts.handledTokens)
  const [{ refresh, poll, uninstall, overdue, newFleet }, groups] = await Promise.all([
    awaitParts({
      refresh: readDue(deps, 'refresh', lastSweeps['refresh-tokens'], now),
      poll: readDue(deps, 'poll', lastSweeps['poll-limits'], now),
      uninstall: readDue(deps, 'uninstall', lastSweeps.uninstall, now),
      overdue: due.countOverdue(now - OVERDUE_AFTER_MS),
      newFleet: readNewFleet(store, keys),
    }),
    awaitParts({
      reauthorize: grouped('reauthorize'),
      failing: grouped('failing'),
      parked: grouped('parked'),
      stale: groupOf(deps, coverage.stale, () => deps.coverage.stalest()),
    }),
  ])
  const fields = alerts.status.worst.flatMap(({ kind, field, id }) =>
    kind === 'fleet' && field ? [[field, id] as const] : [],
  )
  return {
    ...fleet,
    handled: alerts.handledFields,
    announced: new Map([...fields, ...alerts.handledFields]),
    accounts: {
      total: Object.values(byState).reduce((sum, n) => sum + n, 0),
      ...alerts.unwell,
      byState,
      newFleet: newFleet ?? null,
    },
    tokens: { ...refresh.status, overdue, nearestExpiryAt: iso(fleet.nearestExpiryAt) },
    polls: poll.status,
    uninstalls: uninstall.status,
    alerts: alerts.status,
    /** The worst alert of each level that is named by nothing but its alert. */
    unnamed: alerts.unnamed,
    groups: { ...groups, refresh: refresh.group, poll: poll.group, uninstall: uninstall.group },
  }
}

/** Alerts of these are named by a state: of an account, of a receiver, of the fleet. */
function isNamedByState({ hubId, field, state }: OpenState): boolean {
  return hubId === NO_ACCOUNT || (field === TOKEN_FIELD && state.rule !== UNINSTALL_RULE)
}

async function readDue(deps: StatusSources, kind: DueKind, sweptAt: number | undefined, now: number) {
  const { count, next = null, first } = await deps.due.outlook(kind, now - OVERDUE_AFTER_MS)
  const lateMs = next === null ? 0 : Math.max(0, now - next)
  return {
    status: { overdue: count, nextAt: iso(next), lateMs, sweptAt: iso(sweptAt ?? null) },
    group: await groupOf(deps, count, async () => first),
  }
}

/** Most accounts that are read to name one that no operator has handled yet. */
const MOST_READ = 50

async function inState(
  deps: StatusSources,
  state: TroubledState,
  count: number,
  handledTokens: readonly number[],
): Promise<AccountGroup> {
  if (count === 0) return { count, handled: 0, first: undefined }
  const handled = await deps.registry.among(state, handledTokens)
  const open = (await deps.registry.page(MOST_READ, 0, [state])).filter(({ hubId }) => !handled.has(hubId))
  // One is named that will need its customer, or whose token is dead.
  const refused = open.find((account) => confirmationOf(account) !== undefined)
  const dead = open.find(({ token }) => (token.expiresAt ?? 0) <= deps.clock.now())
  const first = refused ?? dead ?? open[0]
  return {
    count,
    handled: handled.size,
    first,
    isDead: dead !== undefined,
    confirmedBy: refused && confirmationOf(refused),
  }
}

async function groupOf(
  { store, keys }: StatusSources,
  count: number,
  readFirst: () => Promise<number | undefined>,
): Promise<AccountGroup> {
  const hubId = count === 0 ? undefined : await readFirst()
  if (hubId === undefined) return { count, handled: 0, first: undefined }
  const hubDomain = await store.hget(keys.account(hubId).account, 'hubDomain')
  return { count, handled: 0, first: { hubId, hubDomain: hubDomain ?? '' } }
}

/** The open alerts, those that are handled only as far as they are counted and known. */
async function alertFacts(deps: StatusSources, now: number) {
  const handledTokens: number[] = []
  const handledFields = new Map<string, string>()
  const worst: Partial<Record<AlertLevel, OpenState>> = {}
  const visit = (open: OpenState, isHandled: boolean) => {
    const { id, hubId, field, state } = open
    if (isHandled && hubId === NO_ACCOUNT) handledFields.set(field, id)
    else if (isHandled && field === TOKEN_FIELD) handledTokens.push(hubId)
    if (isHandled || isNamedByState(open)) return
    const before = worst[state.level]
    if (before === undefined || byConsequence(rankedState(open), rankedState(before)) < 0) worst[state.level] = open
  }
  const search = { silences: await deps.silences.active(now), visit }
  // Each of the worst alerts is of one of as many accounts.
  const page = { accounts: WORST_ALERTS, alerts: Number.POSITIVE_INFINITY }
  const { counts, alerts, surveyed } = await findAlerts(deps, search, page, now)
  const unwell = await readUnwell(deps, surveyed, search.silences)
  const at = (rank: number) => unwell.filter(({ place: [level] }) => level === rank).length
  const unnamed = await Promise.all(
    Object.entries(worst).map(async ([level, { hubId, field }]) => {
      const [alert] = await readOpenAlerts(deps.store, deps.keys, [hubId], (open) => open.field === field)
      return alert === undefined ? [] : [[level, alert] as const]
    }),
  )
  return {
    handledTokens,
    handledFields,
    unwell: { critical: at(0), warning: at(1), unknown: at(2), handled: at(3) },
    unnamed: Object.fromEntries(unnamed.flat()) as Partial<Record<AlertLevel, OpenAlert>>,
    status: { ...counts, worst: alerts.filter((alert) => !isHandled(alert)).slice(0, WORST_ALERTS) },
  }
}
