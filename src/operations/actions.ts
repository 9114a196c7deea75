import type { Account } from '../accounts/account.ts'
import type { BegunUninstall } from '../accounts/uninstall.ts'
import type { AcknowledgeOutcome, AlertAtLevel, UnacknowledgeOutcome } from '../alerts/acknowledge.ts'
import type { Silence } from '../alerts/silence.ts'
import type { EndedSilence } from '../alerts/silence-store.ts'
import type { Who } from '../audit/audited.ts'
import type { Replay, Replayed } from '../delivery/deliveries.ts'

/** Actions of operations and pages, besides reading. Each notes its caller in the audit. */
export interface Actions {
  uninstall(hubId: number, reason: string, who: Who): Promise<BegunUninstall>
  /** The account's own contact; null takes it away. */
  setContact(hubId: number, address: string | null, who: Who): Promise<'changed' | 'unknown'>
  /** Reads the account's limits now; `reason`: why it was not read, or not all of it. */
  poll(hubId: number, who: Who): Promise<{ account: Account | undefined; reason: string | undefined }>
  /** Refreshes the account's tokens now. */
  refresh(hubId: number, who: Who): Promise<RefreshedAnswer>
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
}

export type RefreshedAnswer =
  | { is: 'refreshed'; account: Account }
  | { is: 'unknown' }
  /** `until`: not before, ms. */
  | { is: 'gone' | 'held' | 'planned' | 'closed' | 'failed'; why: string; until?: number }
