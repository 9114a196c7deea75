import type { Message } from '../../alerts/alert.ts'
import type { GroupBy } from '../../alerts/deps.ts'
import type { MailLinks } from '../email/mail-links.ts'

/** The message as it is. */
export function plimsollBody({ type, timestamp, data }: Message): string {
  return JSON.stringify({ type, timestamp, data })
}

/** What a body may have beside the message. */
export interface BodyContext {
  receiver: string
  /** Where the rest is: the status page. */
  home: string
  /** What the alerts of one message have in common. */
  groupBy: readonly GroupBy[]
  links?: MailLinks
}

/** The body of one format. Made anew for each attempt, and the same each time within the hour: copies can be compared. */
export type BodyOf = (message: Message, context: BodyContext) => string
