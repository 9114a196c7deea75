import type { Account } from '../accounts/account.ts'
import { OVERDUE_AFTER_MS } from '../accounts/due-sets.ts'
import { type AlertKind, compareRanks, rankOf } from '../alerts/alert.ts'
import { type OpenState, openStatesOf } from '../alerts/open-alerts.ts'
import type { Silence } from '../alerts/silence.ts'
import { hubIdsIn } from '../redis/keys.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import { readFreshAt, withPlan } from './account-view.ts'
import type { Surveyed } from './find-alerts.ts'
import { type AccountFinding, type AccountVerdict, judgeAccount, type PlannedAccount } from './judge-account.ts'
import { VERDICT_LEVELS } from './shapes/account.ts'
import { type JudgedAlert, judgedStates } from './silenced.ts'
import type { ViewDeps } from './view-deps.ts'

type Sources = Pick<ViewDeps, 'store' | 'keys' | 'registry' | 'due' | 'coverage' | 'clock'>

/** An account that is not ok, and its place among all of them: level, consequence, age. Less is worse. */
export interface UnwellAccount {
  hubId: number
  place: readonly number[]
}

/** Accounts without an active alert that are read to be judged. Where more are in trouble, the alert about all of them says so. */
const MOST_JUDGED = 2_000

/**
 * All accounts that are not ok. Most have alerts, all of which were surveyed; the others are in a state of trouble, or something is
 * overdue for them.
 */
export async function readUnwell(
  deps: Sources,
  surveyed: readonly Surveyed[],
  silences: readonly Silence[],
): Promise<UnwellAccount[]> {
  const places = new Map<number, readonly number[]>()
  const handled: number[] = []
  for (const { hubId, place } of surveyed) {
    if (hubId === NO_ACCOUNT) continue
    if (place[0] === 0) places.set(hubId, place.slice(1, -1))
    else handled.push(hubId)
  }
  for (const some of chunksOf(await suspects(deps, handled))) {
    const read = some.map(async (account) => {
      const open = await openStatesOf(deps.store, deps.keys, account.hubId)
      const { verdict } = await readVerdict(deps, account, open, silences)
      const known = [...verdict.findings.map(placeOf), places.get(account.hubId), quietPlace(verdict)]
      const [worst] = known.filter((place) => place !== undefined).sort(compareRanks)
      if (worst !== undefined) places.set(account.hubId, worst)
    })
    await Promise.all(read)
  }
  return [...places].map(([hubId, place]) => ({ hubId, place }))
}

async function suspects(deps: Sources, handled: readonly number[]): Promise<Account[]> {
  const { store, keys, registry, due, coverage, clock } = deps
  const since = clock.now() - OVERDUE_AFTER_MS
  const [troubled, expired, ...overdue] = await Promise.all([
    registry.page(MOST_JUDGED, 0, ['reauthorize', 'failing', 'parked', 'uninstalling']),
    due.expired(clock.now()),
    due.overdue('refresh', since, MOST_JUDGED),
    due.overdue('poll', since, MOST_JUDGED),
    coverage.staleAccounts(clock.now(), MOST_JUDGED),
    store.zrangebyscore(keys.firstReadings, '(0', '+inf', 'LIMIT', 0, MOST_JUDGED).then(hubIdsIn),
  ])
  const known = new Set(troubled.map(({ hubId }) => hubId))
  const others = [...new Set([...expired, ...overdue.flat(), ...handled])].filter((hubId) => !known.has(hubId))
  return [...troubled, ...(await registry.getMany(others.slice(0, MOST_JUDGED)))]
}

const KIND_OF: Readonly<Record<AccountFinding['about'], AlertKind | undefined>> = {
  tokens: 'token',
  uninstall: 'token',
  limits: 'poll',
  alerts: undefined,
}

/** Undefined for what needs no action, and for alerts, which have places of their own. */
function placeOf({ about, level, since = 0 }: AccountFinding): number[] | undefined {
  const kind = KIND_OF[about]
  if (kind === undefined || (level !== 'critical' && level !== 'warning')) return undefined
  return [...rankOf({ kind, level }), since]
}

/** An account that needs no action and is not ok comes after all that do. */
function quietPlace({ level }: AccountVerdict): number[] | undefined {
  return level === 'unknown' || level === 'handled' ? [VERDICT_LEVELS.indexOf(level), 0, 0, 0, 0, 0] : undefined
}

/** The verdict on an account, by its record and its open alerts, with what it was made from. */
export async function readVerdict(
  deps: Pick<Sources, 'store' | 'keys' | 'due' | 'coverage' | 'clock'>,
  found: Account,
  open: readonly OpenState[],
  silences: readonly Silence[],
): Promise<{ account: PlannedAccount; alerts: JudgedAlert[]; verdict: AccountVerdict }> {
  const [account, freshAt] = await Promise.all([withPlan(deps.due, found), readFreshAt(deps, found.hubId)])
  const now = deps.clock.now()
  const alerts = judgedStates(open, silences, now)
  const { freshnessMs } = deps.coverage.settings
  return { account, alerts, verdict: judgeAccount({ account, alerts, freshnessMs, freshAt }, now) }
}
