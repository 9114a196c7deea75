import type { Account } from '../accounts/account.ts'
import { OVERDUE_AFTER_MS } from '../accounts/due-sets.ts'
import type { AccountQuery, Ahead, Place } from '../accounts/search/account-query.ts'
import { type AccountLists, type AccountPage, pageOfAccounts } from '../accounts/search/search-accounts.ts'
import { type AlertLevel, compareRanks } from '../alerts/alert.ts'
import { type OpenState, readOpenStates } from '../alerts/open-alerts.ts'
import type { Silence } from '../alerts/silence.ts'
import type { DueKind } from '../redis/keys.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import { accountJson, readFreshAt, withPlan } from './account-view.ts'
import { countsOf, surveyAlerts } from './find-alerts.ts'
import { isLeaving, judgeAccount, troubleOf } from './judge-account.ts'
import { readClosestLimit } from './nearest-limits.ts'
import type { ListedAccountShape } from './shapes/account.ts'
import { judgedStates } from './silenced.ts'
import type { ViewDeps } from './view-deps.ts'

/** One line of a list of accounts: the same on the page, in the API and in the command line. */
export interface ListedAccount {
  account: ListedAccountShape
  /** Open alerts of the account one by one, also those that are handled. */
  open: readonly OpenState[]
  /** The limit that it is closest to; null: it is leaving, and was never read. Absent where that is not read. */
  closest?: Awaited<ReturnType<typeof readClosestLimit>> | null
  /** Level of the alert that is open about that limit. */
  level?: AlertLevel | undefined
}

export interface AccountSearch extends Omit<AccountQuery, 'staleBefore' | 'overdue' | 'ahead' | 'without'> {
  /** Only those whose newest reading is too old. */
  stale: boolean
  /** Only those for which this should have been done by now. */
  overdue?: DueKind | undefined
}

type Sources = AccountLists & Pick<ViewDeps, 'due' | 'silences' | 'coverage' | 'clock'>

/**
 * One page of accounts. Worst first are those with the worst alert that no operator has handled, in the order of the alerts
 * themselves; then by state, then by the nearest limit.
 */
export async function readAccountList(
  deps: Sources,
  { stale, overdue, ...query }: AccountSearch,
): Promise<Omit<AccountPage, 'accounts'> & { rows: ListedAccount[] }> {
  const now = deps.clock.now()
  const silences = await deps.silences.active(now)
  const { accounts, ...beside } = await pageOfAccounts(deps, {
    ...query,
    staleBefore: stale ? now - deps.coverage.settings.freshnessMs : undefined,
    overdue: overdue && { kind: overdue, since: now - OVERDUE_AFTER_MS },
    ahead: query.sort === 'worst' ? await readAlerting(deps, silences, now) : undefined,
  })
  return { rows: await rowsOf(deps, accounts, silences, now), ...beside }
}

/** Accounts with alerts that no operator has handled. Their key is the rank of the worst one. */
async function readAlerting(deps: Sources, silences: readonly Silence[], now: number): Promise<Ahead> {
  const { accounts } = await surveyAlerts(deps, { silences, mark: 'active' }, now)
  const places = accounts
    .filter(({ hubId }) => hubId !== NO_ACCOUNT)
    .map(({ hubId, place }): Place => ({ hubId, key: place.slice(0, -1).join('_') }))
  return { places, compare: (a, b) => compareRanks(rankAt(a), rankAt(b)) }
}

function rankAt({ hubId, key }: Place): number[] {
  return [...String(key).split('_').map(Number), hubId]
}

async function rowsOf(
  deps: Sources,
  accounts: readonly Account[],
  silences: readonly Silence[],
  now: number,
): Promise<ListedAccount[]> {
  const { freshnessMs } = deps.coverage.settings
  const byAccount = new Map<number, OpenState[]>()
  const hubIds = accounts.map(({ hubId }) => hubId)
  for await (const some of readOpenStates(deps.store, deps.keys, hubIds)) {
    for (const [hubId, open] of Map.groupBy(some, (one) => one.hubId)) byAccount.set(hubId, open)
  }
  return Promise.all(
    accounts.map(async (found) => {
      const planned = await withPlan(deps.due, found)
      const open = byAccount.get(found.hubId) ?? []
      const alerts = judgedStates(open, silences, now)
      const freshAt = await readFreshAt(deps, found.hubId)
      const trouble = troubleOf(judgeAccount({ account: planned, alerts, freshnessMs, freshAt }, now))
      return { account: { ...accountJson(planned), openAlerts: countsOf(alerts), trouble }, open }
    }),
  )
}

/** Some at a time: of accounts with many pairs, readings are large. */
export async function withClosestLimit(
  deps: Pick<ViewDeps, 'store' | 'keys' | 'clock'>,
  listed: readonly ListedAccount[],
): Promise<ListedAccount[]> {
  const now = deps.clock.now()
  const found: ListedAccount[] = []
  for (const some of chunksOf(listed)) {
    const closest = await Promise.all(some.map(({ account }) => readClosestLimit(deps, account.hubId, now)))
    found.push(...some.map((one, n) => withLevel(one, closest[n] ?? 'unread')))
  }
  return found
}

function withLevel(listed: ListedAccount, closest: NonNullable<ListedAccount['closest']>): ListedAccount {
  if (closest === 'unread' && isLeaving(listed.account)) return { ...listed, closest: null, level: undefined }
  const field = typeof closest === 'string' ? undefined : closest.series.id
  return { ...listed, closest, level: listed.open.find((one) => one.field === field)?.state.level }
}

/** For people, where there is no limit to show. */
export const WITHOUT_LIMIT = { unread: 'not read yet', unreadable: 'unreadable', none: 'no limit' } as const
