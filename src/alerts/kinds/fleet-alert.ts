import type { COVERAGE } from '../../limits/coverage.ts'
import { type AlertWrites, NO_ALERT_WRITES, NOBODY } from '../../redis/steps.ts'
import type { FleetAnnouncer } from '../../tokens/endpoint/announce-troubles.ts'
import type { EndpointTrouble } from '../../tokens/endpoint/state.ts'
import type { Alert } from '../alert.ts'
import { decodeState, encodeState, openedState, toldState, transitionId } from '../alert-state.ts'
import { encodeEntry } from '../outbox/outbox-entry.ts'
import type { SeriesState } from '../series-state.ts'

/** Each room knows its own troubles; here they are all of one kind, each under its own field of the fleet's alerts. */
export type FleetTrouble = EndpointTrouble | typeof COVERAGE

export interface FleetAlertSettings {
  /** How often a trouble that lasts is told again, ms. */
  repeatEveryMs: number
  /** The status page: an alert links to it. */
  page: string
}

/** A `FleetAnnouncer` for the troubles of all rooms. */
export interface FleetAlerts {
  fleet(
    trouble: FleetTrouble,
    is: 'firing' | 'over',
    before: string,
    message: string,
    now: number,
  ): ReturnType<FleetAnnouncer['fleet']>
}

/** The alert about what keeps all accounts from being refreshed, or read: told when it begins, now and then, and when it is over. */
export function fleetAnnouncer({ repeatEveryMs, page }: FleetAlertSettings): FleetAlerts {
  return {
    fleet: (trouble, is, stored, message, now) => {
      const before = stored === '' ? undefined : decodeState(stored)
      if (is === 'over') {
        if (before === undefined) return { writes: NO_ALERT_WRITES, stored }
        const alert = fleetAlert(trouble, toldState(before, now), 'recovered', message, now, page)
        return { writes: fleetWrites(trouble, stored, '', alert), stored: '' }
      }
      if (before !== undefined && now - (before.toldAt ?? 0) < repeatEveryMs) {
        return { writes: NO_ALERT_WRITES, stored }
      }
      const state = before === undefined ? openedState('critical', 'fleet', now) : toldState(before, now)
      const after = encodeState(state)
      const alert = fleetAlert(trouble, state, before === undefined ? 'entered' : 'repeat', message, now, page)
      return { writes: fleetWrites(trouble, stored, after, alert), stored: after }
    },
  }
}

function fleetAlert(
  trouble: FleetTrouble,
  state: SeriesState,
  reason: 'entered' | 'repeat' | 'recovered',
  message: string,
  now: number,
  url: string,
): Alert {
  return {
    id: transitionId(NOBODY, trouble, state),
    kind: 'fleet',
    status: reason === 'recovered' ? 'resolved' : 'firing',
    level: 'critical',
    reason,
    rule: 'fleet',
    measuredAt: new Date(now).toISOString(),
    since: new Date(state.since).toISOString(),
    message,
    url,
  }
}

function fleetWrites(trouble: FleetTrouble, before: string, after: string, alert: Alert): AlertWrites {
  return { changes: [[trouble, before, after]], entries: [encodeEntry({ alert })] }
}
