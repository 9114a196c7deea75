import type { COVERAGE } from '../../limits/coverage.ts'
import type { DATA } from '../../redis/data-trouble.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../../redis/steps.ts'
import type { FleetAnnouncer } from '../../tokens/endpoint/announce-troubles.ts'
import type { EndpointTrouble } from '../../tokens/endpoint/state.ts'
import { closeAlert, isDueAgain, openState, type ToldSubject, tellAlert } from './told-alert.ts'

/** Each room knows its own troubles; here they are all of one kind, each under its own field of the fleet's alerts. */
export type FleetTrouble = EndpointTrouble | typeof COVERAGE | typeof DATA

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
      const subject: ToldSubject = { kind: 'fleet', field: trouble, stored, url: page, now }
      if (is === 'over') return withStored(stored, closeAlert(subject, message))
      const before = openState(subject)
      if (before !== undefined && !isDueAgain(before, now, repeatEveryMs)) return withStored(stored, NO_ALERT_WRITES)
      return withStored(stored, tellAlert(subject, { level: 'critical', message }))
    },
  }
}

/** With the alert's state from now on. */
function withStored(before: string, writes: AlertWrites): { writes: AlertWrites; stored: string } {
  const [change] = writes.changes
  return { writes, stored: change === undefined ? before : change[2] }
}
