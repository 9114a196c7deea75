import { type AccountMatch, matchesAccount } from '../../accounts/match-account.ts'
import { fits } from '../../text/pattern.ts'
import type { Alert, AlertKind, AlertLevel } from '../alert.ts'
import type { QuietHours } from './quiet-time.ts'

export interface Route {
  match?:
    | (AccountMatch & {
        level?: readonly AlertLevel[] | undefined
        kind?: readonly AlertKind[] | undefined
        rule?: readonly string[] | undefined
      })
    | undefined
  /** Names of receivers. */
  to: readonly string[]
  /** When what the route takes is held back. */
  quiet?: readonly QuietHours[] | undefined
}

/** What a route asks of an alert. */
type Routable = Pick<Alert, 'kind' | 'level' | 'rule' | 'account'>

/** Whom an alert is for: the first route that matches decides. Nobody, where none does. */
export function receiversOf(routes: readonly Route[], alert: Routable): readonly string[] {
  return routeOf(routes, alert)?.to ?? []
}

export function routeOf(routes: readonly Route[], alert: Routable): Route | undefined {
  return routes.find((route) => matches(route.match, alert))
}

function matches(match: Route['match'], alert: Routable): boolean {
  if (match === undefined) return true
  return (
    (match.level?.includes(alert.level) ?? true) &&
    (match.kind?.includes(alert.kind) ?? true) &&
    (match.rule?.some((wanted) => fits(wanted, alert.rule)) ?? true) &&
    (alert.account === undefined ? namesNoAccount(match) : matchesAccount(match, alert.account))
  )
}

/** What concerns no account in particular fits where none is asked for. */
function namesNoAccount({ account, tag }: AccountMatch): boolean {
  return account === undefined && tag === undefined
}
