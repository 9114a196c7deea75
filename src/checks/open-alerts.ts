import { alertTitle } from '../alerts/alert-title.ts'
import type { FleetTrouble } from '../alerts/kinds/fleet-alert.ts'
import { cleanText } from '../text/clean-text.ts'
import { accountText, alertsText, worstText } from '../views/alert-texts.ts'
import type { Check, Trouble } from './check.ts'
import { isFailing } from './token-endpoint.ts'

const VERB: Record<FleetTrouble, string> = {
  'token-endpoint': 'Check refreshes',
  provider: 'Check HubSpot',
  coverage: 'Check polls',
  calls: 'Check failed calls',
  data: 'Check Redis',
}

/** Alerts about all accounts: they come before those of single accounts. */
export const fleetAlerts: Check = {
  name: 'fleet-alerts',
  of: 'accounts',
  judge: (facts) =>
    facts.alerts.worst
      .filter(
        ({ kind, field }) =>
          kind === 'fleet' && !(isFailing(facts) && (field === 'token-endpoint' || field === 'provider')),
      )
      .map(({ id, level, field, ...alert }) => {
        const verb = VERB[field as FleetTrouble] ?? 'Check'
        const says = `All accounts: ${alertTitle({ level, field, ...alert })}`
        return { level, verb, says, of: { is: 'alert', id }, since: alert.since }
      }),
}

/** Alerts that no operator has handled, level by level, without those of earlier checks. */
export const openAlerts: Check = {
  name: 'alerts',
  of: 'accounts',
  judge: ({ alerts, unnamed }, found) =>
    (['critical', 'warning'] as const).flatMap((level): Trouble[] => {
      const count = alerts[level]
      const worst = unnamed[level] ?? alerts.worst.find((alert) => alert.level === level)
      if (count === 0 || (unnamed[level] === undefined && found.some((one) => one.level === level))) return []
      const example = worst === undefined ? '' : `; worst: ${accountText(worst)}, ${worstText(worst)}`
      const says = `${alertsText(level, count)}${example}`
      return [{ level, verb: 'Review', says: cleanText(says, 300), of: { is: 'alerts', level }, since: worst?.since }]
    }),
}
