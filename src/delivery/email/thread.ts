import { createHash } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { Alert, Message } from '../../alerts/alert.ts'

/** `<id@example.com>`: the same on every attempt, so that a copy is recognised as one. */
export function messageId(deliveryId: string, from: string): string {
  const id = /^[\w.-]{1,100}$/.test(deliveryId) ? deliveryId : digest(deliveryId)
  return `<${id}@${domainOf(from)}>`
}

/**
 * The mail that a thread hangs on. It was never sent: what has it in common is shown together, whichever of the series'
 * mails arrived first or was lost.
 */
export function threadRoot({ data }: Message, from: string): string {
  const [first] = data.alerts
  const alone = data.alerts.length === 1 && data.truncated === 0
  const thread = alone && first !== undefined ? matterOf(first) : ['group', data.groupKey]
  return `<thread-${digest(JSON.stringify(thread))}@${domainOf(from)}>`
}

/** What the alert is about, without its level, rule and label, which change. */
function matterOf({ kind, rule, account, series }: Alert): unknown[] {
  if (series === undefined) return [kind, account?.hubId ?? rule]
  return ['series', account?.hubId, series.metric, series.objectTypeId, series.from, series.to]
}

function domainOf(from: string): string {
  const domain = domainToASCII(/@([^@\s<>]+)>?\s*$/.exec(from)?.[1] ?? '')
  return /^[\w.-]+$/.test(domain) ? domain : 'plimsoll.invalid'
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
