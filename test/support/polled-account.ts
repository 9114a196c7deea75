import type { Alert } from '../../src/alerts/alert.ts'
import { type AlertSettings, decideAlerts } from '../../src/alerts/evaluation/decide.ts'
import { decodeEntry } from '../../src/alerts/outbox.ts'
import { packPoll } from '../../src/limits/findings.ts'
import { changeBetween } from '../../src/limits/history/change.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import type { Readings } from '../../src/limits/readings.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'

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
  const polls = new PollStore(store, keys)
  const context = await polls.read(hubId)
  if (context === undefined) throw new Error(`account ${hubId} is not polled`)
  const { hubDomain, readings: before, alertStates: states, forecasts } = context
  const account = { hubId, hubDomain, before, after: readings, samples: {}, forecasts, states }
  const alerts = decideAlerts(settings, account, at)
  const committed = await polls.commit(hubId, {
    ...{ polls: context.polls, nextAt: at + 900_000, fields: { polledAt: String(at) } },
    ...packPoll(readings, changeBetween(before, readings, at, 2 * everyMs)),
    alerts,
  })
  if (committed !== 'committed') throw new Error(`the poll of account ${hubId} is ${committed}`)
  return alerts.entries.map(decodeEntry)
}
