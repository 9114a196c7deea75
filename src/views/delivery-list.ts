import type { Alert } from '../alerts/alert.ts'
import type { Deliveries, DeliveryHead, LoggedAttempt } from '../delivery/deliveries.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { readTransitions } from './alert-log.ts'

/** What a delivery is about: the first of its alerts, and how many more there are. */
export interface Carried {
  alerts: Alert[]
  more: number
}

export interface AttemptFilter {
  receiver?: string | undefined
  outcome?: string | undefined
}

/** Attempts that the log keeps at most. */
const ALL_ATTEMPTS = 10_000
/** Named of each delivery. */
const MOST_NAMED = 3

/** The newest attempts that fit. */
export async function findAttempts(
  deliveries: Deliveries,
  { receiver, outcome }: AttemptFilter,
  most: number,
): Promise<LoggedAttempt[]> {
  const isNarrowed = receiver !== undefined || outcome !== undefined
  const log = await deliveries.log(isNarrowed ? ALL_ATTEMPTS : most)
  return log
    .filter((one) => receiver === undefined || one.receiver === receiver)
    .filter((one) => outcome === undefined || one.outcome === outcome)
    .slice(0, most)
}

/** What each delivery carries, by its id. One that carries nothing is a test. */
export async function carriedBy(
  deps: { store: Store; keys: Keys; deliveries: Deliveries },
  ids: readonly string[],
): Promise<Map<string, Carried>> {
  const heads = await Promise.all([...new Set(ids)].map((id) => deps.deliveries.head(id)))
  const known = heads.filter((head): head is DeliveryHead => head !== undefined)
  const named = known.flatMap(({ transitions }) => transitions.slice(0, MOST_NAMED))
  const alerts = await readTransitions(deps, named)
  return new Map(
    known.map(({ id, transitions }) => {
      const first = transitions.slice(0, MOST_NAMED).flatMap((ref) => alerts.get(ref) ?? [])
      return [id, { alerts: first, more: transitions.length - first.length }]
    }),
  )
}
