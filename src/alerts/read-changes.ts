import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { readSince } from '../redis/read-since.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import { isoOf } from '../text/format-time.ts'
import type { ChangeName, FleetChange, FleetChanges } from './alert.ts'
import {
  ACCOUNT_EVENTS,
  type AccountEvent,
  CHANGE_GROUPS,
  CHANGE_NAMES,
  groupOf,
  netChanges,
  worstFirst,
} from './changes.ts'
import { readLoggedSince } from './transition-log.ts'

export interface ChangesQuery {
  /** ms */
  since: number
  until: number
  /** The most of each group that `items` has. */
  mostOfEach: number
  /** Only those that a reader is meant to get. */
  isFor?: (change: FleetChange) => boolean
}

interface Sources {
  store: Store
  keys: Keys
}

/** The log of accounts is not cut before it has so many events. */
const MOST_EVENTS = 100_000

export async function readChanges(
  deps: Sources,
  { since, until, mostOfEach, isFor }: ChangesQuery,
): Promise<FleetChanges> {
  const { accountLog: key } = deps.keys
  const [logged, events] = await Promise.all([
    readLoggedSince(deps, since),
    readSince(deps.store, { key, most: MOST_EVENTS, read: readEvent }, since),
  ])
  const alerts = logged.found.map(({ alert }) => alert)
  const all = netChanges(alerts, events.found)
  const kept = [logged.keptSince, events.keptSince].filter((at) => at !== undefined)
  if (isFor !== undefined) await nameAccounts(deps, all)
  const mine = isFor === undefined ? all : all.filter(isFor)
  const byGroup = Map.groupBy(worstFirst(mine), groupOf)
  const items = CHANGE_GROUPS.flatMap((group) => byGroup.get(group)?.slice(0, mostOfEach) ?? [])
  await nameAccounts(deps, items)
  return {
    since: isoOf(since),
    until: isoOf(until),
    ...(kept.length === 0 ? {} : { keptSince: isoOf(Math.max(...kept)) }),
    counts: countsOf(mine),
    items,
    leftOut: mine.length - items.length,
  }
}

function readEvent([, [, hubId, , event = '', , at]]: [id: string, fields: string[]]): AccountEvent | undefined {
  const isReadable =
    (ACCOUNT_EVENTS as readonly string[]).includes(event) && [hubId, at].every((text) => /^\d{1,16}$/.test(text ?? ''))
  return isReadable ? { hubId: Number(hubId), event: event as AccountEvent['event'], at: Number(at) } : undefined
}

/** The log of accounts has no names: these are forgotten with the account. */
async function nameAccounts({ store, keys }: Sources, changes: readonly FleetChange[]): Promise<void> {
  const nameless = changes.flatMap(({ account }) => (account?.hubDomain === '' ? [account] : []))
  for (const some of chunksOf(nameless)) {
    await Promise.all(
      some.map(async (account) => {
        account.hubDomain = (await store.hget(keys.account(account.hubId).account, 'hubDomain')) ?? ''
      }),
    )
  }
}

function countsOf(changes: readonly FleetChange[]): Record<ChangeName, number> {
  const counts = Object.fromEntries(CHANGE_NAMES.map((name) => [name, 0])) as Record<ChangeName, number>
  for (const { change } of changes) counts[change]++
  return counts
}
