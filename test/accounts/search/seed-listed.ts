import { nameOf } from '../../../src/accounts/search/domains.ts'
import type { Store } from '../../../src/redis/connect.ts'
import type { AccountState, Keys } from '../../../src/redis/keys.ts'

/** As much of an account as a list of them looks at. */
export interface ListedAccount {
  hubId: number
  hubDomain: string
  state: AccountState
  refresh?: number | undefined
  poll?: number | undefined
  nearest?: number | undefined
  readAt?: number | undefined
  /** Of its one alert; `ok`: pending. */
  level?: 'ok' | 'warning' | 'critical' | undefined
}

/** Straight into Redis: thousands a second. */
export async function seedListed(store: Store, keys: Keys, accounts: readonly ListedAccount[]): Promise<void> {
  for (let from = 0; from < accounts.length; from += 5_000) {
    const commands = store.pipeline()
    for (const account of accounts.slice(from, from + 5_000)) {
      const { hubId, hubDomain, state } = account
      const own = keys.account(hubId)
      const { due, fresh, nearest, alerting, state: lists } = keys
      commands.hset(own.account, { state, hubDomain, connectedAt: 1, version: 1 })
      commands.zadd(lists[state], hubId, hubId)
      commands.zadd(keys.domains, 0, nameOf({ hubId, domain: hubDomain.toLowerCase() }))
      if (account.refresh !== undefined) commands.zadd(due.refresh, account.refresh, hubId)
      if (account.poll !== undefined) commands.zadd(due.poll, account.poll, hubId)
      if (account.nearest !== undefined) commands.zadd(nearest, account.nearest, hubId)
      if (account.readAt !== undefined) commands.zadd(fresh, account.readAt, hubId)
      if (account.level === undefined) continue
      commands.sadd(alerting, hubId)
      commands.hset(
        own.alerts,
        'overall',
        JSON.stringify({ level: account.level, rule: 'a rule', since: 1, transitions: 1, sentAt: 1 }),
      )
    }
    await commands.exec()
  }
}
