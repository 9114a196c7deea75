import { loadReadings } from '../limits/load-readings.ts'
import type { SeriesName } from '../limits/reports/report.ts'
import { parseSeriesId, seriesById } from '../limits/series.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import { defined } from '../runtime/defined.ts'
import { isoOf } from '../text/format-time.ts'
import { type AlertKind, type AlertLevel, byConsequence, type Ranked } from './alert.ts'
import { type Acknowledged, alertId, decodeState, kindOf, type SeriesState, transitionOf } from './alert-state.ts'
import { sentBucket } from './evaluation/judge-bucket.ts'
import type { Silenceable } from './silence.ts'

/** An alert that is open now, with the number as it was last read, as programs are given it. */
export interface OpenAlert {
  /** The alert's own. */
  id: string
  kind: AlertKind
  level: AlertLevel
  rule: string
  /** The series' id; `token` for the account's tokens, `poll` for what keeps it from being polled; the fleet's trouble. */
  field: string
  /** Set for poll and fleet alerts. */
  cause?: SeriesState['cause'] & {}
  /** Null for an alert about all accounts. */
  hubId: number | null
  hubDomain?: string
  series?: SeriesName & { label?: string }
  usage?: number
  limit?: number
  percent?: number
  /** Until the limit, by the forecast of the last message. */
  daysLeft?: number
  /** ISO 8601 */
  since: string
  /** Acknowledgement in force: until its end the alert is sent only if it gets worse. */
  acknowledged?: { at: string; by: string; comment?: string; until: string }
  /** The id of the silence that it is under. */
  silencedBy?: string
}

/** The open alerts of the given accounts that are wanted, worst consequence first. */
export async function readOpenAlerts(
  store: Store,
  keys: Keys,
  hubIds: readonly number[],
  isWanted: (open: OpenState) => boolean = () => true,
): Promise<OpenAlert[]> {
  const read = async (hubId: number) => {
    const [states, kept] = await Promise.all([openStatesOf(store, keys, hubId), loadReadings(store, keys, hubId)])
    const numbers = seriesById(kept)
    return states.filter(isWanted).map((state) => ({ ranked: rankedState(state), open: openAlert(state, numbers) }))
  }
  const all = (await Promise.all(hubIds.map(read))).flat()
  return all.sort((a, b) => byConsequence(a.ranked, b.ranked)).map(({ open }) => open)
}

/** By the last message: a list that is ordered by each new reading would move under the reader's hands. */
export function rankedState({ hubId, field, state: { level, lastSent, since } }: OpenState): Ranked {
  const series = parseSeriesId(field)
  const { usage, limit, daysLeft } = lastSent ?? {}
  const percent = usage === undefined || !limit ? undefined : (usage / limit) * 100
  return {
    kind: kindOf(hubId, field),
    level,
    account: { hubId },
    since,
    ...defined({ series, usage, percent, daysLeft }),
  }
}

function openAlert(
  { id, hubId, hubDomain, field, state }: OpenState,
  numbers: ReturnType<typeof seriesById>,
): OpenAlert {
  const series = parseSeriesId(field)
  const number = numbers.get(field) ?? sentBucket(field, state)
  const percent = number?.percent ?? undefined
  return {
    id,
    kind: kindOf(hubId, field),
    level: state.level,
    rule: state.rule,
    field,
    since: isoOf(state.since),
    ...(hubId === NO_ACCOUNT ? { hubId: null } : { hubId, hubDomain }),
    ...defined({
      cause: state.cause,
      series: series && { ...series, ...defined({ label: number?.label }) },
      usage: number?.usage,
      limit: number?.limit ?? undefined,
      percent: percent && Math.round(percent * 100) / 100,
      daysLeft: state.lastSent?.daysLeft,
      acknowledged: state.acknowledged && acknowledgementOf(state.acknowledged),
    }),
  }
}

export function acknowledgementOf(given: Acknowledged): OpenAlert['acknowledged'] & object {
  const { at, by, comment, until } = given
  return { at: isoOf(at), by, ...defined({ comment }), until: isoOf(until) }
}

/** An alert that is open, without the numbers of its last reading. */
export interface OpenState {
  /** The alert's own id. */
  id: string
  /** `NO_ACCOUNT`: what concerns the whole installation. */
  hubId: number
  hubDomain: string
  field: string
  /** The state as it is in Redis. */
  stored: string
  state: SeriesState & { level: Silenceable['level'] }
}

/** The open alerts of the given accounts, some accounts at a time: those of a fleet that is on fire must not all be in memory. */
export async function* readOpenStates(
  store: Store,
  keys: Keys,
  hubIds: readonly number[],
): AsyncGenerator<OpenState[], void> {
  for (const some of chunksOf(hubIds)) {
    yield (await Promise.all(some.map((hubId) => openStatesOf(store, keys, hubId)))).flat()
  }
}

/** Ids of the alerts that are open at the given accounts. */
export async function readOpenIds(store: Store, keys: Keys, hubIds: readonly number[]): Promise<Set<string>> {
  const ids = new Set<string>()
  for await (const some of readOpenStates(store, keys, hubIds)) for (const { id } of some) ids.add(id)
  return ids
}

/** States of an account's alerts, as stored. */
export function storedStates(store: Store, keys: Keys, hubId: number): Promise<Record<string, string>> {
  return store.hgetall(keys.account(hubId).alerts)
}

export async function openStatesOf(store: Store, keys: Keys, hubId: number): Promise<OpenState[]> {
  const [hubDomain, states] = await Promise.all([
    store.hget(keys.account(hubId).account, 'hubDomain'),
    storedStates(store, keys, hubId),
  ])
  return openStatesIn({ hubId, hubDomain: hubDomain ?? '', states })
}

/** The open ones of an account's stored states. */
export function openStatesIn({ hubId, hubDomain, states }: StoredAlerts): OpenState[] {
  return Object.entries(states).flatMap(([field, stored]) => {
    const state = decodeState(stored)
    if (state === undefined || state.level === 'ok') return []
    return {
      hubId,
      hubDomain,
      field,
      stored,
      state: { ...state, level: state.level },
      // Made on first use: a hash for each alert of a large fleet is a third of the cost of counting them.
      get id() {
        return alertId(hubId, field, state.since)
      },
    }
  })
}

/** An account with the states of its alerts as stored, by field. */
export interface StoredAlerts {
  hubId: number
  hubDomain: string
  states: Record<string, string>
}

/** The alert of an account in a message that repeats it to the customer: without a page. */
export function repeatedAlert(open: Pick<OpenState, 'hubId' | 'hubDomain' | 'field' | 'state'>, at: number) {
  const { hubId, hubDomain, field, state } = open
  const account = { hubId, hubDomain }
  return { ...transitionOf(account, field, state, { level: state.level, reason: 'repeat', at }), account }
}

/** The alert as silences match it. */
export function silenceable({ hubId, hubDomain, field, state }: OpenState): Silenceable {
  const series = parseSeriesId(field)
  return {
    kind: kindOf(hubId, field),
    level: state.level,
    rule: state.rule,
    ...(hubId === NO_ACCOUNT ? {} : { account: { hubId, hubDomain } }),
    ...defined({ series }),
  }
}
