import type { COVERAGE, PROVIDER } from '../../limits/coverage.ts'
import type { DATA } from '../../redis/installation.ts'
import type { Cause } from '../../tokens/endpoint/breaker.ts'
import type { AlertLevel } from '../alert.ts'

/** Each room knows its own troubles; here they are all of one kind, each under its own field of the fleet's alerts. */
export type FleetTrouble = 'token-endpoint' | typeof PROVIDER | 'calls' | typeof COVERAGE | typeof DATA

/** All that is found about the accounts together at one moment. */
export interface FleetFindings {
  /** Why the breaker of the token endpoint is not closed; undefined: it is closed. */
  endpoint: Cause | undefined
  /** Polls of many accounts fail. */
  pollsFail: boolean
  /** Access tokens of accounts are over, because the token endpoint lets too few refreshes through. */
  isThrottled: boolean
  /** Too many accounts have no fresh reading. */
  isStale: boolean
  /** Level of the share of failed calls. */
  calls: AlertLevel | undefined
}

/** `covered`: the alert about the cause speaks for it. */
export type CauseVerdict = 'firing' | 'over' | 'covered'

/**
 * One cause is one alert. Errors and throttling of the token endpoint and polls that fail are all the provider's outage, which ends
 * once none of them is left. Old readings and failed calls are what an outage leaves behind: they open no alert while it lasts.
 */
export function decideFleetAlerts(
  { endpoint, pollsFail, isThrottled, isStale, calls }: FleetFindings,
  open: ReadonlySet<FleetTrouble>,
): Record<'provider' | 'coverage' | 'calls', CauseVerdict> {
  const isOfApp = endpoint !== undefined && alertOfCause(endpoint) === 'token-endpoint'
  // While refreshes are held back for the app's own error, tokens are over because of that.
  const tooFew = isThrottled && (!isOfApp || open.has('provider'))
  const isOutage = (endpoint !== undefined && !isOfApp) || pollsFail || tooFew
  const effect = (isThere: boolean, trouble: FleetTrouble): CauseVerdict => {
    if (!isThere) return 'over'
    return (isOutage || isOfApp) && !open.has(trouble) ? 'covered' : 'firing'
  }
  return {
    provider: isOutage ? 'firing' : 'over',
    coverage: effect(isStale, 'coverage'),
    calls: effect(calls !== undefined, 'calls'),
  }
}

/** The alert about a cause at the token endpoint: the app's own, or the provider's. */
export function alertOfCause(cause: Cause): 'token-endpoint' | 'provider' {
  return cause === 'credentials' || cause === 'refused' ? 'token-endpoint' : 'provider'
}
