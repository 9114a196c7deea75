import { alertOfCause, firstExpiry, TO_DO } from '../alerts/kinds/fleet-alert.ts'
import { formatSpan } from '../text/format-number.ts'
import type { Cause } from '../tokens/endpoint/breaker.ts'
import { endpointTrouble } from '../views/fleet-health.ts'
import { type Check, NOWHERE } from './check.ts'
import type { FleetFacts } from './facts.ts'
import { OVERDUE_REFRESH_MS } from './facts.ts'

const VERB: Record<Cause, string> = {
  credentials: 'Fix the secret',
  refused: 'Check the app',
  unreachable: 'Check the network',
}

export function isFailing({ tokenEndpoint }: Pick<FleetFacts, 'tokenEndpoint'>): boolean {
  return tokenEndpoint !== null && tokenEndpoint.breaker !== 'closed'
}

/** A trouble as long as it lasts, also where an operator knows of it; the heartbeat waits a while. */
export const tokenEndpoint: Check = {
  name: 'token-endpoint',
  of: 'fleet',
  judge(facts) {
    const { now, tokenEndpoint, nearestExpiryAt, announced, handled } = facts
    if (tokenEndpoint === null || !isFailing(facts)) return []
    const { breaker, since } = tokenEndpoint
    const what = breaker === 'open' ? "No account's tokens can be refreshed" : 'Tokens are refreshed again, slowly'
    const first = nearestExpiryAt === null ? '' : `, ${firstExpiry(nearestExpiryAt, now)}`
    const cause = tokenEndpoint.cause ?? 'unreachable'
    const field = alertOfCause(cause)
    const isKnown = handled.has(field)
    const id = announced.get(field)
    const troubledMs = now - Date.parse(since ?? '')
    const says = `${what} (${endpointTrouble(tokenEndpoint)})${first}${isKnown ? ', acknowledged or silenced' : ''}`
    const fix = TO_DO[cause]
    const isLong = breaker === 'open' && troubledMs > OVERDUE_REFRESH_MS
    return [
      {
        level: isKnown || breaker === 'half-open' ? 'warning' : 'critical',
        verb: VERB[cause],
        says,
        of: id === undefined ? NOWHERE : { is: 'alert', id },
        fix,
        ...(isLong && { outside: `${says}, for ${formatSpan(troubledMs)} now. ${fix}` }),
      },
    ]
  },
}
