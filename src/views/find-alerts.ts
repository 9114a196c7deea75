import type { Registry } from '../accounts/registry.ts'
import type { AlertKind, AlertLevel } from '../alerts/alert.ts'
import { lastingAcknowledgement } from '../alerts/alert-state.ts'
import { type OpenAlert, type OpenState, readOpenAlerts, readOpenStates, silenceable } from '../alerts/open-alerts.ts'
import { type Silence, silenceOf } from '../alerts/silences/silence.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NOBODY } from '../redis/steps.ts'
import { withMarks } from './silenced.ts'

/** Which open alerts are wanted; what is left out does not matter. */
export interface AlertFilter {
  level?: AlertLevel | undefined
  kind?: AlertKind | undefined
  /** Part of an account's domain, or of its number. */
  account?: string | undefined
  /** `told`: nothing keeps it from being told; `silenced`, `acknowledged`: that does. */
  mark?: 'told' | 'silenced' | 'acknowledged' | undefined
}

/** Where an alert stands in the list: its place does not move while nothing of it changes. */
export type AlertPlace = readonly [critical: 0 | 1, fleet: 0 | 1, percent: number, since: number, id: string]

export interface FoundAlerts {
  /** Of all that fit but for the level. */
  counts: Record<AlertLevel, number>
  alerts: OpenAlert[]
  /** After which the next page begins; undefined on the last one. */
  next: AlertPlace | undefined
}

interface FindDeps {
  store: Store
  keys: Keys
  registry: Pick<Registry, 'alerting'>
}

/** A page of the open alerts that fit, worst first. The numbers are read only of those that are shown. */
export async function findAlerts(
  deps: FindDeps,
  filter: AlertFilter,
  silences: readonly Silence[],
  page: { after: AlertPlace | undefined; size: number },
  now: number,
): Promise<FoundAlerts> {
  const counts = { warning: 0, critical: 0 }
  const wanted: { hubId: number; place: AlertPlace }[] = []
  for await (const some of readOpenStates(deps.store, deps.keys, await deps.registry.alerting())) {
    for (const open of some.filter((one) => fits(one, filter, silences, now))) {
      counts[open.state.level]++
      if (filter.level === undefined || filter.level === open.state.level)
        wanted.push({ hubId: open.hubId, place: placeOf(open) })
    }
  }
  const { after } = page
  const rest = wanted
    .filter(({ place }) => after === undefined || comparePlaces(place, after) > 0)
    .sort((a, b) => comparePlaces(a.place, b.place))
  const shown = rest.slice(0, page.size)
  return {
    counts,
    alerts: withMarks(await readShown(deps, shown), silences, now),
    next: rest.length > shown.length ? shown.at(-1)?.place : undefined,
  }
}

function fits(open: OpenState, { kind, account, mark }: AlertFilter, silences: readonly Silence[], now: number) {
  const alert = silenceable(open)
  if (kind !== undefined && alert.kind !== kind) return false
  if (account !== undefined && !isAbout(open, account.toLowerCase())) return false
  if (mark === undefined) return true
  const acknowledged = lastingAcknowledgement(open.state, now) !== undefined
  if (mark === 'acknowledged') return acknowledged
  const silenced = silenceOf(silences, alert, now) !== undefined
  return mark === 'silenced' ? silenced : !silenced && !acknowledged
}

function isAbout({ hubId, hubDomain }: OpenState, text: string): boolean {
  return hubId !== NOBODY && (hubDomain.toLowerCase().includes(text) || String(hubId).includes(text))
}

/** By what the last message said: the reading itself is not read for all, and would move the list under one's hands. */
function placeOf({ id, hubId, state: { level, since, said } }: OpenState): AlertPlace {
  const percent = said?.limit === undefined || said.limit === 0 ? 0 : Math.round((said.usage * 100) / said.limit)
  return [level === 'critical' ? 1 : 0, hubId === NOBODY ? 1 : 0, percent, since, id]
}

/** Critical, the whole fleet, the fullest and the newest first. */
export function comparePlaces(a: AlertPlace, b: AlertPlace): number {
  const number = b[0] - a[0] || b[1] - a[1] || b[2] - a[2] || b[3] - a[3]
  return number !== 0 ? number : Number(a[4] > b[4]) - Number(a[4] < b[4])
}

async function readShown(
  { store, keys }: FindDeps,
  shown: readonly { hubId: number; place: AlertPlace }[],
): Promise<OpenAlert[]> {
  const read = await readOpenAlerts(store, keys, [...new Set(shown.map(({ hubId }) => hubId))])
  const byId = new Map(read.map((alert) => [alert.id, alert]))
  return shown.flatMap(({ place }) => byId.get(place[4]) ?? [])
}
