import { firstExpiry } from '../alerts/kinds/fleet-alert.ts'
import { alertOfCause } from '../alerts/kinds/fleet-causes.ts'
import { countOf, formatSpan } from '../text/format-number.ts'
import type { Cause } from '../tokens/endpoint/breaker.ts'
import { endpointTrouble } from '../views/fleet-health.ts'
import { type Check, NOWHERE } from './check.ts'
import type { FleetFacts } from './facts.ts'
import { OVERDUE_REFRESH_MS } from './facts.ts'

const VERB: Record<Cause, string> = {
  credentials: 'Fix the secret',
  refused: 'Check the app',
  unreachable: 'Check the network',
  throttled: 'Wait',
}

export function isFailing({ tokenEndpoint }: Pick<FleetFacts, 'tokenEndpoint'>): boolean {
  return tokenEndpoint !== null && tokenEndpoint.breaker !== 'closed'
}

/** A trouble as long as it lasts, also where an operator knows of it; the heartbeat waits a while. */
export const tokenEndpoint: Check = {
  name: 'token-endpoint',
  of: 'fleet',
  judge(facts) {
    const { now, tokenEndpoint, refreshes, nearestExpiryAt, handled } = facts
    if (tokenEndpoint === null || !isFailing(facts)) return []
    const { breaker, since } = tokenEndpoint
    const who = `${refreshes.kept === 1 ? '' : 'All '}${countOf(refreshes.kept, 'account')}`
    const what = breaker === 'open' ? "tokens can't be refreshed" : 'tokens are refreshed again, slowly'
    const first = nearestExpiryAt === null ? '' : `, ${firstExpiry(nearestExpiryAt, now)}`
    const cause = tokenEndpoint.cause ?? 'unreachable'
    const isKnown = handled.has(alertOfCause(cause))
    const troubledMs = now - Date.parse(since ?? '')
    const says = `${who}: ${what} (${endpointTrouble(tokenEndpoint)})${first}${isKnown ? ', acknowledged or silenced' : ''}`
    const fix = "See plimsoll status, and the provider's status page."
    const isLong = breaker === 'open' && troubledMs > OVERDUE_REFRESH_MS
    return [
      {
        level: isKnown || breaker === 'half-open' ? 'warning' : 'critical',
        verb: VERB[cause],
        says,
        of: NOWHERE,
        fix,
        ...(isLong && { outside: `${says}, for ${formatSpan(troubledMs)} now. ${fix}` }),
      },
    ]
  },
}
