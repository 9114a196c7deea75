import type { Alert, AlertKind, AlertLevel } from './alert.ts'
import { fits, isAccount } from './rules.ts'

export interface Route {
  match?:
    | {
        level?: readonly AlertLevel[] | undefined
        kind?: readonly AlertKind[] | undefined
        rule?: readonly string[] | undefined
        account?: readonly string[] | undefined
      }
    | undefined
  /** Names of receivers. */
  to: readonly string[]
}

/** Whom an alert is for: the first route that matches decides. Nobody, where none does. */
export function receiversOf(routes: readonly Route[], alert: Alert): readonly string[] {
  return routes.find((route) => matches(route.match, alert))?.to ?? []
}

function matches(match: Route['match'], alert: Alert): boolean {
  if (match === undefined) return true
  return (
    (match.level?.includes(alert.level) ?? true) &&
    (match.kind?.includes(alert.kind) ?? true) &&
    (match.rule?.some((wanted) => fits(wanted, alert.rule)) ?? true) &&
    (match.account?.some((wanted) => alert.account !== undefined && isAccount(wanted, alert.account)) ?? true)
  )
}
