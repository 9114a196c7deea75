import type { Message } from '../../alerts/alert.ts'
import type { AlertsCsv } from './alerts-csv.ts'
import { htmlPart } from './html-part.ts'
import { mailContent } from './mail-content.ts'
import { type MailLinks, NO_LINKS } from './mail-links.ts'
import { textPart } from './text-part.ts'

export interface RenderedEmail {
  subject: string
  text: string
  html: string
  csv?: AlertsCsv
}

/** One readable mail for all alerts of a message, as plain text and as HTML. Ages count from `now`. */
export function renderEmail(message: Message, now: number, links: MailLinks = NO_LINKS): RenderedEmail {
  const content = mailContent(message, now, links)
  const { subject, csv } = content
  return { subject, text: textPart(content), html: htmlPart(content), ...(csv !== undefined && { csv }) }
}
