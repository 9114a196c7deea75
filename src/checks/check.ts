import type { AlertLevel } from '../alerts/alert.ts'
import type { FleetFacts } from './facts.ts'
import type { ProcessFacts } from './process-facts.ts'
import type { Group, StatusFacts } from './status-facts.ts'

/**
 * One thing that Plimsoll is judged by. A process judges itself, and reports what is wrong to the others; the fleet is what
 * all daemons share; accounts are judged together, group by group.
 */
export type Check =
  | { name: string; of: 'process'; judge(facts: ProcessFacts): OwnFinding[] }
  | { name: string; of: 'fleet'; judge(facts: FleetFacts): Trouble[] }
  | { name: string; of: 'accounts'; judge(facts: StatusFacts, found: readonly Trouble[]): Trouble[] }

/** A finding of a process about itself, also where all is well: probes list all of them. */
export interface OwnFinding {
  /** `sweep:alerts`: the check, and which of several. */
  name: string
  level: 'ok' | AlertLevel
  /** May name an account, a receiver, or what Redis answered. */
  says: string
  /** A process that finds this is not alive (a restart may help), or not worth sending requests to. */
  stops?: 'work' | 'requests'
}

/** A trouble of the fleet or its accounts. */
export interface Trouble {
  level: AlertLevel
  /** The remedy in two or three words. */
  verb: string
  /** The trouble, and its place. */
  says: string
  of: TroubleOf
  /** ISO 8601; of an alert, where it is about one. */
  since?: string | undefined
  /** The remedy in a sentence. */
  fix?: string
  /**
   * The heartbeat reports it: in these words, which name no account, or as `says` and `fix`. Absent: it is within bounds, or
   * is not Plimsoll's own.
   */
  outside?: true | string
  /** The heartbeat alone shows it: it counts what another check names account by account. */
  heartbeatOnly?: true
}

/** `check`: its name. */
export type FoundTrouble = Trouble & { check: string }

/** The page that shows a trouble; `nowhere`: the sentence has all there is. */
export type TroubleOf =
  | { is: 'accounts'; group: Group; only?: number }
  | { is: 'alerts'; level: AlertLevel }
  | { is: 'alert'; id: string }
  | { is: 'receiver'; receiver: string }
  | { is: 'nowhere' }

export const critical = (verb: string, says: string, of: TroubleOf): Trouble => ({ level: 'critical', verb, says, of })
export const warning = (verb: string, says: string, of: TroubleOf): Trouble => ({ level: 'warning', verb, says, of })

/** A finding about the process's work: a restart may help. */
export function workFinding(name: string, isWell: boolean, says: string): OwnFinding {
  return { name, level: isWell ? 'ok' : 'critical', says, stops: 'work' }
}

export const NOWHERE: TroubleOf = { is: 'nowhere' }

export const SEE_LOG = "See the daemon's log, and restart it."

export function inSeconds(ms: number): number {
  return Math.max(0, Math.round(ms / 1000))
}
