import type { Tags } from '../../accounts/match-account.ts'
import type { Directory } from '../../accounts/search/directory.ts'
import type { SilenceStore } from '../../alerts/silence-store.ts'
import type { KeptSamples } from '../../limits/samples.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { AccountHistoryDeps } from '../../views/account-history.ts'
import type { ExplainSettings } from '../../views/explain-account.ts'
import type { FleetStatusDeps } from '../../views/fleet-status.ts'
import type { Actions } from '../actions.ts'

/** What the routes of the API read from, and what they may ask for. */
export interface ApiDeps extends FleetStatusDeps, AccountHistoryDeps {
  directory: Directory
  samples: KeptSamples
  silences: SilenceStore
  explain: ExplainSettings
  tags: Tags
  /** Names of all receivers of the config. */
  receivers: readonly string[]
  actions: Actions
  /** Where people reach this server. */
  publicUrl: string
  metrics: Metrics
  log: Logger
}
