import type { Alert } from '../alert.ts'
import { endOfQuietTime } from './quiet-time.ts'
import { type Route, routeOf } from './route.ts'

/** Until when an alert is not told because its route is quiet; undefined where it may be told now. */
export function quietUntil(routes: readonly Route[], alert: Alert, now: number): number | undefined {
  const { quiet = [] } = routeOf(routes, alert) ?? {}
  return endOfQuietTime(quiet, now)
}
