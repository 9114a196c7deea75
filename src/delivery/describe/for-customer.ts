import type { Alert, Message } from '../../alerts/alert.ts'
import { defined } from '../../runtime/defined.ts'
import { cleanText } from '../../text/clean-text.ts'
import { customerMessage, customerSentence } from './customer-message.ts'
import type { MailLinks } from './mail-links.ts'
import { subjectLine } from './subject.ts'

/** Links for a customer: the one that connects their account, and their own site and records. */
export function linksOfCustomer({ reconnect, record, site, appName }: MailLinks): MailLinks {
  return { ...defined({ reconnect, record, site, appName }), isForCustomer: true }
}

/** A message as its reader reads it. */
export function messageFor(message: Message, { isForCustomer, appName }: MailLinks): Message {
  if (!isForCustomer) return message
  const { data } = message
  return { ...message, data: { ...data, alerts: data.alerts.map((alert) => forCustomer(alert, appName)) } }
}

export function subjectFor(message: Message, links: MailLinks): string {
  return links.isForCustomer ? customerMessage(message, links).subject : subjectLine(message)
}

/** An alert as the customer of its account reads it: without our rules and pages, and in their words. */
function forCustomer({ url: _, because: __, ...alert }: Alert, appName = 'the app'): Alert {
  const isLimit = alert.kind === 'limit' || alert.kind === 'limit-changed'
  if (isLimit) return { ...alert, rule: '' }
  return { ...alert, message: customerSentence(alert, 'Your HubSpot account', cleanText(appName, 80)) }
}
