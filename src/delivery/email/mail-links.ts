import type { Alert } from '../../alerts/alert.ts'

/** Where a mail may lead besides the page that the alert itself names. What is not given is not in the mail. */
export interface MailLinks {
  /** A signed address that confirms that somebody has taken an alert up. */
  acknowledge?: (alert: Alert) => string | undefined
  /** The provider's own page of a record. */
  record?: RecordPage
  /** Where a rule stands in the config: `thresholds[1]`. */
  rule?: (name: string) => string | undefined
}

export type RecordPage = (hubId: number, objectTypeId: string, objectId: number | string) => string | undefined

export const NO_LINKS: MailLinks = {}

/** Only what a browser opens: an address may be made of strangers' strings. */
export function safeUrl(url: string | undefined): string | undefined {
  const parsed = url === undefined ? null : URL.parse(url)
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? parsed.href : undefined
}
