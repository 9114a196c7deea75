import { packPoll } from '../../src/limits/findings.ts'
import { forecastAccount } from '../../src/limits/forecast/forecast-account.ts'
import { History } from '../../src/limits/history/history.ts'
import { mergeSamples } from '../../src/limits/samples.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { commitPoll } from '../support/committed-poll.ts'
import { accountOf } from './accounts.ts'
import { FIRST_HUB_ID } from './fleet-of-accounts.ts'
import { monthOf } from './month.ts'
import { quietReports } from './quiet-reports.ts'

const MONTH_MS = 30 * 86_400_000

/**
 * Gives the first account of a fleet the month behind it that P7 makes up, of the series that the quiet provider reports.
 * Its next poll finds them changed, and adds a record. Returns how many it has until then.
 */
export async function liveAMonth(store: Store, keys: Keys, pairs: readonly string[]): Promise<number> {
  const { customProperties, associations } = quietReports()
  const account = {
    ...accountOf(FIRST_HUB_ID),
    ...{ customProperties, associations: Object.fromEntries(pairs.map((pair) => [pair, associations])) },
  }
  const now = Date.now()
  const { records, last, readings } = monthOf(account, now - MONTH_MS)
  await store.rpush(keys.account(FIRST_HUB_ID).history, ...records)
  const done = await commitPoll(store, keys, FIRST_HUB_ID, last.at, () => ({
    ...{ nextAt: now + MONTH_MS, readings: packPoll(readings, undefined).readings },
    watch: { changedAt: last.at, records: { readAt: last.at, until: last.at + MONTH_MS } },
    more: { alerts: NO_ALERT_WRITES, samples: mergeSamples({}, last, { records: 'full', keepMs: MONTH_MS }) },
  }))
  if (done !== 'committed') throw new Error(`a month was not stored: ${done}`)
  await forecastAccount({ store, keys, history: new History(store, keys) }, FIRST_HUB_ID, now)
  return records.length
}
