import type { COVERAGE } from '../../limits/coverage.ts'
import type { DATA } from '../../redis/data-trouble.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../../redis/steps.ts'
import { closeAlert, isDueAgain, openState, type ToldSubject, tellAlert } from './told-alert.ts'

/** Each room knows its own troubles; here they are all of one kind, each under its own field of the fleet's alerts. */
export type FleetTrouble = 'token-endpoint' | 'clock' | typeof COVERAGE | typeof DATA

export interface FleetAlertSettings {
  /** How often a trouble that lasts is told again, ms. */
  repeatEveryMs: number
  /** The status page: an alert links to it. */
  page: string
}

/** `stored`: the state of the alert about the trouble, as stored. */
export interface FleetAlerts {
  fleet(trouble: FleetTrouble, is: 'firing' | 'over', stored: string, message: string, now: number): AlertWrites
}

/** The alert about what keeps all accounts from being refreshed, or read: told when it begins, now and then, and when it is over. */
export function fleetAnnouncer({ repeatEveryMs, page }: FleetAlertSettings): FleetAlerts {
  return {
    fleet: (trouble, is, stored, message, now) => {
      const subject: ToldSubject = { kind: 'fleet', field: trouble, stored, url: page, now }
      if (is === 'over') return closeAlert(subject, message)
      const before = openState(subject)
      if (before !== undefined && !isDueAgain(before, now, repeatEveryMs)) return NO_ALERT_WRITES
      return tellAlert(subject, { level: 'critical', message })
    },
  }
}
