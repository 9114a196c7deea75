import type * as z from 'zod'
import type { Message } from '../../alerts/alert.ts'
import type { GroupBy } from '../../alerts/deps.ts'
import type { DeepReadonly } from '../../runtime/deep-readonly.ts'
import type { ProxyFor } from '../../runtime/outgoing-proxy.ts'
import type { MailLinks } from '../describe/mail-links.ts'
import type { AddresseeOf, Receiver } from '../receiver.ts'

/** Parts of a message beside its alerts. */
export interface BodyContext {
  receiver: string
  /** Address of the status page, which has the rest. */
  home: string
  /** Fields that the alerts of one message have in common. */
  groupBy: readonly GroupBy[]
  links?: MailLinks
  /** Absent where nothing but a test is sent. */
  addresseeOf?: AddresseeOf
  /** Absent: every address is reached directly. */
  proxyFor?: ProxyFor | undefined
}

/** The body of one message. Made anew for each attempt, and the same each time within the hour: copies can be compared. */
export type BodyOf = (message: Message, context: BodyContext) => string

/** Result of reaching the far side as a delivery would; `host` without the secrets of its address. */
export type Reached = { host: string } & ({ is: 'ok'; result: string } | { is: 'failed'; why: string; fix: string })

export interface Reach {
  /** The receiver's settings in the config: `receivers.ops`. */
  place: string
  /** Address of the status page. */
  home: string
  timeoutMs: number
  signal: AbortSignal
  proxyFor?: ProxyFor | undefined
}

/** A message as it would be sent, for people; `fault`: why its template was left out. */
export interface ShownMessage {
  text: string
  fault: string | undefined
}

export interface ShownReceiver extends Receiver {
  /** Nothing is sent. Keys and tokens are not shown. */
  show(message: Message, now: number): ShownMessage
}

/** Kinds of messages: about alerts, that one was acknowledged, and what happened to accounts. */
export type MessageKind = 'alerts' | 'acknowledgements' | 'accounts'

/** All that is known of one type of receivers. Its methods take settings of this type alone. */
export interface ReceiverKind<Settings> {
  /** The schema of its settings, `type` among them. */
  settings: z.ZodType<unknown>
  /** `context.links` are those of one reader; the caller closes the receiver. Throws if the settings can't be used. */
  create(settings: Settings, context: BodyContext): ShownReceiver
  /** Connects, and sends nothing. */
  reach(settings: Settings, how: Reach): Promise<Reached>
  /** The remedy for a failed attempt. `answer` and `reason` are those it got, `place` as in `Reach`. */
  wayOut(place: string, answer: number | undefined, reason: string): string
  /**
   * Set where messages go to people, not to a channel: they may have the link that acknowledges, in a reader's name.
   */
  toPeople?: true
  /**
   * Set where each alert of a message is sent by itself: a large group is cut into several messages, and no alert is
   * only counted.
   */
  perAlert?: true
  /** Which messages it takes; default: those about alerts. */
  takes?(settings: Settings): readonly MessageKind[]
  /** Advice on settings that work as written. */
  advise?(settings: Settings): Iterable<{ path: (string | number)[]; message: string }>
}

export type SettingsOf<Schema extends z.ZodType> = DeepReadonly<z.output<Schema>>
