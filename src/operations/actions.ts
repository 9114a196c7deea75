import type { Account, Addressed } from '../accounts/account.ts'
import type { ReadLine } from '../accounts/account-rows.ts'
import type { ConnectedByToken } from '../accounts/connect-account.ts'
import type { ImportOptions, ImportSummary } from '../accounts/import-accounts.ts'
import type { ExportedAccount } from '../accounts/registry.ts'
import type { BegunUninstall } from '../accounts/uninstall.ts'
import type { AcknowledgeOutcome, AlertAtLevel, UnacknowledgeOutcome } from '../alerts/acknowledge.ts'
import type { Silence } from '../alerts/silence.ts'
import type { EndedSilence } from '../alerts/silence-store.ts'
import type { Who } from '../audit/audited.ts'
import type { Replay, Replayed } from '../delivery/deliveries.ts'
import type { AttemptOutcome } from '../delivery/receiver.ts'
import type { ShownMessage } from '../delivery/receivers/receiver-kind.ts'
import type { SampleName } from '../delivery/templates/sample-messages.ts'
import type { Scope } from '../http/access/scopes.ts'
import type { Secret } from '../runtime/secret.ts'
import type { AccessTokenAnswer } from '../tokens/access-token.ts'
import type { Rekeyed, RekeyWatcher } from '../tokens/rekey.ts'
import type { RuleSet } from '../views/view-deps.ts'
import type { FieldFault } from './refusal.ts'

/** Actions of operations and pages, besides reading. Each notes its caller in the audit. */
export interface Actions {
  uninstall(hubId: number, reason: string, who: Who): Promise<BegunUninstall>
  /** The account's own contact; null takes it away. */
  setContact(hubId: number, address: string | null, who: Who): Promise<'changed' | 'unknown'>
  /** Reads the account's limits now; `reason`: why it was not read, or not all of it. */
  poll(hubId: number, who: Who): Promise<{ account: Account | undefined; reason: string | undefined }>
  /** Refreshes the account's tokens now. */
  refresh(hubId: number, who: Who): Promise<RefreshedNow>
  silence(silence: Omit<Silence, 'id'>, who: Who): Promise<Silence>
  unsilence(id: string, who: Who): Promise<EndedSilence>
  acknowledge(
    seen: AlertAtLevel,
    by: { by: string; comment?: string | undefined },
    who: Who,
  ): Promise<AcknowledgeOutcome>
  unacknowledge(seen: Pick<AlertAtLevel, 'id' | 'hubId'>, who: Who): Promise<UnacknowledgeOutcome>
  /** Sends deliveries again that were given up. */
  replay(wanted: Replay, who: Who): Promise<Replayed>
  /** The signed address that connects this account and no other. */
  reconnectLink(hubId: number, who: Who): { url: string; expiresAt: number; noted: Promise<void> }
  /** Address and receiver of a mail with the link to the customer of an account; else why it can't be mailed. */
  reconnectMailTo(account: Addressed): Promise<{ to: string; receiver: string } | { why: string }>
  /** Mails the link to the customer; `to`: their address. */
  mailReconnectLink(
    hubId: number,
    who: Who,
  ): Promise<{ is: 'planned'; to: string } | { is: 'unknown' } | { is: 'refused'; why: string }>
  /** A valid access token, refreshed if need be on a connection that waits. */
  accessToken(hubId: number, who: Who): Promise<AccessTokenAnswer>
  /** Sends a test message; undefined: no receiver has this name. */
  testReceiver(name: string, who: Who): Promise<TestedReceiver | undefined>
  /** The message that the receiver would get about such an alert; undefined: no receiver has this name. */
  showTestMessage(name: string, kind: SampleName): Promise<ShownMessage | undefined>
  /** Takes an account over by its refresh token. */
  connect(refreshToken: Secret, who: Who): Promise<ConnectedByToken>
  importAccounts(lines: AsyncIterable<ReadLine>, options: ImportOptions, who: Who): Promise<ImportSummary>
  /** Every live account, its refresh token sealed. */
  exportAccounts(who: Who, stop: AbortSignal): AsyncIterable<ExportedAccount[]>
  /** Polls accounts that are to be judged, of a check that is noted once; resolves with why one was not read. */
  pollForCheck(hubIds: readonly number[], who: Who): Promise<(hubId: number) => Promise<string | undefined>>
  /** The rules of a config that may come, by the text of its file. Puts nothing in force. */
  planRules(text: string, name: string): PlannedRules
  /** By name. */
  adminTokens(): Promise<KnownAdminToken[]>
  addAdminToken(name: string, scopes: readonly Scope[], who: Who): Promise<Secret | 'taken'>
  removeAdminToken(name: string, who: Who): Promise<RemovedAdminToken>
  /** Encrypts everything anew with the first key. */
  rekey(watcher: RekeyWatcher, who: Who): Promise<Rekeyed>
}

export type PlannedRules =
  /** `inForce`: the file of the config in force. */
  { is: 'rules'; rules: RuleSet; inForce: string } | { is: 'refused'; faults: FieldFault[] }

/** An admin token without all that opens anything. Times are ms, null = never. */
export interface KnownAdminToken {
  name: string
  scopes: readonly Scope[]
  createdAt: number
  lastUsedAt: number | null
  /** False where no key of this installation sealed it: it opens nothing. */
  isOurs: boolean
}

export interface RemovedAdminToken {
  is: 'removed' | 'unknown'
  /** How many named ones open something still. */
  left: number
  /** The token that opens all beside them, for people. */
  opens: string
}

/** Outcome of refreshing an account's tokens now. */
export type RefreshedNow =
  | { is: 'refreshed'; account: Account }
  | { is: 'unknown' }
  /** `until`: not before, ms. */
  | { is: 'gone' | 'held' | 'planned' | 'closed' | 'failed'; why: string; until?: number }

export interface TestedReceiver {
  outcome: AttemptOutcome
  ms: number
  /** `enabled`: it was switched off before; `away`: without a Redis nothing could be noted. */
  noted: 'recorded' | 'enabled' | 'away'
  /** Advice after a failure. */
  fix: string | undefined
}
