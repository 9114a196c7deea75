import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Route } from './route.ts'
import type { SilenceStore } from './silence-store.ts'

/** Services on the way of an alert from the outbox into messages. */
export interface AlertsDeps {
  store: Store
  keys: Keys
  routes: readonly Route[]
  /** Names of all receivers. */
  receivers: readonly string[]
  silences: Pick<SilenceStore, 'active'>
  group: GroupSettings
  /** Fingerprints of the config of this daemon, and of those of others that run. Default: all have one. */
  configs?: () => Promise<{ own: string; others: readonly string[] }>
  log: Logger
}

export type GroupBy = 'rule' | 'account' | 'level' | 'kind'

export interface GroupSettings {
  by: readonly GroupBy[]
  waitMs: number
  intervalMs: number
  /** The most alerts that one message shows. */
  max: number
  /** Receivers that send to each account's own contact. Default: none. */
  contacts?: readonly string[]
  /** Receivers that take each alert alone. Default: none. */
  perAlert?: readonly string[]
}
