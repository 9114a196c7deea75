import { type AlertWrites, NO_ALERT_WRITES } from '../../redis/steps.ts'
import type { EndpointState, EndpointTrouble } from './state.ts'
import { describeRecovery, describeRightClock, describeSkew, describeTrouble, SKEW_LIMIT_MS } from './trouble.ts'

/** What the alerts room says when the fleet as a whole is in trouble, or no longer. */
export interface FleetAnnouncer {
  /** `before` is the alert's state as stored; `stored` what it is from now on. */
  fleet(
    trouble: EndpointTrouble,
    is: 'firing' | 'over',
    before: string,
    message: string,
    now: number,
  ): { writes: AlertWrites; stored: string }
}

/** What is to be told of a new state, and the state with what was told. */
export function announceTroubles(
  announce: FleetAnnouncer,
  before: EndpointState,
  state: EndpointState,
  now: number,
): { state: EndpointState; writes: AlertWrites } {
  const { breaker, skewMs } = state
  const alerts = { ...state.alerts }
  const all: AlertWrites = { changes: [], entries: [] }
  const say = (trouble: EndpointTrouble, firing: boolean, message: string) => {
    const said = announce.fleet(trouble, firing ? 'firing' : 'over', alerts[trouble], message, now)
    alerts[trouble] = said.stored
    all.changes.push(...said.writes.changes)
    all.entries.push(...said.writes.entries)
  }
  if (breaker.is === 'open') say('token-endpoint', true, describeTrouble(breaker))
  if (breaker.is === 'closed' && alerts['token-endpoint'] !== '') {
    say('token-endpoint', false, describeRecovery(before.breaker.since, now))
  }
  if (skewMs !== null && Math.abs(skewMs) >= SKEW_LIMIT_MS) say('clock', true, describeSkew(skewMs))
  if (skewMs !== null && Math.abs(skewMs) < SKEW_LIMIT_MS / 2 && alerts.clock !== '') {
    say('clock', false, describeRightClock())
  }
  return { state: { ...state, alerts }, writes: all.changes.length === 0 ? NO_ALERT_WRITES : all }
}
