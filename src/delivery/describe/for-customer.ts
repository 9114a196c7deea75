import { type Alert, type Message, UNINSTALL_RULE } from '../../alerts/alert.ts'
import { cleanText } from '../../text/clean-text.ts'
import { accountName } from './describe-alert.ts'
import { type MailLinks, wantsReconnect } from './mail-links.ts'
import { subjectLine } from './subject.ts'

/** Links for a customer: the one that connects their account, and their own records. */
export function linksOfCustomer({ reconnect, record, appName }: MailLinks): MailLinks {
  return {
    ...(reconnect && { reconnect }),
    ...(record && { record }),
    ...(appName && { appName }),
    isForCustomer: true,
  }
}

/** A message as its reader reads it. */
export function messageFor(message: Message, { isForCustomer, appName }: MailLinks): Message {
  if (!isForCustomer) return message
  const { data } = message
  return { ...message, data: { ...data, alerts: data.alerts.map((alert) => forCustomer(alert, appName)) } }
}

/** Subject of a customer's mail: the remedy where the customer has one, else the trouble. */
export function subjectFor(message: Message, { isForCustomer, appName }: MailLinks): string {
  const { alerts } = message.data
  const account = alerts[0] === undefined ? undefined : accountName(alerts[0])
  const asked = isForCustomer && account !== undefined && subjectForCustomer(alerts, account, appName)
  return asked || subjectLine(message)
}

/** An alert as the customer of its account reads it: without our rules and pages, and in their words. */
export function forCustomer({ url: _, because: __, ...alert }: Alert, appName = 'the app'): Alert {
  const message = sentenceFor(alert, cleanText(appName, 80))
  const rule = alert.kind === 'limit' || alert.kind === 'limit-changed' ? '' : alert.rule
  return { ...alert, rule, ...(message !== undefined && { message }) }
}

/** A number says all there is to say about a limit; other alerts have a sentence for operators. */
function sentenceFor(alert: Alert, app: string): string | undefined {
  const { kind, status, reason, rule } = alert
  if (kind !== 'token' && kind !== 'poll') return undefined
  if (reason === 'uninstalled' || rule === UNINSTALL_RULE) return `${upper(app)} was uninstalled from this account.`
  if (status === 'resolved') return `${upper(app)} ${kind === 'poll' ? 'reads' : 'is connected to'} this account again.`
  if (!wantsReconnect(alert)) return `${upper(app)} can't reach this account for now. It tries again by itself.`
  if (kind === 'poll')
    return `${upper(app)} lacks a permission in this account. Connect it again, and agree to what it asks for.`
  return `${upper(app)} is no longer connected to this account, because its access was withdrawn or has expired. Connect it again by the link below.`
}

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** `Connect Example App to acme.example.com (123) again`: what to do, where that is all the mail is about. */
export function subjectForCustomer(alerts: readonly Alert[], account: string, appName = 'the app'): string | undefined {
  const [alert, ...others] = alerts
  if (alert === undefined || others.length > 0 || alert.status !== 'firing' || !wantsReconnect(alert)) return undefined
  return `Connect ${cleanText(appName, 60)} to ${account} again`
}
