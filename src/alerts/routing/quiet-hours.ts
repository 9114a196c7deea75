import type { Alert } from '../alert.ts'
import type { Route } from './route.ts'

/** Until when the route of an alert is quiet, ms. Routes have no quiet hours yet. */
export function quietUntil(_routes: readonly Route[], _alert: Alert, _now: number): number | undefined {
  return undefined
}
