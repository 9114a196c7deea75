import { outlookOf } from '../limits/forecast/outlook.ts'
import type { AccountForecasts } from '../limits/forecast/stored-forecasts.ts'
import { loadForecasts, loadReadings } from '../limits/load-readings.ts'
import { type Readings, readAt } from '../limits/readings.ts'
import { parseSeriesId, type Series, seriesById } from '../limits/series.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { defined } from '../runtime/defined.ts'
import { isoOf } from '../text/format-time.ts'
import type { Alert } from './alert.ts'
import { transitionOf } from './alert-state.ts'
import { alertTitle } from './alert-title.ts'
import { daysLeftOf, thresholdOf } from './evaluation/decide.ts'
import { sentBucket } from './evaluation/judge-bucket.ts'
import { levelOf, type Rule, ruleFor } from './evaluation/rules.ts'
import { type OpenState, openStatesIn, type StoredAlerts, storedStates } from './open-alerts.ts'
import { seriesFields } from './series-name.ts'

export interface OpenAlertSettings {
  rules: readonly Rule[]
  pageOf: (hubId: number) => string
  /** Address of the status page, for alerts of no account. */
  page: string
}

/** An account as it is, with what is stored of its alerts. */
export interface AlertedAccount extends StoredAlerts {
  readings: Readings | undefined
  forecasts: AccountForecasts | undefined
}

/** Accounts with alerts as Redis holds them; what can't be read of one is missing, and holds up no other. */
export function readAlertedAccounts(store: Store, keys: Keys, hubIds: readonly number[]): Promise<AlertedAccount[]> {
  return Promise.all(
    hubIds.map(async (hubId) => {
      const [hubDomain, states, readings, forecasts] = await Promise.all([
        store.hget(keys.account(hubId).account, 'hubDomain'),
        storedStates(store, keys, hubId),
        loadReadings(store, keys, hubId),
        loadForecasts(store, keys, hubId),
      ])
      return { hubId, hubDomain: hubDomain ?? '', states, readings, forecasts }
    }),
  )
}

/**
 * The open alerts of an account as messages have them, with the numbers as they are now: for messages that repeat what is
 * open. Each has the id of its last transition: nothing new has happened.
 */
export function openAlertMessages(settings: OpenAlertSettings, account: AlertedAccount, now: number): Alert[] {
  const { hubId, hubDomain, readings } = account
  const owner = hubId === NO_ACCOUNT ? undefined : { hubId, hubDomain }
  const url = hubId === NO_ACCOUNT ? settings.page : settings.pageOf(hubId)
  const numbers = seriesById(readings)
  return openStatesIn(account).map((open) => {
    const { field, state } = open
    const alert = transitionOf(owner, field, state, { level: state.level, reason: 'repeat', at: state.sentAt, url })
    if (parseSeriesId(field) === undefined) return { ...alert, message: `${alertTitle({ ...alert, field })}.` }
    return { ...alert, ...bodyOf(settings, account, open, numbers.get(field) ?? sentBucket(field, state), now) }
  })
}

function bodyOf(
  { rules }: OpenAlertSettings,
  account: AlertedAccount,
  { field, state }: OpenState,
  series: Series | undefined,
  now: number,
): Partial<Alert> {
  if (series === undefined) return defined({ series: parseSeriesId(field) })
  const rule = ruleFor(rules, account, series)
  const threshold = thresholdOf(levelOf(rule, state.level, series))
  const at = account.readings === undefined ? undefined : readAt(series, account.readings)
  return {
    ...seriesFields(series),
    ...daysLeftOf(outlookOf(series, account.forecasts, now)),
    ...defined({ threshold, measuredAt: at === undefined ? undefined : isoOf(at) }),
  }
}
