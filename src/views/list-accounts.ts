import type { Account } from '../accounts/account.ts'
import { OVERDUE_AFTER_MS } from '../accounts/due-sets.ts'
import type { AccountQuery, Ahead, Place } from '../accounts/search/account-query.ts'
import { type AccountPage, pageOfAccounts } from '../accounts/search/search-accounts.ts'
import type { AccountLists } from '../accounts/search/stretch.ts'
import { type AlertLevel, compareRanks } from '../alerts/alert.ts'
import { type OpenState, readOpenStates } from '../alerts/open-alerts.ts'
import type { Silence } from '../alerts/silence.ts'
import type { DueKind } from '../redis/keys.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import { accountJson } from './account-view.ts'
import { countsOf, surveyAlerts } from './find-alerts.ts'
import { isLeaving, troubleOf } from './judge-account.ts'
import { readClosestLimit } from './nearest-limits.ts'
import type { ListedAccountShape } from './shapes/account.ts'
import type { JudgedAlert } from './silenced.ts'
import { readUnwell, readVerdict } from './unwell-accounts.ts'
import type { ViewDeps } from './view-deps.ts'

/** One line of a list of accounts: the same on the page, in the API and in the command line. */
export interface ListedAccount {
  account: ListedAccountShape
  /** Open alerts of the account one by one, also those that are handled. */
  alerts: readonly JudgedAlert[]
  /** The limit with its worst alert, or that it is closest to; null: it is leaving, and was never read. Absent where that is not read. */
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
 * One page of accounts. Worst first: by level, then in the order of alerts. Those that are ok follow by state, then by the nearest
 * limit.
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
    ahead: query.sort === 'worst' ? await readAhead(deps, silences, now) : undefined,
  })
  return { rows: await rowsOf(deps, accounts, silences), ...beside }
}

/** Accounts that are not ok. Their key is their place among these. */
async function readAhead(deps: Sources, silences: readonly Silence[], now: number): Promise<Ahead> {
  const { accounts } = await surveyAlerts(deps, { silences }, now)
  const unwell = await readUnwell(deps, accounts, silences)
  const places = unwell.map(({ hubId, place }): Place => ({ hubId, key: place.join('_') }))
  return { places, compare: (a, b) => compareRanks(rankAt(a), rankAt(b)) }
}

function rankAt({ hubId, key }: Place): number[] {
  return [...String(key).split('_').map(Number), hubId]
}

async function rowsOf(
  deps: Sources,
  accounts: readonly Account[],
  silences: readonly Silence[],
): Promise<ListedAccount[]> {
  const byAccount = new Map<number, OpenState[]>()
  const hubIds = accounts.map(({ hubId }) => hubId)
  for await (const some of readOpenStates(deps.store, deps.keys, hubIds)) {
    for (const [hubId, open] of Map.groupBy(some, (one) => one.hubId)) byAccount.set(hubId, open)
  }
  return Promise.all(
    accounts.map(async (found) => {
      const { account, alerts, verdict } = await readVerdict(deps, found, byAccount.get(found.hubId) ?? [], silences)
      const { level } = verdict
      return {
        account: { ...accountJson(account), level, openAlerts: countsOf(alerts), trouble: troubleOf(verdict) },
        alerts,
      }
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
  for (const some of chunksOf(listed)) found.push(...(await Promise.all(some.map((one) => withLimit(deps, one, now)))))
  return found
}

async function withLimit(
  deps: Pick<ViewDeps, 'store' | 'keys'>,
  listed: ListedAccount,
  now: number,
): Promise<ListedAccount> {
  const { account, alerts } = listed
  const levels = new Map(alerts.filter(({ isHandled }) => !isHandled).map(({ field, level }) => [field, level]))
  const closest = await readClosestLimit(deps, account.hubId, levels, now)
  if (closest === 'unread' && isLeaving(account)) return { ...listed, closest: null }
  return { ...listed, closest, level: typeof closest === 'string' ? undefined : levels.get(closest.series.id) }
}

/** For people, where there is no limit to show. */
export const WITHOUT_LIMIT = { unread: 'not read yet', none: 'no limit' } as const
