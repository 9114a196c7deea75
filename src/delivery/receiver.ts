import { createHash } from 'node:crypto'
import type { Alert, Message } from '../alerts/alert.ts'

/**
 * The address of the customer that a message about one account is for, at the moment of sending; else why there is none. `asksFor`: the
 * kind of the alert for which the customer is asked to connect again.
 */
export type AddresseeOf = (
  hubId: number,
  asksFor: Alert['kind'] | undefined,
) => Promise<{ is: 'found'; address: string } | { is: 'none'; why: string }>

/** One attempt to deliver one message. */
export interface OutgoingDelivery {
  /** The same on every attempt, so that the receiver can recognize a copy. */
  id: string
  message: Message
  /** The moment of this attempt, in milliseconds. */
  now: number
  /** Only these recipients: the others have it. */
  left?: readonly string[] | undefined
}

export interface Recipient {
  address: string
  /** The far side's answer. */
  reason: string
}

/** Recipients of one message, where the far side did not take it for all alike. */
export interface Recipients {
  taken: readonly string[]
  /** Put off: they get it later, alone. */
  later: readonly Recipient[]
  /** Refused for good. */
  refused: readonly Recipient[]
}

/**
 * The outcome of an attempt. Reasons and details are short texts for people, free of secrets. `disable` means that the
 * far side wants nothing more, ever; `refuse` that it will never take this message.
 */
export type AttemptOutcome = { answer?: ReceiverAnswer; recipients?: Recipients } & (
  | { outcome: 'delivered'; detail?: string }
  | { outcome: 'retry'; reason: string; retryAfterMs?: number }
  /** `waits`: what is on its way is not given up, but waits for the receiver to be enabled. */
  | { outcome: 'disable'; reason: string; waits?: true }
  /** `ofAddressee`: the fault is of one account's contact, which says nothing about the receiver. */
  | { outcome: 'refuse'; reason: string; ofAddressee?: true }
)

/** The answer, where there was one: an HTTP status, or the code of an SMTP reply. */
export type ReceiverAnswer = number

/** A destination of messages. It tries once and returns the outcome; when to try again is not its to decide. */
export interface Receiver {
  readonly name: string
  /** Type, as in the config. */
  readonly type: string
  /** A mark of where it sends to: what one address answers says nothing about another one of the same name. */
  readonly address?: string
  /** Attempts that it makes at a time, where that is few: what waits for a connection of its own would wait in vain. */
  readonly atATime?: number
  /**
   * Doesn't throw for anything the far side or the network does. When `signal` aborts, the attempt ends at once as a
   * `retry`: the caller that aborted checks the signal and doesn't count it.
   */
  send(delivery: OutgoingDelivery, signal: AbortSignal): Promise<AttemptOutcome>
  /** Lets attempts under way end, then gives the connections up. */
  close(): Promise<void>
}

/** Short, and nothing of the address can be read from it. */
export function markOf(address: string): string {
  return createHash('sha256').update(address).digest('base64url').slice(0, 16)
}
