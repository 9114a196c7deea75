import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { Alert } from './alert.ts'

/** Alerts that name records, with the data center of their account where it is known: links to records lead there. */
export function withHublets(store: Store, keys: Keys, alerts: readonly Alert[]): Promise<Alert[]> {
  return Promise.all(
    alerts.map(async (alert) => {
      const { account, records } = alert
      if (account === undefined || records === undefined || records.items.length === 0) return alert
      const hublet = await store.hget(keys.account(account.hubId).account, 'hublet')
      return hublet === null ? alert : { ...alert, account: { ...account, hublet } }
    }),
  )
}
