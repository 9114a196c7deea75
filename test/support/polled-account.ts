import type { Alert } from '../../src/alerts/alert.ts'
import { statesAfter } from '../../src/alerts/evaluation/boundaries.ts'
import { type AlertSettings, decideAlerts } from '../../src/alerts/evaluation/decide.ts'
import { decodeEntry } from '../../src/alerts/outbox.ts'
import { decodeForecasts } from '../../src/limits/forecast/stored-forecasts.ts'
import { changeBetween } from '../../src/limits/history/change.ts'
import type { Readings } from '../../src/limits/readings.ts'
import { StoredReadings } from '../../src/limits/stored-readings.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { commitPoll } from './committed-poll.ts'

/**
 * One poll that read this, decided and committed as the job does it: readings, history, states, outbox. Resolves with what
 * it told.
 */
export async function pollAndTell(
  store: Store,
  keys: Keys,
  settings: AlertSettings,
  hubId: number,
  at: number,
  readings: Readings,
  everyMs = Number.POSITIVE_INFINITY,
): Promise<{ alert: Alert; firstReading?: true }[]> {
  let alerts = NO_ALERT_WRITES
  const committed = await commitPoll(store, keys, hubId, at, (account) => {
    const { hubDomain, alertStates: states, state } = account
    const before = state.readings.all
    const forecasts = decodeForecasts(account.forecasts)
    alerts = decideAlerts(settings, { hubId, hubDomain, before, after: readings, samples: {}, forecasts, states }, at)
    const hasAlerts = Object.keys(statesAfter(states, alerts)).length > 0
    return {
      state: { readings: StoredReadings.of(readings, at), hasAlerts },
      more: { alerts, change: changeBetween(before, readings, at, 2 * everyMs) },
    }
  })
  if (committed !== 'committed') throw new Error(`the poll of account ${hubId} is ${committed}`)
  return alerts.entries.map(decodeEntry)
}
