import { createHash } from 'node:crypto'
import type { Message } from '../alerts/alert.ts'

/** One attempt to deliver one message. */
export interface OutgoingDelivery {
  /** The same on every attempt, so that the receiver can recognize a copy. */
  id: string
  message: Message
  /** The moment of this attempt, in milliseconds. */
  now: number
}

/**
 * The outcome of an attempt. Reasons and details are short texts for people, free of secrets. `disable` means that the
 * far side wants nothing more, ever.
 */
export type AttemptOutcome = { answer?: ReceiverAnswer } & (
  | { outcome: 'delivered'; detail?: string }
  | { outcome: 'retry'; reason: string; retryAfterMs?: number }
  | { outcome: 'disable'; reason: string }
)

/** The answer, where there was one: an HTTP status, or the code of an SMTP reply. */
export type ReceiverAnswer = number

export type ReceiverType = 'email' | 'webhook'

/** A destination of messages. It tries once and returns the outcome; when to try again is not its to decide. */
export interface Receiver {
  readonly name: string
  readonly type: ReceiverType
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

/** What to do about an attempt that failed; `receiver` is its name in the config. */
export function wayOut(type: ReceiverType, receiver: string, { answer }: AttemptOutcome): string {
  return WAYS_OUT[type](`receivers.${receiver}`, answer)
}

const WAYS_OUT: Record<ReceiverType, (settings: string, answer: number | undefined) => string> = {
  email: mailWayOut,
  webhook: webhookWayOut,
}

function mailWayOut(settings: string, answer: number | undefined): string {
  if (answer === undefined) return `check host and port in ${settings}.smtp, and that this machine may connect to it`
  if (answer === 530 || answer === 534 || answer === 535) return `check user and password in ${settings}.smtp`
  if (answer >= 400 && answer < 500) return 'the mail server wants to be asked again later: try again in some minutes'
  return `check ${settings}.from and ${settings}.to: the mail server does not take such a mail`
}

function webhookWayOut(settings: string, answer: number | undefined): string {
  if (answer === undefined) return `check ${settings}.url, and that this machine may connect to it`
  if (answer >= 300 && answer < 400) return `put the address that it leads to into ${settings}.url`
  if (answer === 401 || answer === 403)
    return `check ${settings}.secrets and ${settings}.url: it does not accept who we are`
  if (answer === 404 || answer === 410) return `check ${settings}.url: no messages are taken there any more`
  if (answer === 429 || answer >= 500) return 'the far side is in trouble: see its log, and try again in some minutes'
  return `check ${settings}.format and ${settings}.url: it does not take such a message`
}
