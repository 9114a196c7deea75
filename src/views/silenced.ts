import type { Registry } from '../accounts/registry.ts'
import { findAccount } from '../accounts/search/domains.ts'
import type { AlertLevel } from '../alerts/alert.ts'
import { currentAcknowledgement } from '../alerts/alert-state.ts'
import { type OpenAlert, type OpenState, readOpenStates, silenceable } from '../alerts/open-alerts.ts'
import { covers, isInForce, type Matcher, matchersText, type Silence, silenceOf } from '../alerts/silence.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { SilenceShape } from './shapes/alert.ts'

/**
 * Alerts with the silence or acknowledgement that keeps them from being sent now: an acknowledgement that has run out
 * is none.
 */
export function withMarks(alerts: readonly OpenAlert[], silences: readonly Silence[], now: number): OpenAlert[] {
  return alerts.map(({ acknowledged, ...alert }) => {
    const { hubId, hubDomain = '' } = alert
    const silence = silenceOf(silences, { ...alert, ...(hubId === null ? {} : { account: { hubId, hubDomain } }) }, now)
    return {
      ...alert,
      ...(acknowledged === undefined || Date.parse(acknowledged.until) <= now ? {} : { acknowledged }),
      ...(silence === undefined ? {} : { silencedBy: silence.id }),
    }
  })
}

interface Marked {
  acknowledged?: object
  silencedBy?: string
}

/** Someone knows of it already, or asked for silence; of an alert with its marks. */
export function isHandled({ acknowledged, silencedBy }: Marked): boolean {
  return acknowledged !== undefined || silencedBy !== undefined
}

/** The one to name of a list: what no operator has handled, and critical, first; else by the list's own order. */
export function worstAlert<T extends Marked & Pick<OpenAlert, 'level'>>(alerts: readonly T[]): T | undefined {
  const rank = (alert: T) => Number(isHandled(alert)) * 2 + Number(alert.level === 'warning')
  return alerts.toSorted((a, b) => rank(a) - rank(b))[0]
}

type Mark = 'acknowledged' | 'silenced'

/** The reason why an alert is not sent, by its stored state. */
function markOf(open: OpenState, silences: readonly Silence[], now: number): Mark | undefined {
  if (currentAcknowledgement(open.state, now) !== undefined) return 'acknowledged'
  return silenceOf(silences, silenceable(open), now) && 'silenced'
}

export function isHandledState(open: OpenState, silences: readonly Silence[], now: number): boolean {
  return markOf(open, silences, now) !== undefined
}

/** An open alert of the account. */
export interface JudgedAlert {
  field: string
  level: AlertLevel
  /** Acknowledged or silenced: it makes nothing worse. */
  isHandled: boolean
  mark?: Mark | undefined
  /** For people. */
  title?: string
}

export function judgedStates(states: readonly OpenState[], silences: readonly Silence[], now: number): JudgedAlert[] {
  return states.map((open) => {
    const mark = markOf(open, silences, now)
    return { field: open.field, level: open.state.level, isHandled: mark !== undefined, mark }
  })
}

/** How many open alerts each silence means, by its id. */
export async function countCovered(
  { store, keys, registry }: { store: Store; keys: Keys; registry: Registry },
  silences: readonly Silence[],
): Promise<Map<string, number>> {
  const counts = new Map(silences.map(({ id }) => [id, 0]))
  if (silences.length === 0) return counts
  for await (const some of readOpenStates(store, keys, await registry.alerting())) {
    const alerts = some.map(silenceable)
    for (const silence of silences) {
      const covered = alerts.filter((alert) => covers(silence, alert)).length
      counts.set(silence.id, (counts.get(silence.id) ?? 0) + covered)
    }
  }
  return counts
}

/** Matchers of one account that no account has for a name. */
export async function unknownAccounts(
  { store, keys }: { store: Store; keys: Keys },
  matchers: readonly Matcher[],
): Promise<string[]> {
  const names = matchers
    .filter(({ name, value }) => name === 'account' && !value.includes('*'))
    .map(({ value }) => value)
  const known = await Promise.all(
    names.map(async (name) =>
      /^\d+$/.test(name)
        ? (await store.hget(keys.account(Number(name)).account, 'state')) !== null
        : (await findAccount({ store, keys }, name.toLowerCase())).is !== 'unknown',
    ),
  )
  return names.filter((_, n) => known[n] === false)
}

/** A silence as pages and programs show it. Times in ISO 8601. */
export type SilenceView = SilenceShape

export async function silenceViews(
  deps: Parameters<typeof countCovered>[0],
  silences: readonly Silence[],
  now: number,
): Promise<SilenceView[]> {
  const counts = await countCovered(deps, silences)
  return silences.map((silence) => viewOf(silence, counts.get(silence.id) ?? 0, now))
}

export async function silenceView(
  deps: Parameters<typeof countCovered>[0],
  silence: Silence,
  now: number,
): Promise<SilenceView> {
  return viewOf(silence, (await countCovered(deps, [silence])).get(silence.id) ?? 0, now)
}

function viewOf(silence: Silence, openAlerts: number, now: number): SilenceView {
  const { id, matchers, author, comment, createdAt, startsAt = createdAt, endsAt } = silence
  return {
    id,
    match: matchersText(matchers),
    matchers: matchers.map(({ name, value }) => ({ name, value })),
    author,
    comment,
    createdAt: new Date(createdAt).toISOString(),
    startsAt: new Date(startsAt).toISOString(),
    endsAt: new Date(endsAt).toISOString(),
    active: isInForce(silence, now),
    openAlerts,
  }
}
