import type { Alert } from '../alerts/alert.ts'
import type { FleetTrouble } from '../alerts/kinds/fleet-alert.ts'
import type { Fate, TransitionRef } from '../alerts/ledger/ledger.ts'
import type { Silence } from '../alerts/silences/silence.ts'
import type { LoggedAttempt } from '../delivery/deliveries.ts'
import type { CurrentSeries, PlannedAccount } from './account-view.ts'

/** All that is read of an account to say why it was told of, or was not. */
export interface AccountFacts {
  account: PlannedAccount
  series: readonly CurrentSeries[]
  /** States of its alerts as stored, by field. */
  states: Readonly<Record<string, string>>
  /** In force now. */
  silences: readonly Silence[]
  /** Troubles of the whole fleet whose alert is open. */
  fleet: readonly FleetTrouble[]
  /** Its transitions in the alert log, newest first. */
  log: readonly ToldTransition[]
}

/** A transition with what became of it. */
export interface ToldTransition {
  /** As the ledger knows it. */
  ref: TransitionRef
  /** When it was committed, ms. */
  at: number
  /** The field of the state that it changed: a series' id, `token`, `poll`. */
  field: string
  alert: Alert
  /** Where it is: waiting for somebody, told, given up, or withheld from everybody; `unknown`: that is no longer remembered. */
  fate: Fate['is'] | 'unknown'
  /** What it ended by; empty where there is nothing to say. */
  why: string
  /** Who still waits for it, and where. */
  waiting: readonly WaitingFor[]
  attempts: readonly LoggedAttempt[]
}

export interface WaitingFor {
  receiver: string
  where: 'outbox' | 'group' | 'digest' | 'held' | 'delivery'
  /** When that is looked at again, ms. */
  until: number | null
  /** Why it is held back. */
  because?: string
}
