import type { Message } from '../../alerts/alert.ts'
import { htmlPart } from './html-part.ts'
import { mailContent } from './mail-content.ts'
import { textPart } from './text-part.ts'

export interface RenderedEmail {
  subject: string
  text: string
  html: string
}

/** One readable mail for all alerts of a message, as plain text and as HTML. Ages count from `now`. */
export function renderEmail(message: Message, now: number): RenderedEmail {
  const content = mailContent(message, now)
  return { subject: content.subject, text: textPart(content), html: htmlPart(content) }
}
