import { hubIdsIn } from '../../redis/keys.ts'
import { matchesAccount } from '../match-account.ts'
import type { AccountFilter, Place } from './account-query.ts'
import { readNames } from './domains.ts'
import type { AccountLists } from './stretch.ts'

/** Filter of a list, with the accounts that match by name; `named` undefined: no name is asked for. */
export interface Filter extends AccountFilter {
  named: ReadonlySet<number> | undefined
  without: ReadonlySet<number>
}

/** Accounts that are looked up one by one, at most. */
const FEW = 2_000

/** hubIds of accounts that match by name; undefined where no name is asked for. */
export async function readNamed(deps: AccountLists, { text, tag }: AccountFilter): Promise<Set<number> | undefined> {
  const wanted = text.trim().toLowerCase()
  if (wanted === '' && tag === undefined) return undefined
  const match = tag === undefined ? {} : { tag: [tag] }
  const named = new Set<number>()
  let exact: number | undefined
  for await (const some of readNames(deps)) {
    for (const { hubId, domain } of some) {
      if (!domain.toLowerCase().includes(wanted) && !String(hubId).startsWith(wanted)) continue
      if (!matchesAccount(match, { hubId, hubDomain: domain })) continue
      named.add(hubId)
      if (String(hubId) === wanted) exact = hubId
    }
  }
  // A hubId in full means that account.
  return exact === undefined ? named : new Set([exact])
}

/** All that may match, where a part of the filter leaves few; undefined: they are too many. */
export async function fewCandidates({ store, keys }: AccountLists, filter: Filter): Promise<number[] | undefined> {
  const { named, state, staleBefore, overdue, alert } = filter
  if (named !== undefined && named.size <= FEW) return [...named]
  const within = async (key: string, most: string | number) =>
    (await store.zcount(key, '-inf', most)) <= FEW ? store.zrangebyscore(key, '-inf', most) : undefined
  const found =
    (alert !== undefined && (await store.scard(keys.alerting)) <= FEW
      ? await store.smembers(keys.alerting)
      : undefined) ??
    (state === undefined ? undefined : await within(keys.state[state], '+inf')) ??
    (staleBefore === undefined ? undefined : await within(keys.fresh, `(${staleBefore}`)) ??
    (overdue === undefined ? undefined : await within(keys.due[overdue.kind], overdue.since))
  return found === undefined ? undefined : hubIdsIn(found)
}

/** Matching accounts of some, in their order. */
export async function matchingOf(deps: AccountLists, filter: Filter, places: readonly Place[]): Promise<Place[]> {
  const { store, keys } = deps
  const { named, without, state, staleBefore, overdue, alert } = filter
  const some = places.filter(({ hubId }) => !without.has(hubId) && (named?.has(hubId) ?? true))
  if (some.length === 0) return []
  const ids = some.map(({ hubId }) => hubId)
  const scoresIn = (key: string) => store.zmscore(key, ...ids)
  const [inState, read, due, open] = await Promise.all([
    state && scoresIn(keys.state[state]),
    staleBefore === undefined ? undefined : scoresIn(keys.fresh),
    overdue && scoresIn(keys.due[overdue.kind]),
    alert && readOpen(deps, alert, ids),
  ])
  const isBefore = (score: string | null | undefined, moment: number) => score != null && Number(score) < moment
  return some.filter(
    ({ hubId }, n) =>
      (inState === undefined || inState[n] != null) &&
      (staleBefore === undefined || isBefore(read?.[n], staleBefore)) &&
      (overdue === undefined || isBefore(due?.[n], overdue.since) || due?.[n] === String(overdue.since)) &&
      (open === undefined || open.has(hubId)),
  )
}

/** Accounts of these with an open alert of that level, or of any. */
async function readOpen({ store, keys }: AccountLists, alert: string, ids: readonly number[]): Promise<Set<number>> {
  const isAlerting = await store.smismember(keys.alerting, ...ids)
  const alerting = ids.filter((_, n) => isAlerting[n] === 1)
  const reading = store.pipeline()
  for (const hubId of alerting) reading.hvals(keys.account(hubId).alerts)
  const found = (await reading.exec()) ?? []
  const isOpen = (state: string) => {
    const [, level] = /^\{"level":"(warning|critical)"/.exec(state) ?? []
    return level !== undefined && (alert === 'open' || alert === level)
  }
  // A key of another type has no alert: the account's own work finds it.
  return new Set(alerting.filter((_, n) => Array.isArray(found[n]?.[1]) && (found[n][1] as string[]).some(isOpen)))
}
