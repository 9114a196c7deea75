import type { Account } from '../../accounts/account.ts'
import type { BegunUninstall } from '../../accounts/uninstall.ts'
import type { AcknowledgeOutcome, SeenAlert } from '../../alerts/acknowledge/acknowledge-alert.ts'
import type { EndedSilence } from '../../alerts/silences/end-silence.ts'
import type { Silence } from '../../alerts/silences/silence.ts'
import type { SilenceStore } from '../../alerts/silences/silence-store.ts'
import type { AttemptOutcome } from '../../delivery/receiver.ts'
import type { KeptSamples } from '../../limits/history/kept-samples.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { AccessTokenAnswer } from '../../tokens/access-token.ts'
import type { AccountHistoryDeps } from '../../views/account-history.ts'
import type { ExplainSettings } from '../../views/explain-account.ts'
import type { FleetStatusDeps } from '../../views/fleet-status.ts'

/** What the routes of the API read from, and what they may ask for. */
export interface ApiDeps extends FleetStatusDeps, AccountHistoryDeps {
  samples: KeptSamples
  silences: SilenceStore
  explain: ExplainSettings
  /** Names of all receivers of the config. */
  receivers: readonly string[]
  actions: ApiActions
  /** Where people reach this server. */
  publicUrl: string
  metrics: Metrics
  log: Logger
}

/** The same steps as the command line takes. */
export interface ApiActions {
  uninstall(hubId: number, reason: string): Promise<BegunUninstall>
  /** Reads the account's limits now; `reason`: why it was not read, or not all of it. */
  poll(hubId: number): Promise<{ account: Account | undefined; reason: string | undefined }>
  /** Refreshes the account's tokens now. */
  refresh(hubId: number): Promise<RefreshedNow>
  /** A valid access token, refreshed if need be on a connection that waits; `to` is who asks. */
  accessToken(hubId: number, to: string): Promise<AccessTokenAnswer>
  silence(silence: Omit<Silence, 'id'>): Promise<Silence>
  unsilence(id: string): Promise<EndedSilence>
  acknowledge(seen: SeenAlert, by: { by: string; comment?: string | undefined }): Promise<AcknowledgeOutcome>
  /** Sends again what was given up since a moment. */
  replay(since: number, receiver: string | undefined): Promise<ReplayedNow>
  /** Sends a test message; undefined: no receiver has this name. */
  testReceiver(name: string): Promise<TestedReceiver | undefined>
}

export type RefreshedNow =
  | { is: 'refreshed'; account: Account }
  | { is: 'unknown' }
  /** `until`: not before, ms. */
  | { is: 'gone' | 'held' | 'planned' | 'closed' | 'failed'; why: string; until?: number }

export type ReplayedNow =
  | { is: 'replayed'; replayed: number; disabled: string[] }
  | { is: 'unknown-receiver'; why: string }

export interface TestedReceiver {
  outcome: AttemptOutcome
  ms: number
  /** `enabled`: it was switched off before; `away`: without a Redis nothing could be noted. */
  noted: 'recorded' | 'enabled' | 'away'
  /** What to do, where it failed. */
  fix: string | undefined
}
