import type { OpenAlert } from '../alerts/open-alerts.ts'
import type { AccountAlerts } from './find-alerts.ts'
import type { AccountAlertsShape, AcknowledgementShape, OpenAlertShape } from './shapes/alert.ts'

/** An open alert as pages and programs are told of it: times in ISO 8601. */
export type TimedAlert = OpenAlertShape

export function timedAlert({ acknowledged, ...alert }: OpenAlert): TimedAlert {
  return {
    ...alert,
    since: new Date(alert.since).toISOString(),
    ...(acknowledged === undefined ? {} : { acknowledged: timedAcknowledgement(acknowledged) }),
  }
}

export function timedAcknowledgement(given: NonNullable<OpenAlert['acknowledged']>): AcknowledgementShape {
  const { at, by, comment, until } = given
  return {
    ...{ at: new Date(at).toISOString(), by },
    ...(comment === undefined ? {} : { comment }),
    until: new Date(until).toISOString(),
  }
}

export function accountAlertsJson(
  { hubId, hubDomain, counts, alerts }: AccountAlerts,
  most: number,
): AccountAlertsShape {
  return { hubId, hubDomain, ...counts, alerts: alerts.slice(0, most).map(timedAlert) }
}
